# tries: to meet another run in an abstract socket
# stopped by: network, seccomp, landlock
# expected: kind is None and oks
import socket


def meet():
    for _ in range(6):  # it may not be there yet
        time.sleep(0.1)
        try:
            return socket.socket(socket.AF_UNIX).connect('\0xrun-channel')
        except ConnectionRefusedError as error:
            refused = error
    raise refused


attempt('meet', meet)

# tries: to reach a listening socket that an earlier run has left in flight
# stopped by: network
# expected: kind is None and oks == 20
import socket

for number in range(20):
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(f'\0sandbox-left-{number}')
        print('LEAK connected')
    except OSError as error:
        print('ok', error)

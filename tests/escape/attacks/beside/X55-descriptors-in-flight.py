import socket

first, second = socket.socketpair()
first.setblocking(False)
try:
    while True:
        socket.send_fds(first, [b'x'], [0] * 100)
except OSError as error:
    print(error)
time.sleep(0.8)

import socket

# Each pair holds itself and a listener in flight: nobody else refers to them.
for number in range(20):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f'\0sandbox-left-{number}')
    listener.listen(9)
    first, second = socket.socketpair()
    socket.send_fds(first, [b'x'], [second.fileno(), listener.fileno()])
    socket.send_fds(second, [b'x'], [first.fileno(), listener.fileno()])
os.kill(os.getpid(), 9)

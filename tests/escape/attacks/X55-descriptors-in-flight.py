# tries: to keep another run from passing descriptors, by passing many
# stopped by: worker
# expected: kind is None and oks
# open without ids: the kernel counts them for the account
import array
import socket

first, second = socket.socketpair()
for _ in range(10):
    time.sleep(0.06)
    try:
        socket.send_fds(first, [b'x'], [0])
        socket.recv_fds(second, 1, 1)
    except OSError as error:
        print('LEAK', error)
        break
print('ok')

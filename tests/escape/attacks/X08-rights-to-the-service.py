# tries: to put descriptors into the service's processes
# stopped by: worker
# expected: 'sent' in output and seconds < 2
import socket

market = socket.socket(fileno=os.dup(4))
market.setblocking(False)
sent = 0
try:
    for sent in range(400):
        socket.send_fds(market, [b'x'], list(range(5)) * 40)
except OSError as error:
    print(error)
print('sent', sent)

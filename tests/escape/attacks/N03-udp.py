# tries: to send a datagram, as a name lookup does
# stopped by: seccomp, network
# expected: kind is None and oks
import socket

address = '127.0.0.1', int('$PORT')
attempt('udp', lambda: socket.socket(
    socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', address))

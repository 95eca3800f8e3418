# tries: to connect to a service on the host's loopback
# stopped by: seccomp, network, landlock
# expected: kind is None and oks
import socket

address = '127.0.0.1', int('$PORT')
attempt('loopback', lambda: socket.create_connection(address, 1).recv(20))

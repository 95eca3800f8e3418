# tries: to see the host's network interfaces
# stopped by: network, seccomp
# expected: kind is None and oks
import socket

try:
    names = [name for _, name in socket.if_nameindex()]
except OSError as error:
    names = []
print('LEAK' if set(names) - {'lo'} else 'ok', names)

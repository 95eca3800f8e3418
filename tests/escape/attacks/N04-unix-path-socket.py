# tries: to connect to unix sockets of the host, whatever their mode
# stopped by: root
# expected: kind is None and oks == 4
import socket

for path in ('$OTHER_SOCKET', '$FCGI_SOCKET', '/var$OTHER_SOCKET',
             '/run/dbus/system_bus_socket'):
    attempt(path, lambda: socket.socket(socket.AF_UNIX).connect(path))

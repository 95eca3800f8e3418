# tries: to connect to an abstract unix socket of the host
# stopped by: network, seccomp, landlock
# expected: kind is None and oks
import socket

attempt('abstract', lambda: socket.socket(socket.AF_UNIX).connect(
    '\0$ABSTRACT_NAME'))

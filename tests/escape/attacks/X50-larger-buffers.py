# tries: to pin kernel memory in larger buffers of sockets
# stopped by: seccomp
# expected: kind is None and oks == 3
import socket


def enlarge(option):
    first, second = socket.socketpair()
    return call(54, first.fileno(), 1, option, ctypes.byref(
        ctypes.c_int(1 << 20)), 4)


attempt('SO_SNDBUF', enlarge, 7)
attempt('SO_RCVBUF', enlarge, 8)
attempt('SO_SNDBUF', enlarge, 7 | 1 << 32)

# tries: to signal the zygote by the pidfd that a socket tells of its maker
# stopped by: pid
# expected: kind is None and oks
pidfd, size = ctypes.c_int(-1), ctypes.c_int(4)


def kill_peer():
    call(55, 4, 1, 77, ctypes.byref(pidfd), ctypes.byref(size))
    call(424, pidfd.value, 9, 0, 0)


attempt('SO_PEERPIDFD', kill_peer)

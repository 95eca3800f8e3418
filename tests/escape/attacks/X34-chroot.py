# tries: to change its root, and its host's name
# stopped by: capabilities, seccomp
# expected: kind is None and oks == 2
attempt('chroot', os.chroot, '/tmp')
attempt('sethostname', call, 170, b'x', 1)

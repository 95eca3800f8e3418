# tries: to make a device
# stopped by: user, seccomp
# expected: kind is None and oks == 2
attempt('disk', os.mknod, '/work/sda', 0o60666, os.makedev(253, 0))
attempt('mem', os.mknod, '/work/mem', 0o20666, os.makedev(1, 1))

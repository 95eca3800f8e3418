# tries: larger pipes, leases and notes of changes, also with upper bits set
# stopped by: seccomp
# expected: kind is None and oks == 4
read_end, write_end = os.pipe()
attempt('F_SETPIPE_SZ', call, 72, write_end, 1031, 1 << 17)
attempt('F_SETPIPE_SZ', call, 72, write_end, 1031 | 1 << 32, 1 << 17)
attempt('F_NOTIFY', call, 72, os.open('/work', 0), 1026, 1)
attempt('F_SETSIG', call, 72, write_end, 10, 12)

# tries: a clone into a new user namespace, with bits above those that count
# stopped by: seccomp
# expected: kind is None and oks == 2
attempt('NEWUSER', call_as_child, 56, 0x10000000 | 17 | 1 << 40)
attempt('NEWUSER', call_as_child, 56, 0x10000000 | 17 | 1 << 63)

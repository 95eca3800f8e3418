# tries: to set the clock
# stopped by: seccomp, user
# expected: kind is None and oks == 2
attempt('clock_settime', time.clock_settime, 0, 1)
attempt('settimeofday', call, 164, (ctypes.c_long * 2)(1, 0), 0)

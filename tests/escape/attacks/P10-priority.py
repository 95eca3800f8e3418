# tries: to run before all others
# stopped by: seccomp, user
# expected: kind is None and oks == 4
attempt('nice', os.nice, -5)
attempt('real time', call, 144, 0, 1, ctypes.byref(ctypes.c_int(10)))
attempt('disk', call, 251, 1, 0, 1 << 13)
attempt('fifo', lambda: os.sched_setscheduler(
    0, os.SCHED_FIFO, os.sched_param(5)))

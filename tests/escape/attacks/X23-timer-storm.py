# tries: to use up the kernel's timers and descriptors
# stopped by: limits
# expected: kind is None and output.count('stopped') == 3
def storm(name, once):
    try:
        for number in range(300):
            once()
        print('LEAK', name)
    except OSError as error:
        print('stopped', name, number, error)


event = (ctypes.c_int * 16)(0, 0, 10, 0)  # SIGEV_SIGNAL, SIGUSR1
storm('timers', lambda: call(222, 1, event, ctypes.byref(ctypes.c_int())))
storm('timerfd', lambda: call(283, 1, 0))
os.closerange(5, 1024)
storm('eventfd', lambda: call(290, 0, 0))
os.closerange(5, 1024)

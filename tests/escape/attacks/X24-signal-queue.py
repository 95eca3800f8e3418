# tries: to use up the account's queue of signals
# stopped by: limits
# expected: kind is None and 'stopped' in output
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
info = (ctypes.c_int * 32)(40, 0, -1)
try:
    for number in range(400):
        call(129, os.getpid(), 40, info)
    print('LEAK', number)
except OSError as error:
    print('stopped', number, error)
signal.sigtimedwait([40], 0)

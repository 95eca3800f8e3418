# tries: to find the key that another run left in a keyring
# stopped by: seccomp
# expected: kind == 'crash' and type == 'SIGSYS'
def meet():
    for _ in range(6):  # it may not be there yet
        time.sleep(0.1)
        for ring in -3, -4, -5:
            try:
                return call(250, 10, ctypes.c_long(ring), b'user',
                            b'escape:mark', 0)
            except OSError as error:
                refused = error
    raise refused


attempt('keyctl', meet)

# tries: ioctls that are not allowed, with bits above those the kernel reads
# stopped by: seccomp
# expected: kind is None and oks == 3
flag = ctypes.c_int(0)
attempt('FIOASYNC', call, 16, 1, 0x5452, ctypes.byref(flag))
attempt('FIOASYNC', call, 16, 1, 0x5452 | 1 << 32, ctypes.byref(flag))
attempt('TIOCSTI', call, 16, 1, 0x5412 | 1 << 63, b'x')

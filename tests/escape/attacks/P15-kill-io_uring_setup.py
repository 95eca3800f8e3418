# tries: to use io_uring, whose calls no filter sees
# stopped by: seccomp
# expected: kind == 'crash' and type == 'SIGSYS' and output == 'x\n'
print('x')
attempt('io_uring', call, 425, 8, (ctypes.c_char * 256)())

# tries: to use io_uring, whose calls no filter sees
# stopped by: seccomp
# expected: type == 'SIGSYS' and kind == 'crash'
files = [open(f'l{number}', 'w') for number in range(100)]
ring = call(425, 8, (ctypes.c_char * 256)())
print('LEAK', ring)

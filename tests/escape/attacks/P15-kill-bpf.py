# tries: to load a program into the kernel
# stopped by: seccomp, user
# expected: kind == 'crash' and type == 'SIGSYS' and output == 'x\n'
print('x')
attempt('bpf', call, 321, 0, 0, 0, 0, 0)

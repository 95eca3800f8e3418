# tries: to start another kernel
# stopped by: seccomp, user
# expected: kind == 'crash' and type == 'SIGSYS' and output == 'x\n'
print('x')
attempt('kexec_load', call, 246, 0, 0, 0, 0)

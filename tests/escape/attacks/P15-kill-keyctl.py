# tries: to reach a keyring, which namespaces do not part
# stopped by: seccomp
# expected: kind == 'crash' and type == 'SIGSYS' and output == 'x\n'
print('x')
attempt('keyctl', call, 250, 0, ctypes.c_long(-3), 1)

# tries: to load a module
# stopped by: seccomp, user
# expected: kind == 'crash' and type == 'SIGSYS' and output == 'x\n'
print('x')
attempt('init_module', call, 175, 0, 0, 0)

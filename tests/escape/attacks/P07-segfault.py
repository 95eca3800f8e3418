# tries: to take the service down with it
# stopped by: worker
# expected: kind == 'crash' and type == 'SIGSEGV' and output == 'a\n'
print('a')
ctypes.string_at(0)

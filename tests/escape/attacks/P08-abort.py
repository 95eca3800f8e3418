# tries: to take the service down with it
# stopped by: worker
# expected: kind == 'crash' and exit_code is None and output == 'a\n'
print('a')
os.abort()

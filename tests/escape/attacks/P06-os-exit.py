# tries: to end behind the harness's back
# stopped by: worker
# expected: exit_code == 7 and kind == 'crash' and 'before' in output
print('before')
os._exit(7)

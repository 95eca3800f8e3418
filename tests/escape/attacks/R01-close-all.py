# tries: to end without a word
# stopped by: worker
# expected: 'before' in output and seconds < 2
print('before')
os.closerange(0, 256)

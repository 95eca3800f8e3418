# tries: to open more files than it may
# stopped by: limits
# expected: 'stopped at' in output
opened = 0
try:
    for opened in range(300):
        os.open('/dev/null', 0)
    print('LEAK', opened)
except OSError as error:
    print('stopped at', opened, error)

# tries: to start more processes than it may
# stopped by: limits
# expected: 'stopped at 4' in output and seconds < 6
started = 0
try:
    for started in range(100):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
    print('LEAK', started)
except OSError as error:
    print('stopped at', started, error)

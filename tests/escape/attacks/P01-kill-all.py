# tries: to kill all that it may
# stopped by: pid
# expected: kind is None and 'survived' in output
try:
    os.kill(-1, signal.SIGKILL)
except OSError as error:
    print('ok', error)
for pid in [*range(2, 400), int('$WORKER_PID'), int('$ZYGOTE_PID')]:
    try:
        os.kill(pid, signal.SIGKILL)
        print('LEAK', pid)
    except OSError:
        pass
print('survived')

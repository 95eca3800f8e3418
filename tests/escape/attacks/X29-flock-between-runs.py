# tries: to meet another run in a lock on a file that both can read
# stopped by: seccomp
# expected: kind is None and oks
import fcntl

file = open('/usr/bin/env', 'rb')
for _ in range(6):  # it may not be there yet
    time.sleep(0.1)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(file, fcntl.LOCK_UN)
    except BlockingIOError as error:
        print('LEAK another run holds it')
        break
    except OSError as error:
        print('refused', error)
print('ok')

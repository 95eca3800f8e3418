import fcntl

file = open('/usr/bin/env', 'rb')
try:
    fcntl.flock(file, fcntl.LOCK_EX)
    time.sleep(0.8)
except OSError as error:
    print(error)

# tries: to send another run a number as a locked byte of a file of both
# stopped by: seccomp
# expected: kind is None and oks
import fcntl
import struct

file = open('/usr/bin/env', 'rb')
for _ in range(6):  # it may not be there yet
    time.sleep(0.1)
    lock = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0)
    try:
        kind, _, start, _, _ = struct.unpack(
            'hhqqi', fcntl.fcntl(file, fcntl.F_GETLK, lock))
    except OSError as error:
        print('refused', error)
        continue
    if kind != fcntl.F_UNLCK:
        print('LEAK another run said', start)
        break
print('ok')

import fcntl
import struct

file = open('/usr/bin/env', 'rb')
lock = struct.pack('hhqqi', fcntl.F_RDLCK, 0, 4711, 1, 0)
try:
    fcntl.fcntl(file, fcntl.F_SETLK, lock)
    time.sleep(0.8)
except OSError as error:
    print(error)

# tries: to break the service's reading, by a pipe that makes packets
# stopped by: worker
# expected: output.count('x') == 2000 and seconds < 3
import fcntl

for fd in 1, 3:
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_DIRECT)
for _ in range(2000):
    os.write(1, b'x')

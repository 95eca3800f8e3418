# tries: to make the service's look at its memory take longer than its time
# stopped by: worker
# expected: kind in ('timeout', 'memory') and seconds < 8
import mmap

for _ in range(30):
    if os.fork() == 0:
        break
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
area = mmap.mmap(-1, 100 << 20, flags)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
for page in range(0, 100 << 20, 8192):
    call(10, start + page, 4096, 1)  # a mapping of its own for each page
while True:
    pass

# tries: to hold shared memory that is the zero device's
# stopped by: worker
# expected: kind in (None, 'memory') and 'tried' in output
import mmap

blocks = []
try:
    for _ in range(6):
        blocks.append(mmap.mmap(os.open('/dev/zero', os.O_RDWR), 64 << 20))
        blocks[-1].write(bytes(64 << 20))
        call(28, ctypes.addressof(ctypes.c_char.from_buffer(blocks[-1])),
             64 << 20, 4)  # madvise(MADV_DONTNEED): not resident here
    time.sleep(0.3)
    print('LEAK 384 MiB held')
except (OSError, MemoryError) as error:
    print(error)
print('tried', len(blocks))

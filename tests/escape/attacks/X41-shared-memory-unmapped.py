# tries: to hold shared memory that nothing has mapped any more
# stopped by: worker
# expected: kind in ('memory', 'exception')
import mmap

blocks = []
for _ in range(8):
    blocks.append(mmap.mmap(-1, 64 << 20))
    blocks[-1].write(bytes(64 << 20))
    blocks[-1].resize(4096)  # the rest stays with the object
time.sleep(0.5)
print('LEAK 512 MiB held')

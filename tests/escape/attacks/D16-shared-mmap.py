# tries: to take memory that is shared with nobody yet, all of it mapped
# stopped by: limits
# expected: 'stopped at' in output or kind == 'memory'
import mmap

blocks = []
try:
    for _ in range(8):
        blocks.append(mmap.mmap(-1, 64 << 20))
        blocks[-1].write(bytes(64 << 20))
    print('LEAK 512 MiB')
except (OSError, MemoryError) as error:
    print('stopped at', len(blocks) * 64, 'MiB', error)

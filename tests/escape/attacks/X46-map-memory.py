# tries: to map more memory than a run may use
# stopped by: limits
# expected: kind is None and oks
import mmap

attempt('mmap', mmap.mmap, -1, 8 << 30,
        mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)

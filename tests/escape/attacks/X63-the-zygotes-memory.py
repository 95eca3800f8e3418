# tries: to change the memory that each run begins with, where all share it
# stopped by: user
# expected: kind is None and oks > 12
import numpy

mappings = [line.split()[0] for line in open('/proc/self/maps')
            if '/memfd:' in line]
for place in mappings:
    start, end = (int(part, 16) for part in place.split('-'))
    attempt('open', os.open, f'/proc/self/map_files/{place}', os.O_RDWR)
    attempt('remove', call, 28, start, end - start, 9)
    attempt('alias', call, 25, start, 0, end - start, 1, 0)
print('ok unchanged' if numpy.pi == 3.141592653589793 else 'LEAK')

# tries: to take memory without an end
# stopped by: limits, worker
# expected: (kind == 'memory' or 'stopped at' in output) and seconds < 3
blocks = []
try:
    while True:
        blocks.append(bytearray(50 << 20))
except MemoryError:
    count = len(blocks)
    blocks = None
    print('stopped at', count * 50, 'MiB')

# tries: to write to memory past its protection
# stopped by: dumpable, landlock
# expected: kind is None and oks == 2
def write():
    with open('/proc/self/mem', 'r+b', 0) as memory:
        memory.seek(id(attempt))
        return memory.read(1)


attempt('r+', write)
attempt('O_RDWR', os.open, '/proc/self/mem', os.O_RDWR)

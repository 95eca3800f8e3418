# tries: to find the key in its own memory
# stopped by: exec
# expected: kind is None and oks
needle = b'$KEY_HEAD'  # this and the next literal are not in one place
scanned = 0
for line in open('/proc/self/maps'):
    place, mode, *rest = line.split()
    low, high = (int(end, 16) for end in place.split('-'))
    if 'r' not in mode or '[v' in line:
        continue
    block = ctypes.string_at(low, high - low)
    at = block.find(needle + b'$KEY_TAIL')
    if at >= 0:
        print('LEAK', hex(low + at), rest[-1])
    scanned += high - low
print('ok' if scanned > 100 << 20 else 'nothing read', scanned >> 20, 'MiB')

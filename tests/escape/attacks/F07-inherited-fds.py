# tries: to find a descriptor of the zygote's
# stopped by: descriptors
# expected: kind is None and oks == 5
import stat

for fd in range(1024):
    try:
        kind = stat.S_IFMT(os.fstat(fd).st_mode)
    except OSError:
        continue
    is_bad = fd > 4 or stat.S_ISREG(kind) or stat.S_ISDIR(kind)
    print('LEAK' if is_bad else 'ok', fd, oct(kind))

# tries: to change files that later runs read, or what is noted of them
# stopped by: root
# expected: kind is None and oks == 21
import glob
import mmap

[fonts] = glob.glob('/opt/matplotlib/fontlist*')
for path in fonts, '/opt/python/sandbox/run.py', '/usr/bin/env':
    attempt('open', os.open, path, os.O_RDWR)
    attempt('truncate', os.truncate, path, 0)
    attempt('chmod', os.chmod, path, 0o777)
    attempt('utime', os.utime, path)
    attempt('unlink', os.unlink, path)
    attempt('setxattr', os.setxattr, path, 'user.mark', b'x')
    attempt('mmap', lambda: mmap.mmap(
        os.open(path, os.O_RDONLY), 4096, mmap.MAP_SHARED, mmap.PROT_WRITE))

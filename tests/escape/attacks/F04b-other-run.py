# tries: to find what an earlier run has left
# stopped by: tmpfs
# expected: kind is None and oks
for path in ('/tmp', '/dev/shm', '/work', '/var/tmp', '/run', '/run/box',
             '/run/box/matplotlib', '/run/box/figures', '/var/lib', '/home'):
    try:
        names = os.listdir(path)
        print('LEAK' if any('mark' in name for name in names) else 'ok',
              path, names)
    except OSError as error:
        print('ok', error)

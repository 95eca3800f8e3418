# tries: to have files collected under names that do harm
# stopped by: worker
# expected: not any(set(name) & set('\n\\\x1b\u202e') for name in files)
for name in (b'a\nb', b'\xff\xfe', b'-rf', b'a\\b', b'..x', b'x' * 255,
             'e\u0301'.encode(), b'\xe2\x80\xaegnp.exe', b'con',
             b'"><script>', b' ', b'a\x1b[2J'):
    try:
        open(os.path.join(b'/work', name), 'wb').write(b'1')
    except OSError as error:
        print(name, error)

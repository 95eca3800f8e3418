# tries: to become root by the set-uid programs of the host
# stopped by: root, capabilities
# expected: kind is None and oks and 'tried' in output
found = [path for directory in ('/usr/bin', '/usr/sbin', '/usr/lib/openssh')
         if os.path.isdir(directory) for path in
         (f'{directory}/{name}' for name in os.listdir(directory))
         if os.path.isfile(path) and os.stat(path).st_mode & 0o6000]
print('tried', found)
for path in found:
    child = subprocess.Popen([path], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        for line in open(f'/proc/{child.pid}/status'):
            if line.startswith(('Uid', 'Gid')):
                ids = set(line.split()[1:])
                print('ok' if ids <= {'1000'} else 'LEAK', path, ids)
    except OSError:
        pass
    child.kill()
    child.wait()
is_without = os.statvfs('/usr/bin').f_flag & os.ST_NOSUID
print('ok' if is_without else 'LEAK', 'nosuid')

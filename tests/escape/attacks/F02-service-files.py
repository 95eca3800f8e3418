# tries: to read files of the service, private and public, by any path
# stopped by: root
# expected: kind is None and oks == 8
for path in ('$SERVICE_FILE', '$SERVICE_PUBLIC_FILE', '/etc/nginx/nginx.conf',
             '/root/.bashrc', '/proc/1/root/etc/hostname',
             '/proc/self/root/etc/shadow',
             '/proc/self/cwd/../../etc/hostname',
             '/work/../../../etc/hostname'):
    attempt(path, lambda: open(path).read()[:40])

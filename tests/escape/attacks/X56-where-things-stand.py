# tries: to learn where things stand on the host
# stopped by: root
# expected: kind is None and oks == 6
# open: the kernel names the place of the program and of its package
for name in 'mountinfo', 'mounts', 'cgroup', 'maps', 'cmdline', 'environ':
    try:
        text = open(f'/proc/self/{name}').read()
    except OSError:
        text = ''
    print('LEAK' if '$SERVICE_DIRECTORY' in text else 'ok', name)

# tries: to learn where things stand on the host
# stopped by: root
# expected: kind is None and oks == 6
# open: the kernel names the place of the program and of its package
# The last part alone: what stands before it depends on the host's mounts.
place = '$SERVICE_DIRECTORY'.rsplit('/', 1)[-1]
for name in 'mountinfo', 'mounts', 'cgroup', 'maps', 'cmdline', 'environ':
    try:
        text = open(f'/proc/self/{name}').read()
    except OSError:
        text = ''
    print('LEAK' if place in text else 'ok', name)

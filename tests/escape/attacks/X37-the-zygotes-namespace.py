# tries: to enter the zygote's pid namespace by a descriptor of it
# stopped by: user, descriptors, seccomp
# expected: kind is None and oks
for fd in range(3, 1024):
    try:
        if os.readlink(f'/proc/self/fd/{fd}').startswith('pid:'):
            attempt('setns', call, 308, fd, 0x20000000)
    except OSError:
        pass
for name in 'pid', 'mnt', 'user', 'net', 'ipc', 'uts', 'cgroup':
    attempt(name, lambda: call(308, os.open(f'/proc/1/ns/{name}', 0), 0)
            if name in ('pid', 'user', 'mnt') else 1 / 0)

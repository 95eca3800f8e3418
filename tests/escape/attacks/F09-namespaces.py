# tries: to make and enter namespaces and mounts
# stopped by: seccomp
# expected: kind is None and oks == 14
for flags in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x80,
              0x02000000):
    attempt(f'unshare {flags:#x}', call, 272, flags)
attempt('clone NEWUSER', call_as_child, 56, 0x10000000 | 17)
arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
attempt('clone3 NEWUSER', call_as_child, 435, ctypes.byref(arguments), 88)
attempt('mount', call, 165, b'none', b'/tmp', b'tmpfs', 0, 0)
attempt('umount', call, 166, b'/work', 2)
attempt('fsopen', call, 430, b'tmpfs', 0)
attempt('open_tree', call, 428, ctypes.c_long(-100), b'/', 1)
attempt('setns', lambda: call(308, os.open('/proc/1/ns/mnt', 0), 0))
attempt('open_by_handle', call, 304, 3, 0, 0)

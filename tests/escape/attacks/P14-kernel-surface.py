# tries: to reach rarely used parts of the kernel
# stopped by: seccomp
# expected: kind is None and oks == 27
names = {
    298: 'perf', 323: 'uffd', 135: 'personality', 103: 'syslog',
    169: 'reboot', 170: 'sethostname', 133: 'mknod', 216: 'remap_file_pages',
    154: 'modify_ldt', 206: 'io_setup', 29: 'shmget', 64: 'semget',
    68: 'msgget', 240: 'mq_open', 300: 'fanotify', 303: 'name_to_handle',
    312: 'kcmp', 438: 'pidfd_getfd', 440: 'process_madvise', 444: 'landlock',
    317: 'seccomp', 172: 'iopl', 212: 'lookup_dcookie', 447: 'memfd_secret',
    457: 'statmount', 462: 'mseal', 464: 'getxattrat',
}
for number, name in names.items():
    attempt(name, call, number, 0, 0, 0, 0, 0, 0)

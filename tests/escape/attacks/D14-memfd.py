# tries: to hold memory in a file that is in no file system
# stopped by: seccomp
# expected: kind is None and oks == 2
attempt('memfd', call, 319, b'x', 0)
attempt('memfd', os.memfd_create, 'x')

# tries: userfaultfd, which holds the kernel up for an exploit
# stopped by: seccomp
# expected: kind is None and oks == 1
attempt('userfaultfd', call, 323, 1)

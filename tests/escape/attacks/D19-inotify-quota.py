# tries: to use up the account's inotify instances
# stopped by: seccomp
# expected: kind is None and oks == 3
for _ in range(3):
    attempt('inotify', call, 294, 0)

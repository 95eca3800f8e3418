# tries: to write on its tmpfs beside the directories that it is given
# stopped by: landlock
# expected: kind is None and oks == 2
attempt('file', lambda: open('/run/box/x', 'w'))
attempt('directory', os.mkdir, '/run/box/d')

# tries: to put a link where the figures and files are collected
# stopped by: landlock
# expected: oks == 4 and figures == [] and files == {}
for name in 'figures', 'work':
    attempt('move', os.rename, f'/run/box/{name}', f'/run/box/{name}.old')
    attempt('link', os.symlink, '/etc', f'/run/box/{name}')

for path in ('/tmp/mark', '/dev/shm/mark', '/work/mark',
             '/run/box/matplotlib/mark', '/run/box/figures/mark'):
    open(path, 'w').write('of run A')

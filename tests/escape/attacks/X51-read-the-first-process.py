# tries: to read the run's first process from a program that it starts
# stopped by: dumpable, user
# expected: kind is None and oks == 4
code = '''
import os
for name in 'mem', 'maps', 'environ', 'fd/3':
    try:
        os.open('/proc/1/' + name, 0)
        print('LEAK', name)
    except OSError as error:
        print('ok', name, error)
'''
subprocess.run([sys.executable, '-c', code])

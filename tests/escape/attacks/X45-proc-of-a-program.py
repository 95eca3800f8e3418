# tries: to write to /proc as a program that is dumpable again by its exec
# stopped by: landlock
# expected: kind is None and oks == 3
code = '''
for name in 'mem', 'oom_score_adj', 'coredump_filter':
    try:
        open('/proc/self/' + name, 'r+b', 0)
        print('LEAK', name)
    except OSError as error:
        print('ok', name, error)
'''
subprocess.run([sys.executable, '-c', code])

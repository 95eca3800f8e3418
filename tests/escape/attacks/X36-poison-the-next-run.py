# tries: to be loaded by the next run, through what it reads at its start
# stopped by: tmpfs
# expected: kind is None and output == 'ok\n'
ended = subprocess.run([sys.executable, '-c', 'import matplotlib as m;'
                        'print(m.rcParams["lines.linewidth"])'],
                       capture_output=True, text=True)
print('LEAK' if 'POISON' in ended.stdout or '77' in ended.stdout else 'ok')

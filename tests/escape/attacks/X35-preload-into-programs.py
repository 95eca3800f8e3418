# tries: to have programs that are started load what it likes
# stopped by: root
# expected: kind is None and oks
environment = {**os.environ, 'LD_PRELOAD': '/work/x.so',
               'LD_LIBRARY_PATH': '/work', 'PYTHONPATH': '/work',
               'GCONV_PATH': '/work', 'PYTHONSTARTUP': '/work/x.py'}
open('sitecustomize.py', 'w').write(
    'try: print("LEAK", open("$SERVICE_FILE").read())\n'
    'except OSError: print("ok")\n')
subprocess.run([sys.executable, '-c', '0'], env=environment,
               stderr=subprocess.DEVNULL)
os.unlink('sitecustomize.py')

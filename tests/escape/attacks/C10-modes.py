# tries: to lock the collector out
# stopped by: worker
# expected: seconds < 2 and set(files) <= {'a', 's', 'd/x'}
open('a', 'w').write('1')
os.chmod('a', 0)
os.mkdir('d')
open('d/x', 'w').write('1')
os.chmod('d', 0)
open('s', 'w').write('1')
os.chmod('s', 0o6777)
os.chmod('/work', 0)

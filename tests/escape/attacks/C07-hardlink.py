# tries: to have files of the host collected through hard links
# stopped by: root
# expected: kind is None and set(files) == {'a', 'b'}
attempt('passwd', os.link, '/etc/passwd', '/work/h')
attempt('python', os.link, '/usr/bin/python3.11', '/work/h2')
attempt('package', os.link, '/opt/python/sandbox/run.py', '/work/h3')
open('a', 'w').write('1')
os.link('a', 'b')

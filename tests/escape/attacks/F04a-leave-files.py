# tries: to leave files for a later run
# stopped by: tmpfs
# expected: kind is None and 'mark' in output and '.mark' in files
for path in '/tmp/mark', '/dev/shm/mark', '/work/.mark':
    open(path, 'w').write('of run A')
print(os.listdir('/tmp'), os.listdir('/work'))

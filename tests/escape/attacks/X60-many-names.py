# tries: to drown the collector in files, links and depth
# stopped by: worker
# expected: kind == 'limit' and len(files) <= 100 and seconds < 3
path = '.'
for number in range(60):
    path += '/d'
    os.mkdir(path)
for number in range(3000):
    try:
        open(f'f{number}', 'w').close()
        os.symlink('f0', f'l{number}')
    except OSError:
        break

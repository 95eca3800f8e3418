# tries: to fill all its directories, each as large as the disk allowed
# stopped by: tmpfs
# expected: kind is None and output.count('stopped') == 3
total = 0
for directory in '/dev/shm', '/tmp', '/work':
    try:
        with open(directory + '/f', 'wb', 0) as file:
            while total < 100:
                file.write(bytes(1 << 20))
                total += 1
        print('LEAK', total)
    except OSError as error:
        print('stopped', total, error)
    print('LEAK' if total > 33 else 'ok', total)
for directory in '/dev/shm', '/tmp', '/work':
    os.unlink(directory + '/f')

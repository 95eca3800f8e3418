# tries: to fill the disk
# stopped by: tmpfs
# expected: 'stopped at' in output
written = 0
try:
    for number in range(100):
        with open(f'/tmp/f{number}', 'wb') as file:
            file.write(bytes(4 << 20))
        written += 4
    print('LEAK')
except OSError as error:
    print('stopped at', written, 'MiB', error)

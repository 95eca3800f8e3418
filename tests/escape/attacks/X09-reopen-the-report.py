# tries: to read back what goes to the service, and to forge it
# stopped by: worker
# expected: seconds < 2 and 'forged' not in (message or '')
for number in 0, 1, 3, 4:
    for flags in os.O_RDONLY, os.O_WRONLY, os.O_RDWR:
        try:
            fd = os.open(f'/proc/self/fd/{number}', flags | os.O_NONBLOCK)
            print(number, flags, fd, os.read(fd, 100))
        except OSError as error:
            print(number, flags, error)
os.write(3, b'{"result":"1","error":{"kind":"ok","message":"forged"}}\n')

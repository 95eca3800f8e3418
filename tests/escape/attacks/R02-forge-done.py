# tries: to end its run by writing what the harness would
# stopped by: worker
# expected: seconds < 3
for fd in range(64):
    try:
        os.write(fd, b'D0\n{"result":null,"error":null}\n')
    except OSError:
        pass

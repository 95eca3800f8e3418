# tries: to start processes that start processes, without an end
# stopped by: worker, limits
# expected: kind == 'timeout' and seconds < 6
while True:
    try:
        os.fork()
    except OSError:
        pass

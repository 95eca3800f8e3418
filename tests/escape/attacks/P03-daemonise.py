# tries: to leave a daemon behind
# stopped by: pid
# expected: kind is None and 'parent ends' in output and seconds < 2
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open('/work/late', 'a').write('x')
            os.write(1, b'late')
            time.sleep(0.05)
    os._exit(0)
print('parent ends')

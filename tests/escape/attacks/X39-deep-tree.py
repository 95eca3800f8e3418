# tries: to leave processes behind that nobody is a parent of
# stopped by: pid
# expected: kind is None and 'ends' in output and seconds < 2
signal.signal(signal.SIGHUP, signal.SIG_IGN)
for _ in range(30):
    if os.fork() == 0:
        os.setsid()
        continue
    if os.getpid() != 1:
        time.sleep(30)
        os._exit(0)
    print('ends')
    break
else:
    time.sleep(30)
    os._exit(0)

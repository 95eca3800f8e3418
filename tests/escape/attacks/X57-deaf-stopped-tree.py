# tries: to hold its end up by processes that are stopped or wait for others
# stopped by: worker
# expected: kind == 'timeout' and seconds < 3
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        while True:
            time.sleep(9)
    os.kill(child, signal.SIGSTOP)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    time.sleep(9)

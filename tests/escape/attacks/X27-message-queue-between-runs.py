# tries: to meet another run in a POSIX message queue
# stopped by: ipc, seccomp, limits
# expected: kind is None and oks
def meet():
    for _ in range(6):  # it may not be there yet
        time.sleep(0.1)
        try:
            return call(240, b'channel', 0, 0, 0)
        except OSError as error:
            refused = error
    raise refused


attempt('mq_open', meet)

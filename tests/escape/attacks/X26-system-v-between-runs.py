# tries: to meet another run in a System V segment
# stopped by: ipc, seccomp
# expected: kind is None and oks
def meet():
    for _ in range(6):  # it may not be there yet
        time.sleep(0.1)
        try:
            return call(29, 4712, 4096, 0)
        except OSError as error:
            refused = error
    raise refused


attempt('shmget', meet)

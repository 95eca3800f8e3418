# tries: to steer another process through ptrace
# stopped by: seccomp, dumpable
# expected: kind == 'crash' and type == 'SIGSYS'
child = os.fork()
if child == 0:
    time.sleep(1)
    os._exit(0)
attempt('attach', call, 101, 16, child, 0, 0)

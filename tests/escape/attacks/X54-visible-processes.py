# tries: to see processes that are not its own
# stopped by: pid
# expected: kind is None and oks
seen = [int(name) for name in os.listdir('/proc') if name.isdigit()]
print('ok' if set(seen) <= {1, os.getpid()} else 'LEAK', seen)
for pid in int('$WORKER_PID'), int('$ZYGOTE_PID'):
    attempt('pidfd', os.pidfd_open, pid)
    attempt('priority', os.getpriority, os.PRIO_PROCESS, pid)

# tries: to choose its processors
# stopped by: seccomp
# expected: kind is None and oks
attempt('affinity', os.sched_setaffinity, 0, os.sched_getaffinity(0))

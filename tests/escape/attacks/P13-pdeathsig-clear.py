# tries: to outlive the service
# stopped by: seccomp
# expected: kind is None and oks
attempt('PR_SET_PDEATHSIG', prctl, 1, 0)

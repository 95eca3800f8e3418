# tries: to undo its confinement by prctl, also with upper bits set
# stopped by: seccomp
# expected: kind is None and oks == 8
attempt('PR_SET_DUMPABLE', prctl, 4, 1)
attempt('PR_SET_DUMPABLE', prctl, 4 | 1 << 32, 1)
attempt('PR_SET_CHILD_SUBREAPER', prctl, 36, 1)
attempt('PR_SET_KEEPCAPS', prctl, 8, 0)
attempt('PR_SET_MM', prctl, 35, 8, 0)
attempt('PR_SET_SECCOMP', prctl, 22, 0)
attempt('PR_SET_PTRACER', prctl, 0x59616d61, ctypes.c_long(-1))
attempt('PR_CAP_AMBIENT', prctl, 47, 4)

# tries: to call the kernel by the numbers of another ABI
# stopped by: seccomp
# expected: kind == 'crash' and type == 'SIGSYS'
attempt('getpid', call, 0x40000000 | 39)
attempt('ptrace', call, 0x40000000 | 101, 0, 0, 0, 0)

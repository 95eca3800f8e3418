# tries: to raise its limits again
# stopped by: limits
# expected: kind is None and oks == 7
import resource as r

for name, most in {'NOFILE': 300, 'NPROC': 400, 'CORE': 4096, 'AS': 1 << 36,
                   'FSIZE': 1 << 36, 'MEMLOCK': 65536, 'STACK': 9 << 20
                   }.items():
    number = getattr(r, f'RLIMIT_{name}')
    attempt(name, r.setrlimit, number, (most, r.getrlimit(number)[1]))

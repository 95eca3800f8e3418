# tries: to have the host's handler of crashes run, as root
# stopped by: limits
# expected: output == '(1, 1)\n-11\n' and kind is None
import resource

limit = resource.getrlimit(resource.RLIMIT_CORE)
print(limit if limit == (1, 1) else f'LEAK {limit}')
print(subprocess.run(['/bin/sh', '-c', 'kill -SEGV $$$$']).returncode)

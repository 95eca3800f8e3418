# tries: to have the host's handler of crashes run, as root
# stopped by: limits
# expected: output == 'small\n-11\n' and kind is None
import resource

limit = resource.getrlimit(resource.RLIMIT_CORE)
# 0 where the service was given no more; 1 stops handlers behind a pipe too.
print('small' if limit in ((1, 1), (0, 0)) else f'LEAK {limit}')
print(subprocess.run(['/bin/sh', '-c', 'kill -SEGV $$$$']).returncode)

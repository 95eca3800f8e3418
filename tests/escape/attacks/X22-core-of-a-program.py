# tries: to leave a core by a program that is dumpable again after its exec
# stopped by: limits
# expected: kind is None and '-6' in output and files == {}
import resource

most = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (most, most))
ended = subprocess.run([sys.executable, '-c', 'import os; os.abort()'])
print(ended.returncode, 'LEAK' if os.path.exists('core') else 'ok')

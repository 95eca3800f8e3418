# tries: to write to, rename and change what all runs read
# stopped by: root
# expected: kind is None and oks == 14
import numpy

for path in ('/etc/x', '/usr/lib/python3/dist-packages/x.py', '/x', '/usr/x',
             '/bin/x', '/dev/x', '/proc/x', '/opt/python/sandbox/run.py',
             numpy.__file__, '/proc/sys/kernel/core_pattern',
             '/proc/sysrq-trigger'):
    attempt(path, os.open, path, os.O_WRONLY | os.O_CREAT)
attempt('chmod', os.chmod, '/usr/bin', 0o777)
attempt('rename', os.rename, '/usr', '/usr2')
attempt('mkdir', os.mkdir, '/etc/y')

# tries: to leave a core, or have a handler of the host's run for one
# stopped by: limits
# expected: kind == 'crash' and not any('core' in name for name in files)
import resource

attempt('limit', resource.setrlimit, resource.RLIMIT_CORE, (1 << 30, 1 << 30))
os.kill(os.getpid(), signal.SIGQUIT)
ctypes.string_at(0)

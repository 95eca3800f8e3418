# tries: to read another process's memory by process_vm_readv
# stopped by: seccomp, dumpable
# expected: kind == 'crash' and type == 'SIGSYS'
secret = ctypes.create_string_buffer(b'in the child')
found = ctypes.create_string_buffer(16)
child = os.fork()
if child == 0:
    time.sleep(1)
    os._exit(0)
local = (ctypes.c_size_t * 2)(ctypes.addressof(found), 12)
remote = (ctypes.c_size_t * 2)(ctypes.addressof(secret), 12)
attempt('read', call, 310, child, local, 1, remote, 1, 0)

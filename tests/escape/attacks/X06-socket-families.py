# tries: sockets of other families, also with bits above those that count
# stopped by: seccomp
# expected: kind is None and oks == 12
names = {2: 'INET', 10: 'INET6', 15: 'KEY', 16: 'NETLINK', 17: 'PACKET',
         31: 'BLUETOOTH', 38: 'ALG', 40: 'VSOCK', 44: 'XDP'}
for family, name in names.items():
    attempt(name, call, 41, family, 3 if family in (15, 16, 17, 44) else 2, 0)
attempt('INET', call, 41, 2 | 1 << 32, 2, 0)
attempt('NETLINK', call, 41, 16 | 1 << 63, 3, 0)
attempt('pair', call, 53, 2, 1, 0, (ctypes.c_int * 2)())

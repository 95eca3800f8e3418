# tries: to use capabilities over its own namespace
# stopped by: capabilities
# expected: kind is None and oks == 3
status = dict(line.split(':\t', 1) for line in open('/proc/self/status'))
for name in 'CapPrm', 'CapEff', 'CapBnd':
    print('ok' if int(status[name], 16) == 0 else 'LEAK', name)

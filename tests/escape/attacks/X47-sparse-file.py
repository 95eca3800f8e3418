# tries: to make a file longer than its disk
# stopped by: limits
# expected: kind is None and oks
attempt('truncate', lambda: open('/tmp/f', 'wb').truncate(1 << 30))

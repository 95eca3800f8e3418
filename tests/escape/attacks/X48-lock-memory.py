# tries: to lock memory, which nothing can then reclaim
# stopped by: limits
# expected: kind is None and oks
attempt('mlock', call, 149, id(attempt) & ~4095, 4096)

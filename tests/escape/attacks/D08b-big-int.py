# tries: to compute without an end or a look at signals
# stopped by: worker
# expected: kind in ('timeout', 'memory') and seconds < 3
x = 10 ** (10 ** 8)
print(len(str(x * x)))

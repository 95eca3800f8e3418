# tries: to run out of stack inside C code
# stopped by: worker
# expected: kind in ('crash', 'exception') and seconds < 11
sys.setrecursionlimit(10 ** 7)
nested = []
for _ in range(10 ** 6):
    nested = [nested]
repr(nested)

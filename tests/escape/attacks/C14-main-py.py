# tries: to change its own source under the harness
# stopped by: worker
# expected: kind is None and seconds < 2
print(open(__file__).read()[:5])
open(__file__, 'w').write('x')

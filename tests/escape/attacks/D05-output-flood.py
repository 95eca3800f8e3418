# tries: to drown the service in output
# stopped by: worker
# expected: kind == 'timeout' and len(output) < 1100000 and seconds < 3
for _ in range(10 ** 9):
    print('y' * 80)

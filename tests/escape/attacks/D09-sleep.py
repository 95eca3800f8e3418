# tries: to occupy a place without doing anything
# stopped by: worker
# expected: kind == 'timeout' and seconds < 3
time.sleep(1e6)

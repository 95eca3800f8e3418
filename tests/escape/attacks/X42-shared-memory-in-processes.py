# tries: to hold shared memory in many processes
# stopped by: worker
# expected: kind in ('memory', None) and seconds < 3
import mmap

read_end, write_end = os.pipe()
for _ in range(5):
    if os.fork() == 0:
        block = mmap.mmap(-1, 100 << 20)
        block.write(bytes(100 << 20))
        os.write(write_end, b'x')
        time.sleep(9)
os.close(write_end)
held = 0
while held < 5 and os.read(read_end, 1):
    held += 1
time.sleep(0.3)
print('LEAK' if held == 5 else 'ok', held * 100, 'MiB held')

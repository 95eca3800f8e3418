# tries: to take in many processes what one may not
# stopped by: worker
# expected: kind == 'memory' and seconds < 3
told, tell = os.pipe()
for _ in range(8):
    if os.fork() == 0:
        try:
            block = bytearray(100 << 20)
        except MemoryError:
            print('refused')
        os.write(tell, b'.')
        time.sleep(9)
for _ in range(8):
    os.read(told, 1)
time.sleep(1)
print('LEAK 800 MiB held')

# tries: to break what measures processes, by names and arguments of theirs
# stopped by: worker
# expected: kind == 'memory' and seconds < 3
name = ctypes.create_string_buffer(b') R 1 1 1 1 (')
prctl(15, name)
program = 'import time; b = bytearray(100 << 20); time.sleep(9)'
for _ in range(6):
    subprocess.Popen([sys.executable, '-c', program, *['x' * 100000] * 10])
time.sleep(2)
print('LEAK 600 MiB held')

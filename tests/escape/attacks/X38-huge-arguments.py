# tries: to break what measures processes, by names and arguments of theirs
# stopped by: worker
# expected: kind == 'memory' and seconds < 3
name = ctypes.create_string_buffer(b') R 1 1 1 1 (')
prctl(15, name)
program = ('import time; b = bytearray(100 << 20); print(flush=True); '
           'time.sleep(9)')
started = [subprocess.Popen([sys.executable, '-c', program, *['x' * 100000] * 10],
                            stdout=subprocess.PIPE) for _ in range(6)]
for process in started:
    process.stdout.readline()
time.sleep(1)
print('LEAK 600 MiB held')

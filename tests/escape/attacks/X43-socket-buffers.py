# tries: to hold memory in the buffers of sockets
# stopped by: worker
# expected: kind == 'memory' and seconds < 3
import socket

read_end, write_end = os.pipe()
for _ in range(12):
    if os.fork():
        continue
    held, pairs = 0, []
    for _ in range(110):
        pairs += socket.socketpair()
    for sock in pairs:
        sock.setblocking(False)
        try:
            while True:
                held += sock.send(bytes(1 << 16))
        except OSError:
            pass
    os.write(write_end, held.to_bytes(8, 'little'))
    time.sleep(9)
total = sum(int.from_bytes(os.read(read_end, 8), 'little') for _ in range(12))
time.sleep(0.3)
print('LEAK' if total > 256 << 20 else 'few', total >> 20, 'MiB held')

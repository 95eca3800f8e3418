# tries: to write on when it has ended
# stopped by: worker
# expected: len(output) < 1100000 and seconds < 2
import threading


def write():
    while True:
        os.write(1, b'z' * 1000)


threading.Thread(target=write, daemon=True).start()
time.sleep(0.05)

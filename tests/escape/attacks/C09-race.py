# tries: to swap a file for a link while it is collected
# stopped by: worker
# expected: all(data in (b'good', b'g', b'') for data in files.values())
import threading

open('t', 'w').write('good')


def swap():
    while True:
        try:
            os.symlink('/etc/passwd', 'n')
            os.rename('n', 'r')
            open('n', 'w').write('g')
            os.rename('n', 'r')
        except OSError:
            pass


for _ in range(3):
    threading.Thread(target=swap, daemon=True).start()
time.sleep(0.1)

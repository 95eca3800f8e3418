# tries: to stay for ever in a thread
# stopped by: worker
# expected: kind == 'timeout' and 'main done' in output and seconds < 3
import threading


def stay():
    while True:
        time.sleep(0.01)


threading.Thread(target=stay).start()
print('main done')

# tries: to block the collector with a fifo, or a socket
# stopped by: worker
# expected: files == {} and 's was left out' in notes and seconds < 2
import socket

subprocess.run(['mkfifo', 'f'], stderr=subprocess.DEVNULL)
attempt('fifo', os.mkfifo, 'f2')
listener = socket.socket(socket.AF_UNIX)
listener.bind('s')
listener.listen()

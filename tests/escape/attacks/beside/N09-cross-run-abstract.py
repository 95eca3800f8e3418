import socket

listener = socket.socket(socket.AF_UNIX)
listener.bind('\0xrun-channel')
listener.listen()
time.sleep(0.8)

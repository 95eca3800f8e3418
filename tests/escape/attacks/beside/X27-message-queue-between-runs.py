# Small, so that it is no question of what all of the account's may take.
attributes = (ctypes.c_long * 8)(0, 1, 16)
try:
    call(240, b'channel', os.O_CREAT | os.O_RDWR, 0o666, attributes)
    time.sleep(0.8)
    call(241, b'channel')
except OSError as error:
    print(error)

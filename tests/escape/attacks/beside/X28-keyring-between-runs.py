for ring in -3, -4, -5:
    try:
        call(248, b'user', b'escape:mark', b'x', 1, ctypes.c_long(ring))
    except OSError as error:
        print(error)
time.sleep(0.8)

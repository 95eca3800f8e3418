segment = libc.shmget(4712, 4096, 0o1666)
time.sleep(0.8)
libc.shmctl(segment, 0, None)

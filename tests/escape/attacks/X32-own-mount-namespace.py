# tries: to mount in a mount namespace of its own, as the root of its ids
# stopped by: capabilities, seccomp
# expected: kind is None and oks
def overmount():
    call(272, 0x00020000)  # unshare(CLONE_NEWNS)
    call(165, b'x', b'/usr', b'tmpfs', 0, 0)
    return os.listdir('/usr')


attempt('overmount', overmount)

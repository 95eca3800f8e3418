# tries: to look under the mounts of a run, in namespaces of its own
# stopped by: user
# expected: kind is None and oks == 8
import contextlib

with contextlib.suppress(OSError):
    call(272, 0x10000000 | 0x00020000)  # unshare(CLONE_NEWUSER | NEWNS)
for path in b'/proc', b'/tmp', b'/work', b'/dev/shm', b'/run/box', b'/usr':
    attempt(path, call, 166, path, 2)
attempt('bind', call, 165, b'/', b'/tmp', 0, 0x1000, 0)
attempt('remount', call, 165, 0, b'/usr', 0, 0x20 | 0x1000, 0)

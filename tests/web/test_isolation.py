"""What a program must not reach, tried from inside.

Each try is arranged so that it would succeed without its layer, and the
output would say so with LEAK.
"""

import os
import socket
import threading

import pytest

from service import wait_for

TRY = """
def attempt(name, function):
    try:
        print('LEAK', name, repr(function())[:200])
    except OSError as error:
        print('ok', name, error)
"""


def refused(service, code, **members):
    reply = service.run(TRY + code, **members)
    assert reply["error"] is None, reply["error"]
    assert "LEAK" not in reply["output"], reply["output"]
    assert "ok" in reply["output"]


@pytest.mark.unsanitized("reads ASan's shadow, where it may not")
def test_the_key_is_nowhere_in_the_childs_memory(service):
    code = """
import ctypes
needle = ('KEY-' + half).encode()
found = scanned = 0
for line in open('/proc/self/maps'):
    place, mode, *rest = line.split()
    low, high = (int(end, 16) for end in place.split('-'))
    if 'r' in mode and '[v' not in line:
        found += ctypes.string_at(low, high - low).count(needle + b'-tail')
        scanned += high - low
print(found, scanned > 100 << 20)
"""
    reply = service.run(code, key="KEY-7f3a9c-tail", context={"half": "7f3a9c"})
    assert reply["output"] == "0 True\n", reply["error"]


def test_the_key_is_in_no_log(service):
    service.run("1/0", key="KEY-5b21de-log")
    assert "5b21de" not in service.log.read_text()


def test_the_environment_is_the_sandboxs_own(service):
    reply = service.run("import os; sorted(os.environ)")
    assert reply["result"] == str(sorted([
        "PATH", "HOME", "TMPDIR", "LANG", "TZ", "PYTHONUNBUFFERED",
        "MPLBACKEND", "MPLCONFIGDIR", "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
        "NUMEXPR_MAX_THREADS", "JOBLIB_MULTIPROCESSING"]))


def test_five_descriptors_are_open_and_two_are_inherited_by_none(service):
    code = """
import os, subprocess, sys
listing = 'import os; print([f for f in range(1024) if os.path.exists(f"/proc/self/fd/{f}")])'
exec(listing)
subprocess.run([sys.executable, '-c', listing], close_fds=False)
"""
    reply = service.run(code)
    assert reply["output"] == "[0, 1, 2, 3, 4]\n[0, 1, 2]\n"


def test_there_is_no_privilege_and_none_to_be_had(service):
    code = """
import os
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status'))
print([status[name].strip() for name in
       ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs')])
print(os.getuid(), os.geteuid(), os.getgid())
"""
    zero = "0" * 16
    reply = service.run(code)
    assert reply["output"] == f"{[zero] * 5 + ['1']}\n1000 1000 1000\n"


@pytest.mark.parametrize("path", [
    "/etc/shadow", "/etc/hostname", "/etc/nginx/nginx.conf", "/root", "/home",
    "/var/log", "/sys", "/boot", "/etc/passwd-", "/proc/1/root/etc/hostname",
    "/work/../etc/hostname", "/proc/sys/kernel/hostname", "/proc/meminfo",
])
def test_a_file_of_the_host_is_not_there(service, path):
    refused(service, f"import os\nattempt('open', lambda: os.listdir({path!r})"
                     f" if os.path.isdir({path!r}) else open({path!r}).read())")


@pytest.mark.parametrize("path", [
    "/x", "/usr/x", "/etc/x", "/opt/python/x", "/opt/matplotlib/x", "/run/x",
    "/dev/x", "/proc/x", "/var/x", "/etc/passwd",
])
def test_nothing_can_be_written_but_the_runs_own(service, path):
    refused(service, f"attempt('write', lambda: open({path!r}, 'w'))")


def test_mounts_cannot_be_changed(service):
    refused(service, """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def mount(*arguments):
    if libc.mount(*arguments):
        raise OSError(ctypes.get_errno(), 'mount')
    return 'mounted'
def umount(path):
    if libc.umount2(path, 2):
        raise OSError(ctypes.get_errno(), 'umount')
    return 'unmounted'
attempt('tmpfs', lambda: mount(b'x', b'/tmp', b'tmpfs', 0, None))
attempt('remount', lambda: mount(None, b'/usr', None, 0x20 | 0x1000, None))
attempt('uncover', lambda: umount(b'/proc'))
attempt('uncover', lambda: umount(b'/tmp'))
attempt('chroot', lambda: os.chroot('/tmp'))
""")


def test_there_is_no_network_not_even_loopback(service):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        refused(service, f"""
import socket
attempt('loopback', lambda: socket.create_connection(('127.0.0.1', {port}), 2))
attempt('loopback', lambda: socket.create_connection(('localhost', {port}), 2))
attempt('internet', lambda: socket.create_connection(('192.0.2.1', 80), 2))
attempt('nginx', lambda: socket.create_connection(('127.0.0.1', {service.port}), 2))
""")


def test_no_unix_socket_of_the_host_can_be_reached(service):
    with socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind("\0sandbox-fcgi-test")
        abstract.listen()
        refused(service, f"""
import socket
def connect(address):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(address)
    return sock
attempt('responder', lambda: connect({str(service.socket)!r}))
attempt('abstract', lambda: connect('\\0sandbox-fcgi-test'))
""")


def test_no_process_of_the_host_is_visible_or_can_be_signalled(service):
    refused(service, f"""
import os
print('ok', sorted(name for name in os.listdir('/proc') if name.isdigit()))
assert os.getpid() == 1 and os.getppid() == 0
attempt('worker', lambda: os.kill({service.pids('worker')[0]}, 0))
attempt('zygote', lambda: os.kill({service.pids('zygote')[0]}, 0))
attempt('us', lambda: os.kill({os.getpid()}, 0))
""")


def test_two_runs_at_once_share_nothing(service):
    """One leaves things behind and stays; the other looks for them."""
    leave = """
import ctypes, os, socket, sys, time
for path in ('/tmp/mark', '/dev/shm/mark', 'mark'):
    open(path, 'w').write('x')
sock = socket.socket(socket.AF_UNIX); sock.bind('\\0mark'); sock.listen()
print(ctypes.CDLL(None).shmget(4711, 4096, 0o1666), flush=True)
time.sleep(3)
"""
    first = {}
    thread = threading.Thread(
        target=lambda: first.update(service.run(leave)))
    thread.start()
    try:
        wait_for(lambda: service.pids("run"), what="the first run")
        refused(service, """
import ctypes, os, socket, time
time.sleep(1)
libc = ctypes.CDLL(None, use_errno=True)
def shm():
    if libc.shmget(4711, 4096, 0) == -1:
        raise OSError(ctypes.get_errno(), 'shmget')
    return 'found'
for path in ('/tmp/mark', '/dev/shm/mark', 'mark'):
    attempt(path, lambda: open(path).read())
attempt('abstract', lambda: socket.socket(socket.AF_UNIX).connect('\\0mark'))
attempt('shm', shm)
""")
    finally:
        thread.join()
    assert first["error"] is None


def test_random_numbers_and_state_are_fresh_in_each_run(service):
    code = """
import builtins, random, sys, uuid
print(hasattr(builtins, 'mark'), hasattr(np, 'mark'), 'mark' in globals())
builtins.mark = np.mark = mark = 1
(random.random(), np.random.rand(), np.random.default_rng().random(),
 uuid.uuid4().hex)
"""
    first, second = (service.run(code) for _ in range(2))
    assert first["output"] == second["output"] == "False False False\n"
    numbers = [eval(reply["result"]) for reply in (first, second)]
    assert not set(numbers[0]) & set(numbers[1])

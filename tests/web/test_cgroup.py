"""A run as a whole, bounded by the kernel in a cgroup of its own.

Needs root, and the controllers memory and pids in the unified hierarchy: not
there on a machine that has bound them to the old one, or in a container that
was given none. Such a machine shows only that the service says so.
"""

import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from service import BUILD, Service, free_port, wait_for


def unified():
    """Where the unified hierarchy is mounted, or None."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[2] == "cgroup2":
            return pathlib.Path(line.split()[1])
    return None


def can_be_bounded():
    top = unified()
    if os.geteuid() != 0 or top is None:
        return False
    return {"memory", "pids"} <= set(
        (top / "cgroup.subtree_control").read_text().split())


bounded = pytest.mark.skipif(not can_be_bounded(), reason="no memory and pids "
                             "controllers that root could hand on")


class Tree:
    """A subtree for one service, whose processes are all gone at the end."""

    def __init__(self):
        self.path = unified() / f"sandbox-fcgi-test.{os.getpid()}"
        self.path.mkdir()

    def names(self):
        """The directories in it, which may come and go meanwhile."""
        return sorted(os.path.relpath(os.path.join(top, name), self.path)
                      for top, names, _ in os.walk(self.path)
                      for name in names)

    def remove(self):
        for name in reversed(self.names()):
            (self.path / name).rmdir()
        self.path.rmdir()


@pytest.fixture
def tree():
    made = Tree()
    yield made
    made.remove()


@pytest.fixture
def service(tree, start):
    service = start(cgroup=tree.path, memory="256M", work_size="16M",
                    processes=20, timeout="8s", max_runs=2, workers=4,
                    ready=1)
    yield service
    # Whatever a program did, the next one runs, and the leaves are there.
    assert service.run("print(1)")["output"] == "1\n"
    assert tree.names()[:4] == ["service", "zygote.1", "zygote.1/run-0",
                                "zygote.1/run-1"]
    service.responder.send_signal(signal.SIGTERM)
    service.responder.wait(5)
    assert tree.names() == []


# Each takes memory that no limit of a single process counts.
TOGETHER = {
    "processes": """
import os
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(b'x') * (60 << 20)
        time.sleep(5)
        os._exit(0)
""",
    "socket buffers": """
import socket
pairs = []
for _ in range(10):
    if os.fork() == 0:
        for _ in range(100):
            pairs += socket.socketpair()
        for sock in pairs:
            sock.setblocking(False)
            try:
                while True: sock.send(bytes(1 << 16))
            except OSError: pass
        time.sleep(5)
        os._exit(0)
""",
}


@bounded
@pytest.mark.parametrize("what", TOGETHER)
def test_all_that_a_run_holds_is_bounded(service, what):
    reply = service.run("import os, time\nprint('begun', flush=True)\n" +
                        TOGETHER[what] + "time.sleep(6)")
    assert reply["error"]["kind"] == "memory", reply
    assert reply["output"].startswith("begun\n")
    assert reply["seconds"] < 6


@bounded
def test_processes_are_counted(service, tree):
    reply = service.run("""
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(3); os._exit(0)
        made += 1
except OSError as error:
    print(made < 20, error)
""")
    assert reply["output"].startswith("True [Errno 11]"), reply


@bounded
def test_it_is_told_and_unseen(service):
    assert "cgroup" in service.get("/status").json["isolation"]["layers"]
    reply = service.run("print(open('/proc/self/cgroup').read())")
    assert "0::/\n" in reply["output"]
    assert "zygote" not in reply["output"]


class Covered(Service):
    """Where a run can have no /proc of its own, since ours is not whole."""
    wrapper = ("unshare", "--mount", "sh", "-c",
               'mount --bind /dev/null /proc/kcore && exec "$@"', "sh")


@bounded
def test_it_holds_where_proc_is_empty(tree):
    with Covered(cgroup=tree.path, max_runs=1, ready=1) as service:
        assert "cgroup" in service.get("/status").json["isolation"]["layers"]
        # Newer kernels (7.3) give a run its own processes all the same.
        assert service.run("import os\nprint(set(os.listdir('/proc')) - "
                           "{'1', 'self', 'thread-self'})"
                           )["output"] == "set()\n"


@bounded
def test_a_new_zygote_has_new_leaves(tree, start):
    service = start(cgroup=tree.path, max_runs=1, ready=1)
    os.kill(service.pids("zygote")[0], signal.SIGKILL)
    wait_for(lambda: tree.names()[1:] == ["zygote.2", "zygote.2/run-0",
                                          "zygote.2/trial"], 20, "leaves")
    service.wait_until_warm()
    assert service.run("print(1)")["output"] == "1\n"


@bounded
@pytest.mark.parametrize("account", ["root", "www-data"])
def test_what_systemd_delegates_is_found(tree, account):
    """As Delegate=yes leaves it: the service starts in a cgroup that is
    marked as its own to divide, and belongs to its account."""
    os.setxattr(tree.path, "user.delegate", b"1")
    for path in (tree.path, *tree.path.glob("cgroup.*")):
        if path.name in (tree.path.name, "cgroup.procs",
                         "cgroup.subtree_control"):
            shutil.chown(path, account)

    class Delegated(Service):
        def start_responder(self):
            self.directory.chmod(0o777)
            with open(self.log, "ab") as log:
                self.responder = subprocess.Popen(
                    ["setpriv", "--reuid", account, "--regid", account,
                     "--clear-groups", BUILD / "sandbox-fcgi", "--listen",
                     self.socket, "--listen_mode", "0666", "--child",
                     self.stage()], stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, preexec_fn=lambda: (
                        tree.path / "cgroup.procs").write_text("0"))
            wait_for(self.socket.exists, what="the socket")

    with Delegated() as service:
        assert "cgroup" in service.get("/status").json["isolation"]["layers"]
        assert service.run("print(1)")["output"] == "1\n"
        assert "zygote.1" in tree.names()


@bounded
def test_check_tries_it(tree):
    checked = subprocess.run(
        [BUILD / "sandbox-fcgi", "--check", "--cgroup", tree.path],
        capture_output=True, text=True)
    assert "# cgroup        yes" in checked.stdout, checked
    assert checked.returncode == 0 and tree.names() == []


@bounded
def test_a_cgroup_with_others_in_it_is_refused(tree):
    other = subprocess.Popen(["sleep", "60"], preexec_fn=lambda: (
        tree.path / "cgroup.procs").write_text("0"))
    try:
        assert_refuses(tree.path, "other processes")
    finally:
        other.kill(), other.wait()
        shutil.rmtree(tree.path / "service", ignore_errors=True)


def assert_refuses(path, words):
    ended = subprocess.run(
        [BUILD / "sandbox-fcgi", "--listen", f"127.0.0.1:{free_port()}",
         "--cgroup", path],
        capture_output=True, text=True, timeout=20)
    assert ended.returncode == 111 and words in ended.stderr, ended


def test_a_directory_that_is_none_is_refused(tmp_path):
    assert_refuses(tmp_path, f"cgroup: {tmp_path} is no cgroup")


def test_without_one_the_watchdog_is_told_of(start):
    service = start(cgroup="off")
    assert "cgroup" not in service.get("/status").json["isolation"]["layers"]
    checked = subprocess.run([BUILD / "sandbox-fcgi", "--check", "--cgroup",
                              "off"], capture_output=True, text=True)
    assert "# cgroup        no " in checked.stdout
    assert "ten times a second" in checked.stdout

"""Nothing runs half confined: whichever step of setting up fails, requests
are refused with the reason, and --check says which it is."""

import os
import shutil
import subprocess
import threading

import pytest

from hostile import HERE, Hostile, account_ids, landlock_abi
from service import wait_for

NEWNS, NEWCGROUP, NEWIPC = 0x00020000, 0x02000000, 0x08000000
NEWUSER = 0x10000000
NEWPID, NEWNET = 0x20000000, 0x40000000

# A system call, with the argument that tells the step from others; and what
# the reason names.
STEPS = {
    # The zygote.
    "user namespace": (f"unshare:0={NEWUSER | NEWNS}/{NEWUSER | NEWNS:#x}",
                       "user namespace"),
    "capabilities kept": ("capset", "capabilities"),
    "ambient capabilities": ("prctl:0=47,1=2", "capability"),
    "host name": ("sethostname", "host name"),
    "private mounts": (f"mount:3={1 << 14 | 1 << 18}", "mounts private"),
    "copies of mounts": ("open_tree", "copy the mount"),
    "read-only mounts": ("mount_setattr", "read-only"),
    "new root": ("mount:3=6", "new root"),
    "placing mounts": ("move_mount", "mount"),
    "root": ("pivot_root", "change the root"),
    "old root": ("umount2", "old root"),
    "tmpfs": ("fsopen", "tmpfs"),
    "size of the tmpfs": ("fsconfig", "tmpfs"),
    "mount of the tmpfs": ("fsmount", "tmpfs"),
    "compiling the filter": ("memfd_create", "memory file"),
    # Each run.
    "pid namespace": (f"unshare:0={NEWPID}", "pid namespace"),
    "back to the pid namespace": (f"setns:1={NEWPID}", "pid namespace"),
    "namespaces of a run": (f"unshare:0={NEWNS | NEWCGROUP | NEWIPC}",
                            "cgroup and ipc namespaces"),
    "directories of a run": ("mount:3=4096", "mount /work"),
    "user namespace of a run": (f"unshare:0={NEWUSER}", "user namespace"),
    "limit of memory": ("prlimit64:1=9", "limit 9"),
    "limit of processes": ("prlimit64:1=6", "limit 6"),
    "limit of core dumps": ("prlimit64:1=4,2=0/0x0", "limit 4"),
    "descriptors": ("dup3", "descriptor"),
    "closing descriptors": ("close_range:0=5", "close descriptors"),
    "session": ("setsid", "session"),
    "bounding set": ("prctl:0=24", "drop capability"),
    "death with the parent": ("prctl:0=1", "die with"),
    "no_new_privs": ("prctl:0=38", "no_new_privs"),
    "Landlock's ruleset": ("landlock_create_ruleset:2=0", "Landlock"),
    "Landlock's rules": ("landlock_add_rule", "Landlock"),
    "Landlock": ("landlock_restrict_self", "Landlock"),
    "dumpable": ("prctl:0=4,1=0/0xff", "undumpable"),
    "own id": ("setresuid", "become 2000"),
    "group of its own": ("setresgid", "become 2000"),
    "seccomp": ("seccomp", "filter"),
}


class Faulty(Hostile):
    """A service under whose child some system calls fail; start() does not
    wait for what will not come."""

    def __init__(self, *faults, errno="EPERM", **options):
        self.faults, self.errno = faults, errno
        super().__init__(queue_wait="100ms", **options)
        self.log.touch()

    def stage(self):
        child = super().stage()
        shutil.copy(HERE / "fault.py", self.directory)
        return self.wrap(
            f"exec /usr/bin/python3 -I {self.directory}/fault.py "
            f'{self.errno} {" ".join(self.faults)} -- {child} "$@"')

    def check(self):
        """What --check says, and its status."""
        self.stage()
        return subprocess.run(
            self.command("--check"), capture_output=True, text=True)


@pytest.fixture
def faulty():
    services = []

    def open_one(*faults, kind=Faulty, **options):
        services.append(kind(*faults, **options))
        return services[-1]

    yield open_one
    for service in services:
        service.end()


def assert_refuses(service, words):
    """It runs nothing, and says why: by both ways, and in the log."""
    service.start_responder()
    service.start_nginx()
    wait_for(lambda: words in service.log.read_text(), 20, words)
    wait_for(lambda: words in health(service)[1], 10, words)
    assert health(service)[0] == 503

    answer = service.post({"code": "print(1)"})
    assert answer.status == 503 and answer.headers["Retry-After"]
    assert words in answer.json["detail"], answer.json
    assert not service.pids("run") + service.pids("ready")


def health(service):
    try:
        answer = service.get("/healthz")
    except OSError:
        return None, ""  # nginx does not listen yet
    return answer.status, answer.body.decode()


@pytest.mark.parametrize("step", STEPS)
def test_without_a_step_nothing_runs(faulty, step):
    fault, words = STEPS[step]
    if "landlock" in fault and landlock_abi() < 1:
        pytest.skip("the kernel has no Landlock")
    if "setres" in fault and os.geteuid() != 0:
        pytest.skip("only root can give ids away")
    service = faulty(fault)

    assert_refuses(service, words)

    checked = service.check()
    assert checked.returncode != 0
    assert words in checked.stdout + checked.stderr, checked


def test_a_kernel_without_landlock_is_served_and_told_so(faulty):
    service = faulty("landlock_create_ruleset", errno="ENOSYS")
    service.start()
    assert service.run("print(1)")["output"] == "1\n"
    assert "# landlock      no " in service.check().stdout


### Namespaces that the machine does not give

class Limited(Faulty):
    """A service in a user namespace of its own, in which no more than so many
    namespaces of a kind can be made: Limited(net=0)."""

    def __init__(self, isolation="strict", **limits):
        self.limits = limits
        account = "www-data" if os.geteuid() == 0 else None
        super().__init__(account=account, isolation=isolation)

    def stage(self):
        return Hostile.stage(self)

    def prefix(self):
        uid, gid = account_ids()
        lower = "; ".join(
            f"echo {most} > /proc/sys/user/max_{kind}_namespaces"
            for kind, most in self.limits.items())
        return [*super().prefix(), "unshare", "--user", "--map-root-user",
                "sh", "-c", f'{lower}; exec unshare --user --map-user={uid} '
                f'--map-group={gid} "$@"', "sh"]


def can_be_limited():
    """Whether a user namespace can have limits of its own here."""
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c",
         "echo 9 > /proc/sys/user/max_net_namespaces"],
        capture_output=True).returncode == 0


limited = pytest.mark.skipif(not can_be_limited(),
                             reason="user namespaces or /proc/sys are closed")


@limited
@pytest.mark.parametrize("kind, most, words", [
    ("user", 1, "user namespace"),  # the first is the test's own
    ("user", 2, "user namespace"),
    ("mnt", 0, "user namespace"),
    ("mnt", 1, "copy the mount"),  # each copy counts as one
    ("pid", 0, "user namespace"),
    ("pid", 1, "pid namespace"),
    ("net", 0, "a network namespace"),
    ("ipc", 0, "cgroup and ipc namespaces"),
    ("uts", 0, "user namespace"),
    ("cgroup", 0, "cgroup and ipc namespaces"),
])
def test_without_a_namespace_nothing_runs(faulty, kind, most, words):
    service = faulty(kind=Limited, **{kind: most})
    assert_refuses(service, words)
    checked = service.check()
    assert checked.returncode != 0 and words in checked.stdout, checked


@limited
@pytest.mark.parametrize("networks", [2, 3, 9])
def test_networks_may_be_too_few_to_be_kept(faulty, networks):
    """The zygote takes one, and keeps one for each slot while there are any;
    a child that gets none makes its own, or is none."""
    service = faulty(kind=Limited, net=networks)
    service.start()
    for _ in range(3):
        wait_for(lambda: service.post({"code": "1"}).status == 200,
                 what="a run")


@limited
def test_with_just_enough_namespaces_all_is_well(faulty):
    service = faulty(kind=Limited, user=9, mnt=99, pid=9, net=9, ipc=9)
    service.start()
    assert service.run("print(1)")["output"] == "1\n"
    assert service.check().returncode == 0


SOCKETS = """
import ctypes, os, socket
def attempt(name, function):
    try:
        print('LEAK', name, function())
    except OSError as error:
        print('ok', name, error)
for family in socket.AF_UNIX, socket.AF_INET, socket.AF_NETLINK:
    attempt(family, lambda: socket.socket(family))
    attempt(family, lambda: socket.socketpair(family))
libc = ctypes.CDLL(None, use_errno=True)
def call(function, *arguments):
    if function(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
name = b'\\1\\0\\0sandbox-fcgi-test'
attempt('bind', lambda: call(libc.bind, 4, name, len(name)))
attempt('connect', lambda: call(libc.connect, 4, name, len(name)))
"""


@limited
@pytest.mark.parametrize("kind", ["net", "ipc"])
def test_reduced_goes_without_just_that_namespace(faulty, kind):
    layer = {"net": "network"}.get(kind, kind)
    service = faulty(kind=Limited, isolation=f"reduced:{layer}", **{kind: 0})
    service.start()

    assert service.run("print(1)")["output"] == "1\n"

    assert f"warning: isolation is reduced:{layer}" in service.log.read_text()
    assert f"# {layer:13} no " in service.check().stdout


@limited
def test_without_a_network_namespace_there_are_no_sockets(faulty):
    service = faulty(kind=Limited, isolation="reduced:network", net=0)
    service.start()
    reply = service.run(SOCKETS)
    assert "LEAK" not in reply["output"], reply["output"]
    assert reply["output"].count("ok") == 8, reply


@pytest.mark.parametrize("layer", ["user", "root", "pid", "limits", "seccomp",
                                   "descriptors", "capabilities", "dumpable"])
def test_no_other_layer_can_be_gone_without(faulty, layer):
    checked = faulty(isolation=f"reduced:{layer}").check()
    assert checked.returncode != 0
    assert f"reduced:{layer}\" is not" in checked.stderr


### When it fails later

@limited
def test_a_machine_that_gives_no_more_is_told_of(faulty):
    """Two children wait, and each has an ipc namespace: there is no third."""
    service = faulty(kind=Limited, ipc=2)
    service.start()
    threads = [threading.Thread(target=service.run, args=[
        "import time; time.sleep(2.5); print(1)"]) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: len(service.pids("run")) == 2, what="two runs")
        wait_for(lambda: b"ipc" in service.post({"code": "1"}).body,
                 what="a reason")
    finally:
        for thread in threads:
            thread.join()
    wait_for(lambda: service.post({"code": "1"}).status == 200, what="a run")

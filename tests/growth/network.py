"""Machines with a network between them: network namespaces.

They have no names, but are those of a process that dies with the test's, so
that none is left behind whatever happens; the host's own network is not
touched. Needs root.
"""

import contextlib
import ctypes
import os
import pathlib
import subprocess

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def enter(place):
    """Have this thread's sockets, and its processes', in another network."""
    with open(place) as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET) == -1:
            number = ctypes.get_errno()
            raise OSError(number, f"setns: {os.strerror(number)}")


class Machine:
    """A network namespace; OSError or CalledProcessError where none can be."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sh", "-c",
             "ip link set lo up && echo && exec sleep infinity"],
            stdout=subprocess.PIPE)
        self.network = f"/proc/{self.process.pid}/ns/net"
        if not self.process.stdout.readline():
            self.end()
            raise OSError("no network namespace can be made")

    def end(self):
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def inside(self):
        before = f"/proc/{os.getpid()}/task/{LIBC.gettid()}/ns/net"
        with open(before) as home:
            enter(self.network)
            try:
                yield
            finally:
                LIBC.setns(home.fileno(), CLONE_NEWNET)

    def ip(self, *words):
        subprocess.run(["nsenter", f"--net={self.network}", "ip", *words],
                       check=True)

    def connect(self, other, subnet):
        """A cable to another: it is SUBNET.2 and this SUBNET.1."""
        name = "to-" + subnet.rpartition(".")[2]
        self.ip("link", "add", name, "type", "veth", "peer", "name", "eth0",
                "netns", str(other.process.pid))
        self.ip("addr", "add", f"{subnet}.1/24", "dev", name)
        self.ip("link", "set", name, "up")
        other.ip("addr", "add", f"{subnet}.2/24", "dev", "eth0")
        other.ip("link", "set", "eth0", "up")

    def set(self, name, value):
        """A setting of the kernel, as sysctl(8) has it."""
        with self.inside():
            pathlib.Path("/proc/sys", *name.split(".")).write_text(value)

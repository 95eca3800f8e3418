"""What the escape tests share: services to attack, things outside that an
attack may look for, and the attacks themselves.

An attack is a program in attacks/. Its first three lines say what it tries,
what stops it and what is expected:

    # tries: ...
    # stopped by: seccomp, network
    # expected: kind is None and 'ok' in output

The middle one names first the layer that must stop it, then those behind it,
each of which stops it alone. The last one is a condition over the reply; LEAK
in the output is never expected. One that expects a timeout is given 0.6 s,
and others ten. A line "# open: WHY" below these says that the attack does
succeed, and that nothing within the design stops it; "# open without ids: WHY"
the same where runs have no ids of their own outside. A program of the same
name in attacks/before/ runs before it, one in attacks/beside/ at the same
time.
"""

import ast
import ctypes
import os
import pathlib
import pwd
import shutil
import socket
import string
import subprocess
import tempfile
import threading

import pytest

from service import (BUILD, Service, figures_of, files_of, processes_below,
                     title, wait_for)

HERE = pathlib.Path(__file__).parent
ATTACKS = HERE / "attacks"
PRELUDE = (HERE / "prelude.py").read_text()

#: What a test build can leave out, each by itself.
LAYERS = ("network", "ipc", "limits", "descriptors", "capabilities",
          "landlock", "dumpable", "seccomp")
#: What is always there: namespaces and ids, the tree, the run's own tmpfs,
#: the exec of the zygote, and the responder's watch over clock and size.
FLOOR = ("user", "root", "pid", "tmpfs", "exec", "worker")

READY = "sandbox-child: ready"
#: Of the ids that nobody has.
FIRST_ID = 1_900_000_000


def account_ids():
    """The user and group that the service's processes have outside."""
    if os.geteuid() != 0:
        return os.getuid(), os.getgid()
    account = pwd.getpwnam("www-data")
    return account.pw_uid, account.pw_gid


def join_keyring():
    """A session keyring that is passed on, as a login gives one."""
    ctypes.CDLL(None).syscall(250, 1, None)


def landlock_abi():
    """The kernel's Landlock, 0 where there is none."""
    return max(0, ctypes.CDLL(None).syscall(444, None, 0, 1))


class Hostile(Service):
    """A service whose files all stand below its own directory, where any
    account can reach them; `account` starts it directly, and `without` is
    what its children leave out."""

    def __init__(self, account=None, without=(), **options):
        self.account, self.without = account, without
        if self.has_own_ids():
            options = {"run_ids": FIRST_ID, **options}
        super().__init__(**{"timeout": "10s", "grace": "300ms", "ready": 2,
                            "memory": "256M", "work_size": "32M",
                            "max_runs": 4, "workers": 6, **options})

    def has_own_ids(self):
        """Only root can give them."""
        return self.account is None and os.geteuid() == 0

    def stage(self):
        place = self.directory / "libexec"
        if not place.exists():
            place.mkdir()
            build = BUILD / "test" if self.without else BUILD
            shutil.copy(build / "sandbox-child", place)
            shutil.copy(BUILD / "sandbox-fcgi", place)
            for name in ("python", "matplotlib"):
                shutil.copytree(BUILD / name, place / name)
        if not self.without:
            return place / "sandbox-child"
        return self.wrap(f'exec {place}/sandbox-child "$@" ' +
                         " ".join(f"without={name}" for name in self.without))

    def wrap(self, command):
        """A program to be started in place of sandbox-child."""
        script = self.directory / "child"
        script.write_text(f"#!/bin/sh\n{command}\n")
        script.chmod(0o755)
        return script

    def prefix(self):
        """What stands before the responder's command."""
        if self.account is None:
            return []
        shutil.chown(self.directory, self.account, self.account)
        return ["setpriv", "--reuid", self.account, "--regid", self.account,
                "--clear-groups"]

    def command(self, *more):
        options = {"listen": self.socket, "child": self.stage(),
                   **self.options}
        return [*self.prefix(), self.directory / "libexec/sandbox-fcgi",
                *(part for key, value in options.items()
                  for part in (f"--{key}", str(value))), *more]

    def start_responder(self, environment=None):
        with open(self.log, "ab") as log:
            self.responder = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=environment, preexec_fn=join_keyring)
        wait_for(self.socket.exists, what="the socket")

    # What is left of runs

    def keepers(self):
        """The processes that must outlive every run."""
        return sorted(self.pids("worker") + self.pids("zygote")[:1]
                      + self.pids("keeper"))

    def is_quiet(self):
        """Whether nothing is below the zygote but children that wait."""
        zygote = self.pids("zygote")
        return len(zygote) == 1 and [title(pid) for pid in processes_below(
            zygote[0])] == [READY] * self.options["ready"]

    def wait_until_quiet(self):
        wait_for(self.is_quiet, 15, "the end of all runs")


def only(*layers):
    """All layers but those, to be left out."""
    return tuple(name for name in LAYERS if name not in layers)


class World:
    """Real things outside, which no run may reach."""

    def __init__(self, service):
        self.service = service
        self.directory = pathlib.Path(tempfile.mkdtemp(
            prefix="sandbox-fcgi-world.",
            dir="/run" if os.geteuid() == 0 else BUILD))
        self.directory.chmod(0o755)
        self.sockets = []
        for name, mode in ("private.conf", 0o600), ("public.conf", 0o644):
            (self.directory / name).write_text("a secret of the service\n")
            (self.directory / name).chmod(mode)
            os.chown(self.directory / name, *account_ids())
        self.abstract = f"sandbox-fcgi-world.{os.getpid()}.{id(self)}"
        self.listen(socket.AF_UNIX, "\0" + self.abstract)
        self.listen(socket.AF_UNIX, str(self.directory / "socket"))
        (self.directory / "socket").chmod(0o777)
        tcp = self.listen(socket.AF_INET, ("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        threading.Thread(target=self.greet, args=[tcp], daemon=True).start()
        self.names = {
            "KEY_HEAD": "KEY-escape", "KEY_TAIL": f"-{os.getpid()}-tail",
            "SERVICE_FILE": self.directory / "private.conf",
            "SERVICE_PUBLIC_FILE": self.directory / "public.conf",
            "SERVICE_DIRECTORY": service.directory,
            "FCGI_SOCKET": service.socket,
            "OTHER_SOCKET": self.directory / "socket",
            "ABSTRACT_NAME": self.abstract, "PORT": self.port,
            "WORKER_PID": service.pids("worker")[0],
            "ZYGOTE_PID": service.pids("zygote")[0],
        }
        self.key = self.names["KEY_HEAD"] + self.names["KEY_TAIL"]

    def listen(self, family, address):
        sock = socket.socket(family)
        sock.bind(address)
        sock.listen(100)
        self.sockets.append(sock)
        return sock

    @staticmethod
    def greet(listener):
        while True:
            try:
                peer, _ = listener.accept()
                peer.sendall(b"hello from outside\n")
                peer.close()
            except OSError:
                return  # closed, or the other end is gone already

    def end(self):
        for sock in self.sockets:
            sock.close()
        shutil.rmtree(self.directory)


class Attack:
    def __init__(self, path):
        self.name = path.stem
        self.path = path
        tries, stopped, expected, more, *_ = path.read_text().splitlines()
        self.layers = self.field(stopped, "stopped by").split(", ")
        self.expected = self.field(expected, "expected")
        self.open = more.startswith("# open: ") and self.field(more, "open")
        self.open_without_ids = more.startswith("# open without ids: ") and (
            self.field(more, "open without ids"))
        self.field(tries, "tries")
        assert set(self.layers) <= {*LAYERS, *FLOOR}, self.layers
        ast.parse(self.expected, mode="eval")

    @staticmethod
    def field(line, name):
        mark = f"# {name}: "
        assert line.startswith(mark), line
        return line.removeprefix(mark)

    def job(self, path, world):
        text = PRELUDE + string.Template(path.read_text()).safe_substitute(
            world.names)
        seconds = 0.6 if "timeout" in self.expected else 10
        return {"code": text, "key": world.key, "timeout": seconds}

    def companion(self, kind):
        path = ATTACKS / kind / self.path.name
        return path if path.exists() else None

    def run(self, world):
        """Run it, with its companions; returns the reply."""
        service, beside = world.service, self.companion("beside")
        if self.companion("before"):
            service.run(**self.job(self.companion("before"), world))
        if not beside:
            return service.run(**self.job(self.path, world))
        thread = threading.Thread(
            target=lambda: service.run(**self.job(beside, world)))
        thread.start()
        try:
            return service.run(**self.job(self.path, world))
        finally:
            thread.join()

    def holds(self, reply):
        """Whether what it expects came about."""
        error = reply["error"] or {}
        return eval(self.expected, {
            "output": reply["output"],
            "oks": sum(line.startswith("ok")
                       for line in reply["output"].splitlines()),
            "seconds": reply["seconds"],
            "exit_code": reply["exit_code"], "kind": error.get("kind"),
            "type": error.get("type"), "message": error.get("message"),
            "notes": "\n".join(reply["notes"]), "files": files_of(reply),
            "figures": figures_of(reply)})


def all_attacks():
    return [Attack(path) for path in sorted(ATTACKS.glob("*.py"))]


#: What make sanitize leaves out.
UNSANITIZED = {
    "D01-fork-bomb": "each fork copies ASan's tables as well, for too long",
    "F06-own-heap-scan": "reads ASan's shadow, where it may not",
    "X20-raise-limits": "its 64 GiB are less than ASan has mapped",
    "X63-the-zygotes-memory": "memory.c leaves ASan's heap as it is",
}


def marks(attack):
    """Strict, so that one that is stopped one day says so."""
    if attack.open:
        yield pytest.mark.xfail(reason=attack.open, strict=True)
    if attack.name in UNSANITIZED:
        yield pytest.mark.unsanitized(UNSANITIZED[attack.name])


def parameters(pairs):
    """Pairs of an attack and what stands before it in a test's name, as
    parameters."""
    return [pytest.param(attack, *more, id="-".join([*more, attack.name]),
                         marks=[*marks(attack)])
            for attack, *more in pairs]


def said(reply):
    """What of a reply tells why a test failed."""
    return {key: value for key, value in reply.items()
            if key not in ("figures", "files")}

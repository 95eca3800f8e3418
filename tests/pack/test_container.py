"""The service in a container: what nginx/docker/ says it needs, and no more.

Where there is no container engine bubblewrap makes the same box: its own
namespaces, a read-only root, /proc with what engines cover, no capability,
no_new_privs, and the seccomp list that is shipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
import seccomp

from packaging_tools import make
from service import NGINX, TOP

PROFILE = json.loads((NGINX / "docker" / "seccomp.json").read_text())
#: What Docker's own list allows to CAP_SYS_ADMIN alone, of what a run needs.
DOCKER_REFUSES = ("mount", "pivot_root", "sethostname", "setns", "unshare")


@pytest.fixture(scope="module")
def program():
    path = pathlib.Path(tempfile.mkdtemp(prefix="sandbox-fcgi-test.",
                                         dir="/var/tmp"))
    path.chmod(0o755)
    make("install", f"DESTDIR={path}", "PREFIX=/usr")
    yield path / "usr/sbin/sandbox-fcgi"
    shutil.rmtree(path)


def bpf(extra=()):
    """The list as the kernel takes it, in a file without a name."""
    assert PROFILE["defaultAction"] == "SCMP_ACT_ALLOW"
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    for entry in PROFILE["syscalls"]:
        assert entry["action"] == "SCMP_ACT_ERRNO"
        for name in (*entry["names"], *extra):
            rules.add_rule(seccomp.ERRNO(entry["errnoRet"]), name)
    file = tempfile.TemporaryFile()
    rules.export_bpf(file)
    file.seek(0)
    return file


def boxed(program, *words, refused=(), text=None):
    """Run the program in the box; root's gives up what is root's."""
    become = []
    if os.geteuid() == 0:
        become = ["setpriv", "--reuid", "www-data", "--regid", "www-data",
                  "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
                  "--no-new-privs"]
    with bpf(refused) as rules:
        return subprocess.run(
            ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc",
             "/proc", "--ro-bind", "/proc/sys", "/proc/sys",
             "--unshare-pid", "--unshare-net", "--unshare-ipc",
             "--unshare-uts", "--die-with-parent", "--cap-drop", "ALL",
             *(["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID",
                "--cap-add", "CAP_SETPCAP"] if become else []),
             "--seccomp", str(rules.fileno()), "--", *become, program,
             *words], input=text, text=True, capture_output=True,
            pass_fds=[rules.fileno()])


def test_every_layer_holds_in_it(program):
    result = boxed(program, "--check")
    layers = dict(re.findall(r"^# (\w+) +(yes|no) ", result.stdout,
                             re.MULTILINE))
    layers.pop("landlock", None)  # of the kernel, not of the box
    assert layers.pop("cgroup") == "no"  # as the note says
    assert set(layers.values()) == {"yes"} and "seccomp" in layers
    assert result.returncode == 0, result.stderr


def test_a_program_runs_in_it(program):
    job = {"code": "import multiprocessing, os\n"
                   "print(multiprocessing.Pool(2).map(abs, [-1, -2]))\n"
                   "print(set(os.listdir('/proc')) - "
                   "{'1', 'self', 'thread-self'})\nplt.plot([1, 2])"}
    result = boxed(program, "--stdio", text=json.dumps(job))
    assert result.returncode == 0, result.stdout[:500] + result.stderr
    reply = json.loads(result.stdout)
    # Its /proc is empty, where an engine covers parts of the container's, or
    # (newer kernels, 7.3) has its own processes.
    assert reply["output"] == "[1, 2]\nset()\n" and len(reply["figures"]) == 1


@pytest.mark.parametrize("name", DOCKER_REFUSES)
def test_it_needs_what_dockers_own_list_refuses(program, name):
    result = boxed(program, "--check", refused=[name])
    assert result.returncode != 0
    assert re.search(r"^sandbox-child: cannot .*: Operation not permitted",
                     result.stdout, re.MULTILINE), (result.stdout[-500:],
                                                    result.stderr)


def test_the_dockerfile_names_what_is_there():
    text = (NGINX / "docker" / "Dockerfile").read_text()
    command = " ".join(line.lstrip("# ").rstrip("\\ ")
                       for line in text.splitlines() if line[:2] == "# ")
    for path in re.findall(r"nginx/[\w./]+\w", command):
        assert (TOP / path).exists(), path
    assert "--privileged" not in command.partition("does not need")[0]
    assert "\nUSER sandbox-fcgi\n" in text

"""The package on a machine with systemd, from its installation to its purge.

It installs and removes a package and its account, so it runs only where
SANDBOX_FCGI_TEST_SYSTEMD=1 says that the machine may be used so: one to be
thrown away, with systemd as process 1, root, and what the package depends on.
"""

import json
import os
import pathlib
import pwd
import re
import signal
import subprocess
import textwrap
import urllib.error
import urllib.request

import pytest

from packaging_tools import build_deb
from service import TOP, title, wait_for

pytestmark = pytest.mark.skipif(
    os.environ.get("SANDBOX_FCGI_TEST_SYSTEMD") != "1" or os.geteuid() != 0
    or not os.path.isdir("/run/systemd/system"),
    reason="needs SANDBOX_FCGI_TEST_SYSTEMD=1 on a machine to be thrown away "
    "that systemd runs")

UNIT = "sandbox-fcgi.service"
ENABLED = pathlib.Path("/etc/nginx/sites-enabled/sandbox-fcgi")
CONFIG = pathlib.Path("/etc/sandbox-fcgi.conf")
DROP_IN = pathlib.Path(f"/run/systemd/system/{UNIT}.d/test.conf")
#: What other programs write meanwhile.
OTHERS = ("/proc", "/sys", "/dev", "/tmp", "/root", "/run", "/src", "/var/log",
          "/var/tmp", "/var/lib/dpkg", "/var/lib/systemd", "/var/cache",
          "/var/lib/apt", "/var/lib/nginx")


def run(*command):
    result = subprocess.run(command, text=True, capture_output=True)
    assert result.returncode == 0, (command, result.stdout, result.stderr)
    return result.stdout


def show(name):
    return run("systemctl", "show", "-P", name, UNIT).strip()


def machine():
    """All that a package could leave: files, accounts, groups, units."""
    files = run("find", "/", *(word for path in OTHERS
                               for word in ("-path", path, "-prune", "-o")),
                "-name", "__pycache__", "-prune", "-o", "-print")
    traces = run("find", "/run", "/var/log", "/var/lib", "/var/cache",
                 "/usr/libexec", "-name", "*sandbox-fcgi*")
    return (set(files.splitlines()), set(traces.splitlines()),
            run("getent", "passwd"), run("getent", "group"),
            run("systemctl", "list-units", "--all", "sandbox-fcgi*"))


def fetch(path, job=None):
    request = urllib.request.Request(
        f"http://127.0.0.1:8080{path}", json.dumps(job).encode() if job else
        None, {"Content-Type": "application/json"} if job else {})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read()


def layers():
    return set(json.loads(fetch("/status"))["isolation"]["layers"])


def expected_layers():
    """With the cgroup, where the machine has what systemd can delegate."""
    here = pathlib.Path("/sys/fs/cgroup/cgroup.controllers")
    has = here.exists() and {"memory", "pids"} <= set(here.read_text().split())
    return {"user", "root", "pid", "network", "ipc", "limits", "descriptors",
            "capabilities", "dumpable", "seccomp"} | (
                {"cgroup"} if has else set())


def is_warm():
    try:
        return fetch("/healthz")
    except urllib.error.HTTPError:
        return None


def run_code(code):
    wait_for(is_warm, 120, "a warm child")
    return json.loads(fetch("/run", {"code": code}))


def apt(*words):
    run("apt-get", "-qq", "-y", "--no-install-recommends", *words)


@pytest.fixture(scope="module")
def installed():
    """A machine with the package, from before which nothing has changed."""
    deb = build_deb()
    before = machine()
    apt("install", str(deb))
    ENABLED.symlink_to("../sites-available/sandbox-fcgi")
    run("systemctl", "restart", "nginx")
    yield before
    ENABLED.unlink(missing_ok=True)
    run("systemctl", "restart", "nginx")
    apt("purge", "sandbox-fcgi")
    assert machine() == before


def test_it_serves_when_it_is_installed(installed):
    assert show("ActiveState") == "active" and show("Result") == "success"
    assert show("StatusText").startswith("Serving with ")
    assert b"<html" in fetch("/")
    reply = run_code("plt.plot([1, 2])\nprint(6 * 7)")
    assert reply["output"] == "42\n" and len(reply["figures"]) == 1


def test_it_has_no_power(installed):
    pid = int(show("MainPID"))
    status = dict(line.split(":\t", 1) for line in pathlib.Path(
        f"/proc/{pid}/status").read_text().splitlines())
    account = pwd.getpwnam("sandbox-fcgi")
    assert set(status["Uid"].split()) == {str(account.pw_uid)}
    assert {int(status[name], 16) for name in status
            if name.startswith("Cap")} == {0}
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"


def test_every_layer_is_in_force(installed):
    assert expected_layers() <= layers()
    # A /proc with its own processes, on which nothing is covered.
    assert run_code("import os\nprint(os.path.exists('/proc/self/maps'))"
                    )["output"] == "True\n"


def test_a_killed_master_is_replaced(installed):
    for number in (signal.SIGKILL, signal.SIGSTOP):  # the watchdog's
        pid = int(show("MainPID"))
        os.kill(pid, number)
        wait_for(lambda: show("MainPID") not in ("0", str(pid)) and
                 show("ActiveState") == "active", 300, "a new master")
        assert run_code("print(1)")["output"] == "1\n"
        assert expected_layers() <= layers()


def test_the_socket_starts_it(installed):
    run("systemctl", "stop", UNIT)
    assert show("ActiveState") == "inactive" and show("Result") == "success"
    assert run_code("print(2)")["output"] == "2\n"
    assert show("ActiveState") == "active"


def test_a_reload_renews_the_zygote_alone(installed):
    pid = show("MainPID")
    old = keepers()
    run("systemctl", "reload", UNIT)
    assert show("ActiveState") == "active"  # not "reloading" any more
    wait_for(lambda: keepers() and not keepers() & old, 120,
             "another zygote")
    assert show("MainPID") == pid
    assert run_code("print(3)")["output"] == "3\n"


def processes(name):
    return [int(entry) for entry in os.listdir("/proc")
            if entry.isdigit() and title(entry) == f"sandbox-child: {name}"]


def keepers():
    """Each zygote has one."""
    return set(processes("keeper"))


@pytest.fixture
def run_ids(installed):
    """As the README has it."""
    drop_in = re.search(r"`run_ids` needs .*?\n\n(.*?)\n\n",
                        (TOP / "README.md").read_text(), re.DOTALL)[1]
    before = CONFIG.read_text()
    CONFIG.write_text(f"{before}user = sandbox-fcgi\nrun_ids = 1000000000\n")
    DROP_IN.parent.mkdir()
    DROP_IN.write_text(textwrap.dedent(drop_in))
    run("systemctl", "daemon-reload")
    yield
    CONFIG.write_text(before)
    DROP_IN.unlink()
    DROP_IN.parent.rmdir()
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", UNIT)


def test_runs_can_have_accounts_of_their_own(run_ids):
    for renew in "restart", "reload", "restart":
        run("systemctl", renew, UNIT)
        assert run_code("print(5)")["output"] == "5\n"
        assert expected_layers() <= layers()
        ready = wait_for(lambda: processes("ready"), what="waiting children")
        accounts = {int(re.search(r"Uid:\t(\d+)", pathlib.Path(
            f"/proc/{pid}/status").read_text())[1]) for pid in ready}
        assert len(accounts) == len(ready) and min(accounts) >= 10 ** 9


def test_fonts_that_come_are_listed(installed):
    """What a trigger does, when the machine's packages change."""
    place = pathlib.Path("/usr/libexec/sandbox-fcgi/matplotlib")
    font_list, = place.glob("fontlist-*.json")
    before = font_list.stat()
    run("dpkg-trigger", "--by-package=sandbox-fcgi", "/usr/share/fonts")
    run("dpkg", "--configure", "--pending")
    after, = place.glob("fontlist-*.json")
    assert after.stat().st_ino != before.st_ino
    assert run_code("print(4)")["output"] == "4\n"

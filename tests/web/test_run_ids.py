"""run_ids: outside, each run has a user and group of its own. Root alone can
give them; nothing else of a run may change for it."""

import os
import subprocess
import threading

import pytest
from generations import Configured, end, slow_runs

from service import BUILD, files_of, wait_for

FIRST = 1_900_000_000

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can "
                                "give ids away")


@pytest.fixture(scope="module")
def service():
    with Configured(run_ids=FIRST, max_runs=3, workers=6, ready=2) as service:
        yield service


def ids(pid):
    with open(f"/proc/{pid}/status") as status:
        text = status.read()
    return [set(line.split()[1:]) for line in text.splitlines()
            if line.startswith(("Uid:", "Gid:"))]


def test_each_run_has_its_own(service):
    threads = [threading.Thread(target=service.run, args=[
        "import time; time.sleep(3); print(1)"]) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(service.pids("run")) == 3, what="three runs")
    found = sorted(map(str, (ids(pid) for pid in service.pids("run"))))
    for thread in threads:
        thread.join()
    assert found == [str([{str(FIRST + slot)}] * 2) for slot in range(3)]


def test_inside_it_is_the_same_as_ever(service):
    reply = service.run("import os; print(os.getuid(), os.geteuid(), "
                        "os.getgid(), os.getgroups(), os.environ['HOME'])")
    assert reply["output"] == "1000 1000 1000 [] /tmp\n"


def test_files_go_in_and_come_out(service):
    reply = service.run("""
open('in.txt', 'a').write(' and more')
open('d/out.txt', 'w').write(open('d/in.txt').read())
""", files=[{"name": name, "data": "YWJj"} for name in ("in.txt", "d/in.txt")])
    assert files_of(reply) == {"in.txt": b"abc and more", "d/out.txt": b"abc"}
    assert reply["notes"] == []


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), 9)\n"
                                 "import ctypes; ctypes.string_at(0)"])
def test_what_a_program_keeps_for_itself_comes_out(service, end):
    reply = service.run("""
import os, tempfile
handle, name = tempfile.mkstemp(dir='.')
os.write(handle, b'made'), os.rename(name, 'made.txt')
os.mkdir('private', 0o700)
open('private/deep.txt', 'w').write('deep')
open('none.txt', 'w').write('none')
for name in 'none.txt', 'private': os.chmod(name, 0)
""" + end)
    assert files_of(reply) == {"made.txt": b"made", "none.txt": b"none",
                               "private/deep.txt": b"deep"}
    assert reply["notes"] == []


def test_limits_are_watched_and_ended(service):
    many = """
import os, time
for _ in range(9):
    if os.fork() == 0:
        held = bytearray(b'x') * (200 << 20)
        time.sleep(9)
time.sleep(9)
"""
    assert service.run(many)["error"]["kind"] == "memory"
    reply = service.run("while True: pass", timeout=0.5)
    assert reply["error"]["kind"] == "timeout"


def test_no_zygotes_run_has_that_of_another_ones(service):
    """Nor where a reload changes how many there may be, and from where."""
    with slow_runs(service, 2) as old:
        service.configure(run_ids=FIRST - 16384, max_runs=6, workers=8,
                          ready=2)
        service.reload()
        with slow_runs(service, 4) as fresh:
            found = [ids(pid) for pid in service.pids("run")]
            end(service, old + fresh)
    assert "run_ids: a change takes a restart" in service.own_log()
    assert len(found) == 6 and all(uids == gids for uids, gids in found)
    of_all = set.union(*(uids for uids, _ in found))
    assert len(of_all) == 6
    assert of_all <= set(map(str, range(FIRST, FIRST + 65536)))


def test_one_that_an_account_has_is_refused():
    ended = subprocess.run(
        [BUILD / "sandbox-fcgi", "--listen", "127.0.0.1:1", "--run_ids", "30",
         "--max_runs", "8"], capture_output=True, text=True)
    assert ended.returncode == 100
    # Debian has 33 for www-data.
    assert "of the 65536 from 30 on, belongs to an account" in ended.stderr


def test_who_is_not_root_cannot_give_them():
    """The configuration may be the same; runs have the service's account."""
    ended = subprocess.run(
        ["setpriv", "--reuid", "www-data", "--regid", "www-data",
         "--clear-groups", BUILD / "sandbox-fcgi", "--run_ids", str(FIRST),
         "--stdio"], input='{"code": "print(1)"}', capture_output=True,
        text=True)
    assert '"output":"1\\n"' in ended.stdout, ended

"""What dies, is killed or goes away: what depended on it is answered, what is
needed comes back, and nothing stays."""

import base64
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from service import (BUILD, Service, files_of, processes_below, title,
                     wait_for)

PLACES = 8
#: Its sleep is a process that shows outside when the program has begun.
LONG = ("import subprocess\nprint('begun', flush=True)\n"
        "subprocess.run(['sleep', '60'])")
SHORT = LONG.replace("60", "0.7") + "\nprint('end')"


@pytest.fixture(scope="module")
def shared():
    with Service(queue_wait="20s", max_runs=PLACES, ready=3) as service:
        yield service


@pytest.fixture
def faulty(shared):
    """A service that may be hurt, and is whole again after each test."""
    count = len(shared.pids("worker"))
    yield shared
    wait_for(lambda: len(shared.pids("worker")) == count, 10, "all workers")
    wait_for(lambda: not shared.pids("run"), 10, "the end of all runs")
    shared.wait_until_warm()
    assert shared.run("print(1)")["output"] == "1\n"


@contextmanager
def posts(service, count, code):
    """Post the same program so many times at once; gives the futures."""
    with ThreadPoolExecutor(max(count, 1)) as pool:
        yield [pool.submit(service.post, {"code": code})
               for _ in range(count)]


def running(service, count=1):
    """Wait until so many programs have begun; give their process ids."""
    def sleeping():
        return [pid for pid in processes_below(service.responder.pid)
                if title(pid).startswith("sleep ")]
    wait_for(lambda: len(sleeping()) >= count, 30, "a run")
    return service.pids("run")


def assert_lost_or_ok(answer, output):
    """A run of ours that was lost, or one that came through."""
    assert answer.status == 200, (answer.status, answer.body[:300])
    error = answer.json["error"]
    if error is None:
        assert answer.json["output"] == output
        return 0
    assert error["kind"] == "crash"
    assert "not the program's fault" in error["message"]
    assert output.startswith(answer.json["output"])
    return 1


# The zygote

def test_a_zygote_killed_under_load_leaves_no_request_unanswered(faulty):
    old = faulty.pids("zygote")
    with posts(faulty, 12, SHORT) as replies:
        running(faulty, 2)
        os.kill(old[0], signal.SIGKILL)
    lost = [assert_lost_or_ok(reply.result(), "begun\nend\n")
            for reply in replies]
    assert 1 <= sum(lost) <= PLACES + 1  # those that waited took the new one's
    wait_for(lambda: faulty.pids("zygote") not in (old, []))


def test_a_run_is_lost_with_the_keeper_and_the_next_waits(faulty):
    old = faulty.pids("zygote")
    code = "open('a', 'w').write('data')\n" + LONG
    with posts(faulty, 1, code) as [reply]:
        running(faulty)
        os.kill(faulty.pids("keeper")[0], signal.SIGKILL)
    assert assert_lost_or_ok(reply.result(), "begun\n") == 1
    assert reply.result().json["output"] == "begun\n"
    assert files_of(reply.result().json) == {"a": b"data"}
    wait_for(lambda: faulty.pids("zygote") not in (old, []))
    with posts(faulty, 5, "print('through')") as replies:
        pass
    assert [assert_lost_or_ok(reply.result(), "through\n")
            for reply in replies] == [0] * 5


# Workers and children

def test_no_run_is_lost_under_load(faulty):
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(faulty.run, ["print(1)"] * 300))
    assert {reply["output"] for reply in replies} == {"1\n"}
    assert [reply["error"] for reply in replies if reply["error"]] == []


def worker_of_a_run(service):
    def busy():
        for pid in service.pids("worker"):
            for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                try:
                    if "pidfd" in os.readlink(fd):
                        return pid
                except OSError:
                    pass
    return wait_for(busy, what="a busy worker")


def test_a_worker_killed_in_mid_run_takes_its_run_along(faulty):
    with posts(faulty, 1, LONG) as [reply]:
        run = running(faulty)[0]
        worker = worker_of_a_run(faulty)
        os.kill(worker, signal.SIGKILL)
    answer = reply.result()
    assert answer.status == 502 and answer.json["status"] == 502
    assert answer.headers["Content-Type"] == "application/problem+json"
    wait_for(lambda: not title(run), 2, "the end of the run")
    assert faulty.run("print('next')")["output"] == "next\n"
    assert worker not in faulty.pids("worker")


def test_a_child_killed_from_outside_is_a_crash(faulty):
    with posts(faulty, 1, LONG) as [reply]:
        run = running(faulty)[0]
        os.kill(run, signal.SIGKILL)
    answer = reply.result().json
    assert answer["error"]["kind"] == "crash" and answer["exit_code"] is None
    assert answer["error"]["type"] == "SIGKILL"
    assert answer["output"] == "begun\n"


def test_a_ready_child_killed_from_outside_costs_no_request(faulty):
    old = faulty.pids("ready")
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not set(old) & set(processes_below(faulty.responder.pid)))
    for _ in range(6):
        assert faulty.run("print('mine')")["output"] == "mine\n"


def test_a_run_may_end_before_its_zygote_knows_that_it_is_taken(faulty):
    def ended():
        stats = (pathlib.Path(f"/proc/{pid}/stat").read_text()
                 for pid in ready)
        return any(stat.rpartition(")")[2].split()[0] == "Z"
                   for stat in stats)
    ready = wait_for(lambda: faulty.pids("ready"), what="a child")
    [zygote] = faulty.pids("zygote")
    with posts(faulty, 1, "print('mine')") as [reply]:
        os.kill(zygote, signal.SIGSTOP)
        try:
            wait_for(ended, what="the end of the run")
        finally:
            os.kill(zygote, signal.SIGCONT)
    assert reply.result().json["output"] == "mine\n"
    assert reply.result().json["error"] is None


def test_a_worker_that_dies_young_is_replaced_later_and_later(start):
    service = start(workers=2, max_runs=1, zygote="off")
    seen, began = set(service.pids("worker")), time.monotonic()
    wait_for(lambda: time.monotonic() - began > 1, what="an age of a second")
    for _ in range(5):
        for pid in service.pids("worker"):
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: set(service.pids("worker")) - seen, 5, "a new one")
        wait_for(lambda: len(service.pids("worker")) == 2, 5, "both")
        seen |= set(service.pids("worker"))
    # At once, then after 0.1, 0.2, 0.4 and 0.8 s.
    assert 1.4 < time.monotonic() - began - 1 < 6
    assert service.get("/healthz").status == 200


# A zygote that cannot start

@contextmanager
def cold_service(child=None, **options):
    """A service that never gets warm; child: text of a program to start in
    place of sandbox-child, beside which it may leave files."""
    service = Service(queue_wait="200ms", **options)
    try:
        if child is not None:
            service.directory.chmod(0o777)
            program = service.directory / "child"
            program.write_text(child)
            program.chmod(0o755)
            service.options["child"] = program
        service.start_responder()
        service.start_nginx()
        yield service
    finally:
        service.end()


def reason(service):
    """Why it is not warm, once it says so."""
    try:
        answer = service.get("/healthz")
    except OSError:
        return ""
    assert answer.status == 503
    return answer.json["reason"] if "starting" not in answer.body.decode() \
        else ""


def test_a_zygote_that_cannot_start_is_told_of_and_tried_later():
    child = ("#!/bin/sh\necho x >>${0%/*}/starts\n"
             "echo 'the moon is full' >&2\nexit 3\n")
    began = time.monotonic()
    with cold_service(child) as service:
        assert "the moon is full" in wait_for(lambda: reason(service))
        answer = service.post({"code": "print(1)"})
        assert answer.status == 503 and answer.headers["Retry-After"]
        assert "the moon is full" in answer.json["detail"]
        wait_for(lambda: time.monotonic() - began > 2, what="two seconds")
        starts = (service.directory / "starts").read_text().split()
        assert 3 <= len(starts) <= 6  # at 0, 0.1, 0.3, 0.7 and 1.5 s


def test_a_preload_that_is_not_there_is_told_of():
    with cold_service(preload="no_such_module") as service:
        why = wait_for(lambda: reason(service), 20)
        detail = service.post({"code": "1"}).json["detail"]
    assert "no_such_module" in why and "no_such_module" in detail


def test_a_child_that_is_no_program_is_told_of():
    with cold_service("\x7fELF rubbish") as service:
        assert "sandbox-child" in wait_for(lambda: reason(service))
        assert service.post({"code": "1"}).status == 503


# The client

def test_a_client_that_goes_away_ends_its_run(faulty):
    """lim-10: and so gives its place to another."""
    body = json.dumps({"code": LONG}).encode()
    with socket.create_connection(("127.0.0.1", faulty.port)) as client:
        client.sendall(b"POST /run HTTP/1.1\r\nHost: here\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
        runs = running(faulty)
        assert runs
    wait_for(lambda: not any(title(run) for run in runs), 1.5,
             "the end of the run")
    wait_for(lambda: not faulty.pids("run"))


def test_a_client_that_goes_away_while_it_waits_is_forgotten(faulty):
    with ThreadPoolExecutor(PLACES + 3) as pool:
        for _ in range(PLACES + 3):
            pool.submit(pytest.raises, OSError, faulty.post, {"code": LONG},
                        timeout=2)
        running(faulty, PLACES)
    wait_for(lambda: not faulty.pids("run"), 3, "the end of all runs")


# The whole

@pytest.mark.parametrize("number, busy, zygote", [
    (signal.SIGTERM, False, "on"), (signal.SIGINT, True, "on"),
    (signal.SIGINT, False, "off"), (signal.SIGTERM, True, "off"),
], ids=["TERM-idle", "INT-busy", "INT-idle-cold", "TERM-busy-cold"])
def test_a_signal_ends_all_and_leaves_nothing(start, number, busy, zygote):
    """http-08: while idle in accept, and while a run is active."""
    service = start(zygote=zygote)
    below = processes_below(service.responder.pid)
    with posts(service, 2 if busy else 0, LONG) as replies:
        if busy:
            below += running(service, 2)
        began = time.monotonic()
        service.responder.send_signal(number)
        assert service.responder.wait(5) == 0
        assert time.monotonic() - began < 3
    assert [pid for pid in below if title(pid)] == []
    assert not service.socket.exists()
    assert left_in(service.directory) <= {"log", "libexec"}
    assert all(reply.result().status in (200, 502) for reply in replies)


def left_in(directory):
    """The names below it that are not nginx's own."""
    nginxs = {"html", "nginx.conf", "sandbox-fcgi.conf", "listen.conf",
              "nginx.pid", "body", "proxy", "fastcgi", "uwsgi", "scgi"}
    return {entry.name for entry in directory.iterdir()} - nginxs


def test_a_killed_master_takes_all_along(start):
    service = start()
    with posts(service, 2, LONG) as replies:
        running(service, 2)
        below = processes_below(service.responder.pid)
        service.responder.kill()
        wait_for(lambda: not any(title(pid) for pid in below), 3,
                 "the end of all")
    assert {reply.result().status for reply in replies} == {502}
    service.start_responder()  # over the socket that was left
    wait_for(lambda: service.get("/healthz").status in (200, 503))


def test_two_instances_know_nothing_of_each_other(faulty, start):
    other = start(workers=2, max_runs=1, zygote="off")
    with posts(faulty, 1, SHORT) as [reply]:
        running(faulty)
        assert other.pids("run") == []
        other.responder.send_signal(signal.SIGTERM)
        assert other.responder.wait(5) == 0
    assert assert_lost_or_ok(reply.result(), "begun\nend\n") == 0


def test_two_instances_do_not_share_a_socket(faulty):
    other = Service()
    other.socket = faulty.socket
    other.start_responder()
    assert other.responder.wait(5) == 111
    assert "in use" in other.log.read_text()
    other.socket = other.directory / "none"
    other.end()
    assert faulty.run("print(1)")["output"] == "1\n"


# What is used up

def test_runs_leave_nothing_on_the_disk(faulty):
    """lim-11: temporary files, also those of a run that was killed."""
    code = pathlib.Path(__file__).parent.parent.joinpath(
        "cases", "cases.jsonl").read_text()
    case = next(case for case in map(json.loads, code.splitlines())
                if case["id"] == "lim-11")["request"]["code"]
    before = left_in(faulty.directory)
    for _ in range(20):
        assert faulty.run(case)["output"] == "kept\n"
    reply = faulty.run(case + "while True: pass", timeout=0.5)
    assert reply["error"]["kind"] == "timeout"
    assert left_in(faulty.directory) == before
    assert mounts_in(faulty.directory) == 0
    for directory in ("/tmp", "/var/tmp", "/dev/shm"):
        names = os.listdir(directory)
        assert "stray.bin" not in names and "local.bin" not in names
    assert faulty.run("import os\nprint(sorted(os.listdir('/tmp')))\n"
                      "print(os.listdir())")["output"] == "['main.py']\n[]\n"


def mounts_in(directory):
    """Those of other tests come and go."""
    return pathlib.Path("/proc/self/mounts").read_text().count(str(directory))


MIXED = [
    {"code": "print('x' * 100_000)"},
    {"code": "plt.plot([1])"},
    {"code": "open('a', 'wb').write(bytes(300_000))"},
    {"code": "1 / 0"},
    {"code": "import os\nos._exit(1)"},
    {"code": "import subprocess\nsubprocess.Popen(['sleep', '60'])"},
    {"code": "while True: pass", "timeout": 0.05},
    {"code": "len(context)", "context": {"a": "x" * 100_000}},
    {"code": "open('b').read()",
     "files": [{"name": "b", "data": base64.b64encode(b"y" * 9999).decode()}]},
    {"code": 1},
]


def mixed_runs(service, count):
    with ThreadPoolExecutor(3) as pool:
        for answer in pool.map(service.post, MIXED * (count // len(MIXED))):
            assert answer.status in (200, 400)


def usage(service):
    """Descriptors open, and resident pages, of each process that stays."""
    pids = service.pids("worker") + service.pids("zygote")
    fds = [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]
    pages = [int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
             for pid in pids]
    return fds, pages


def wait_for_rest(service):
    wait_for(lambda: not service.pids("run"), 10, "the end of all runs")
    wait_for(lambda: len(service.pids("ready")) == 2, 10, "ready children")


@pytest.mark.unsanitized("ASan keeps what is freed")
def test_nothing_grows_over_many_runs(start):
    service = start(workers=3, max_runs=2, ready=2)
    mixed_runs(service, 50)
    wait_for_rest(service)
    fds, pages = usage(service)
    mixed_runs(service, 200)
    wait_for_rest(service)
    wait_for(lambda: all(now <= then for now, then in
                         zip(usage(service)[0], fds)), 5, "as few descriptors")
    grown = [now - then for then, now in zip(pages, usage(service)[1])]
    assert max(grown) < 1024, f"{grown} pages more"


def test_a_service_that_was_given_little_runs_with_that():
    """sudo, for one, leaves no core size to raise."""
    def lower():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    ended = subprocess.run(
        [BUILD / "sandbox-fcgi", "--stdio"], preexec_fn=lower, text=True,
        input='{"code": "import resource\\nresource.getrlimit(7)"}',
        capture_output=True)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["result"] == "(200, 200)"

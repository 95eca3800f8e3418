"""The signals of a service, as php-fpm's users know them, and what it renews
by itself: no request is lost by any of it."""

import json
import os
import pathlib
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest
from bench import client
from fastcgi import Connection, job, request
from service import Service, processes_below, title, wait_for

#: A run that ends when it is told to.
SLOW = """
import signal, time
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
while not told:
    time.sleep(0.02)
print('end')
"""


class Configured(Service):
    """One whose options, but for `fixed` ones, are in a file."""

    def __init__(self, fixed=(), **options):
        super().__init__(**options)
        self.file = self.directory / "conf"
        self.options = {"config": self.file, "log": self.directory / "own",
                        **{key: options.pop(key) for key in fixed}}
        self.configure(**options)

    def configure(self, **options):
        self.file.write_text("[sandbox-fcgi]\n" + "".join(
            f"{key} = {value}\n" for key, value in options.items()))

    def own_log(self):
        return pathlib.Path(self.options["log"]).read_text()

    def reload(self, what="the new configuration has taken over", seconds=90):
        """SIGHUP, and wait until the log says so once more."""
        before = self.own_log().count(what)
        self.responder.send_signal(signal.SIGHUP)
        wait_for(lambda: self.own_log().count(what) > before, seconds, what)


@pytest.fixture
def configured():
    """configured(timeout="3s", ...) gives a Configured, ended afterwards."""
    services = []

    def start_one(**options):
        services.append(Configured(**options))
        services[-1].start()
        return services[-1]
    yield start_one
    for service in services:
        service.end()


@contextmanager
def load(service, clients=8, code="print(1)"):
    """Many clients that ask all the while; gives their answers, which are all
    there after it."""
    answers, is_over = [], threading.Event()
    body = json.dumps({"code": code}).encode()

    def ask():
        one = client.Client(service.port, body)
        while not is_over.is_set():
            answers.append(one.ask())
        one.close()
    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def statuses(answers):
    return Counter(answer.status for answer in answers)


def status(service):
    return service.get("/status").json


def settled(service, workers):
    """Wait until there is one zygote and that many workers, and no leavers."""
    wait_for(lambda: len(service.pids("keeper")) == 1 and
             len(service.pids("worker")) == workers, 15, "one generation")


@contextmanager
def slow_runs(service, count=1):
    """As many runs of SLOW that have begun; gives their futures."""
    assert service.reply_schema  # which cannot be had of one that ends
    with ThreadPoolExecutor(count) as pool:
        before = len(service.pids("run"))
        futures = [pool.submit(service.run, SLOW) for _ in range(count)]
        wait_for(lambda: len(service.pids("run")) == before + count, 30,
                 "runs")
        yield futures
        end(service, futures)


def end(service, futures):
    """Tell all runs to end; and see that these have ended well."""
    def have_ended():
        for pid in service.pids("run"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)
        return all(future.done() for future in futures)
    wait_for(have_ended, 20, "the end of the runs")
    assert {future.result()["output"] for future in futures} == {"end\n"}


# QUIT

def test_quit_answers_what_was_accepted_and_then_ends(start):
    service = start()
    below = processes_below(service.responder.pid)
    with slow_runs(service) as runs:
        with Connection(service.socket) as half:
            records = request(*job("print('late')"))
            half.send(*records[:2])  # accepted, and not all there yet
            time.sleep(0.2)
            service.responder.send_signal(signal.SIGQUIT)
            wait_for(lambda: not service.socket.exists(), 2, "its end")
            with pytest.raises(OSError):
                Connection(service.socket)
            assert service.get("/healthz").status == 502
            half.send(*records[2:])
            assert half.reply().json["output"] == "late\n"
        assert service.responder.poll() is None
        end(service, runs)
    assert service.responder.wait(5) == 0
    assert [pid for pid in below if title(pid)] == []


def test_quit_of_an_idle_service_ends_it_at_once(start):
    service = start()
    began = time.monotonic()
    service.responder.send_signal(signal.SIGQUIT)
    assert service.responder.wait(5) == 0
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM])
def test_after_quit_a_second_signal_ends_it_at_once(start, number):
    service = start()
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(service.post, {"code": SLOW})
        wait_for(lambda: service.pids("run"), 10, "a run")
        service.responder.send_signal(signal.SIGQUIT)
        wait_for(lambda: "SIGQUIT" in service.log.read_text())
        assert service.responder.poll() is None
        service.responder.send_signal(number)
        assert service.responder.wait(5) == 0
        assert run.result().status in (200, 502)  # a crash, or lost


def test_while_one_quits_another_takes_its_address(start):
    service = start()
    with slow_runs(service) as runs:
        old = service.responder
        below = service.pids("run")
        old.send_signal(signal.SIGQUIT)
        wait_for(lambda: not service.socket.exists(), 2, "its end")
        service.start_responder()
        service.wait_until_warm()
        assert service.run("print('new')")["output"] == "new\n"
        assert old.poll() is None
        for pid in below:
            os.kill(pid, signal.SIGUSR1)
        assert runs[0].result(10)["output"] == "end\n"
        assert old.wait(5) == 0
    assert service.run("print('still')")["output"] == "still\n"


# HUP

def test_no_request_is_lost_over_several_reloads(configured):
    service = configured(workers=10, max_runs=4, ready=2, timeout="20s")
    zygotes = set(service.pids("keeper"))
    with load(service, 16) as answers:
        for turn in range(4):
            service.configure(workers=10, max_runs=4, ready=2,
                              timeout=f"{21 + turn}s")
            service.reload()
            zygotes |= set(service.pids("keeper"))
    assert statuses(answers).keys() == {200} and len(answers) > 100
    assert len(zygotes) == 5
    settled(service, 10)
    assert service.get("/about").json["limits"]["timeout"] == 24
    assert status(service)["restarts"] == {"zygote": 0, "worker": 0}


def test_a_run_goes_on_with_its_old_zygote_while_new_ones_do_not(configured):
    service = configured(workers=6, max_runs=2, ready=1, timeout="30s")
    old = service.pids("keeper")
    with slow_runs(service) as runs:
        service.configure(workers=8, max_runs=3, ready=1, timeout="2s")
        service.reload()
        assert len(service.pids("keeper")) == 2
        assert service.run("while True: pass")["error"]["kind"] == "timeout"
        assert status(service)["workers"] == {"idle": 7, "busy": 2}
        end(service, runs)
    settled(service, 8)
    assert service.pids("keeper") != old
    told = status(service)
    assert sum(told["workers"].values()) == 8 and told["runs"]["max"] == 3
    assert told["totals"]["timeout"] == 1 and told["totals"]["ok"] == 1


def test_a_configuration_with_an_error_is_refused(configured):
    service = configured(timeout="7s")
    workers, zygote = service.pids("worker"), service.pids("keeper")
    for text, says in [
            ("timeout = long", 'timeout: "long" is not a time'),
            ("work_sise = 1M", "the nearest is work_size"),
            ("max_code = 20M", "max_code (20971520) must not be more"),
            ("fmp_key_file = /nowhere", "/nowhere")]:
        service.file.write_text(text + "\n")
        service.reload("all stays as it was")
        assert says in service.own_log().splitlines()[-2] + \
            service.own_log().splitlines()[-1]
    service.file.unlink()
    service.reload("all stays as it was")
    assert service.pids("worker") == workers
    assert service.pids("keeper") == zygote
    assert service.get("/about").json["limits"]["timeout"] == 7
    assert service.run("print(1)")["output"] == "1\n"


def test_one_whose_zygote_does_not_start_is_refused_as_well(configured):
    service = configured(timeout="7s")
    zygote = service.pids("keeper")
    service.configure(preload="no_such_module", timeout="8s")
    with load(service, 4) as answers:
        service.reload("all stays as it was")
    assert "no_such_module" in service.own_log()
    assert statuses(answers).keys() == {200}
    assert service.pids("keeper") == zygote
    assert service.get("/about").json["limits"]["timeout"] == 7
    told = status(service)
    assert told["reason"] is None and told["restarts"]["zygote"] == 0
    service.configure(timeout="9s")
    service.reload()
    assert service.get("/about").json["limits"]["timeout"] == 9


def test_the_last_of_many_reloads_counts(configured):
    """Also during the start, and while an earlier one is under way."""
    service = configured(timeout="5s")
    service.responder.send_signal(signal.SIGTERM)
    assert service.responder.wait(5) == 0
    service.start_responder()
    for timeout in range(8, 16):
        service.configure(timeout=f"{timeout}s", workers=10, max_runs=4)
        service.responder.send_signal(signal.SIGHUP)
        time.sleep(0.15)

    def is_in_force():
        answer = service.get("/about")
        return answer.status == 200 and \
            answer.json["limits"]["timeout"] == 15
    wait_for(is_in_force, 90, "the last configuration")
    settled(service, 10)
    assert service.run("print(1)")["output"] == "1\n"


def test_a_reload_while_the_zygote_is_dying(configured):
    service = configured(timeout="5s")
    for name in ("zygote", "keeper"):
        service.configure(timeout="6s")
        os.kill(service.pids(name)[0], signal.SIGKILL)
        service.reload()
        assert service.run("print(1)")["output"] == "1\n"
    wait_for(lambda: len(service.pids("keeper")) == 1, 10, "one zygote")


def test_what_takes_a_restart_stays_and_is_told_of(configured):
    service = configured(timeout="5s", fixed=["timeout"])
    service.configure(user="nobody", cgroup="off", listen_mode="0600",
                      timeout="9s")
    service.reload()
    log = service.own_log()
    assert 'user: a change takes a restart; it stays "www-data"' in log
    assert "listen_mode: a change takes a restart; it stays 0660" in log
    assert 'cgroup: a change takes a restart; it stays "auto"' in log
    # What was given as an option outranks the file, as at the start.
    assert service.get("/about").json["limits"]["timeout"] == 5


def test_many_reloads_in_front_of_long_runs_wait_for_their_end(configured):
    """At most two generations see their runs end beside those that serve and
    warm up."""
    service = configured(workers=8, max_runs=2, ready=1)
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(slow_runs(service))
            service.reload()
        runs = stack.enter_context(slow_runs(service))
        service.configure(workers=7, max_runs=2, ready=1)
        service.responder.send_signal(signal.SIGHUP)
        wait_for(lambda: len(service.pids("keeper")) == 4, 30, "a fourth")
        wait_for(lambda: status(service)["workers"]["busy"] == 4, 60,
                 "workers of all that are retired")
        for _ in range(2):
            service.reload("waits for the runs of earlier ones")
        assert len(service.pids("keeper")) == 4
        end(service, runs)
    settled(service, 7)


# USR1

def test_usr1_opens_the_log_again(configured):
    service = configured(workers=6, max_runs=2)
    own = service.directory / "own"
    service.run("print(1)")
    with load(service, 4) as answers:
        own.rename(service.directory / "own.1")
        old = service.pids("worker")
        service.responder.send_signal(signal.SIGUSR1)
        wait_for(own.exists, 5, "the new log")
        wait_for(lambda: not set(old) & set(service.pids("worker")), 5,
                 "workers that have it")
    assert statuses(answers).keys() == {200}
    moved = (service.directory / "own.1").read_text()
    service.run("1 / 0")
    assert (service.directory / "own.1").read_text() == moved
    assert "kind=exception " in own.read_text()
    settled(service, 6)
    assert service.pids("zygote")


def test_a_log_that_cannot_be_opened_again_stays(configured):
    service = configured()
    service.options["log"] = service.directory / "own.1"
    (service.directory / "own").rename(service.directory / "own.1")
    (service.directory / "own").mkdir()
    service.responder.send_signal(signal.SIGUSR1)
    wait_for(lambda: "cannot open" in service.own_log())
    service.run("1 / 0")
    assert "kind=exception " in service.own_log()


# Renewal

LAYOUT = ("print(open('/proc/self/maps').readline().split('-')[0], "
          "id(object), hash('x'))")


def layout(service):
    return tuple(service.run(LAYOUT)["output"].split())


def renewed(service, times):
    """Wait until the log has told of so many renewals."""
    wait_for(lambda: service.log.read_text().count(
        "a fresh zygote has taken over") >= times, 90, "a renewal")


def test_the_zygote_is_renewed_after_so_many_forks(start):
    service = start(zygote_runs=40, workers=10, max_runs=4, ready=2)
    seen = {layout(service)}
    assert seen == {layout(service)}
    with load(service, 6) as answers:
        for turn in range(3):
            renewed(service, turn + 1)
    assert statuses(answers).keys() == {200}
    # A renewal is three seconds of work on the same processors.
    assert max(answer.seconds for answer in answers) < 8
    settled(service, 10)
    now = layout(service)
    assert now not in seen and now[0] != next(iter(seen))[0]
    told = status(service)
    assert told["restarts"] == {"zygote": 0, "worker": 0}
    assert told["totals"]["ok"] >= len(answers)


def test_hash_seeds_and_addresses_differ_after_a_renewal(start):
    service = start(zygote_age="4s")
    first = layout(service)
    renewed(service, 1)
    second = wait_for(lambda: (now := layout(service)) != first and now, 60)
    assert all(old != new for old, new in zip(first, second))


def test_a_renewal_that_fails_changes_nothing(start):
    """The program of the child is gone: what runs, runs on."""
    service = start(zygote_age="1s")
    child = service.stage()
    child.rename(child.with_name("away"))
    wait_for(lambda: "all stays as it was" in service.log.read_text(), 60)
    wait_for(lambda: len(service.pids("keeper")) == 1, 20, "one zygote")
    zygote = service.pids("keeper")
    with load(service, 4) as answers:
        time.sleep(1)
    assert statuses(answers).keys() == {200}
    assert service.pids("keeper") == zygote
    assert status(service)["restarts"]["zygote"] == 0


def test_workers_are_renewed_after_so_many_requests(start):
    service = start(worker_requests=3, workers=6, max_runs=2)
    old = set(service.pids("worker"))
    with load(service, 8) as answers:
        time.sleep(3)
    assert statuses(answers).keys() == {200} and len(answers) > 60
    wait_for(lambda: len(service.pids("worker")) == 6, 5, "all workers")
    assert not old & set(service.pids("worker"))
    assert status(service)["restarts"] == {"zygote": 0, "worker": 0}


def descriptors(service):
    return len(os.listdir(f"/proc/{service.responder.pid}/fd"))


def test_nothing_is_left_of_many_renewals(start):
    service = start(zygote_runs=10, worker_requests=50, workers=6, max_runs=2,
                    ready=2)
    renewed(service, 0)
    with load(service, 4):
        renewed(service, 2)
    settled(service, 6)
    wait_for(lambda: status(service)["runs"]["ready"] == 2)
    before = descriptors(service), len(processes_below(service.responder.pid))
    with load(service, 4):
        renewed(service, 7)

    def is_as_before():
        return (descriptors(service),
                len(processes_below(service.responder.pid))) <= before
    wait_for(is_as_before, 20, "as little as before")

"""The signals of a service, as php-fpm's users know them, and what it renews
by itself: no request is lost by any of it."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastcgi import Connection, job, request
from generations import (SLOW, end, load, settled, slow_runs, status,
                         statuses)
from service import Service, processes_below, title, wait_for

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


@pytest.mark.parametrize("number, zygote", [
    (signal.SIGQUIT, "on"), (signal.SIGTERM, "off")])
def test_after_quit_a_second_signal_ends_it_at_once(start, number, zygote):
    service = start(zygote=zygote)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(service.post, {"code": SLOW})
        wait_for(lambda: service.pids("run"), 10, "a run")
        service.responder.send_signal(signal.SIGQUIT)
        wait_for(lambda: "SIGQUIT" in service.log.read_text())
        assert service.responder.poll() is None
        service.responder.send_signal(number)
        assert service.responder.wait(5) == 0
        assert run.result().status in (200, 502)  # a crash, or lost


def test_while_one_quits_another_takes_its_address(start_cold):
    service = start_cold()
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
    service = configured(zygote="off")
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


@pytest.fixture(scope="module")
def renewing():
    """One that renews all that it can."""
    with Service(zygote_runs=40, worker_requests=50, workers=10, max_runs=4,
                 ready=2) as service:
        yield service


def wait_for_renewals(service, count):
    """Wait until the log tells of so many more."""
    def renewals():
        return service.log.read_text().count("a fresh zygote has taken over")
    wanted = renewals() + count
    wait_for(lambda: renewals() >= wanted, 90 * count, "renewals")


@pytest.mark.unsanitized("ASan's shadow comes first, and at one address")
def test_the_zygote_is_renewed_after_so_many_forks(renewing):
    first = layout(renewing)
    assert first == layout(renewing)
    with load(renewing, 6) as answers:
        wait_for_renewals(renewing, 2)
    assert statuses(answers).keys() == {200}
    # A renewal is three seconds of work on the same processors.
    assert max(answer.seconds for answer in answers) < 8
    settled(renewing, 10)
    assert all(old != new for old, new in zip(first, layout(renewing)))
    told = status(renewing)
    assert told["restarts"] == {"zygote": 0, "worker": 0}
    assert told["totals"]["ok"] >= len(answers)


def descriptors(service):
    return len(os.listdir(f"/proc/{service.responder.pid}/fd"))


def test_nothing_is_left_of_many_renewals(renewing):
    settled(renewing, 10)
    wait_for(lambda: status(renewing)["runs"]["ready"] == 2)
    before = descriptors(renewing), len(processes_below(renewing.responder.pid))
    with load(renewing, 4) as answers:
        wait_for_renewals(renewing, 3)
    assert statuses(answers).keys() == {200}

    def is_as_before():
        return descriptors(renewing) <= before[0] and \
            len(processes_below(renewing.responder.pid)) <= before[1]
    wait_for(is_as_before, 20, "as little as before")


def test_quit_of_an_idle_service_ends_it_at_once(renewing):
    """The last that has this one."""
    began = time.monotonic()
    renewing.responder.send_signal(signal.SIGQUIT)
    assert renewing.responder.wait(5) == 0
    assert time.monotonic() - began < 3


@pytest.mark.unsanitized("ASan's shadow comes first, and at one address")
def test_at_its_age_it_is_renewed_and_a_failure_changes_nothing(start):
    """The second time the program of the child is gone: what runs, runs on."""
    service = start(zygote_age="4s")
    first = layout(service)
    wait_for_renewals(service, 1)
    second = wait_for(lambda: (now := layout(service)) != first and now, 60)
    assert all(old != new for old, new in zip(first, second))
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

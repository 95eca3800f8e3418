"""A reload: no request is lost, and what is wrong is refused."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from generations import (Configured, end, load, settled, slow_runs, status,
                         statuses)
from service import wait_for


@pytest.fixture(scope="module")
def shared():
    with Configured(fixed=["max_figures"], max_figures=7, workers=10,
                    max_runs=4, ready=2) as service:
        yield service


@pytest.fixture
def service(shared):
    """One that can be reloaded, whatever its configuration is by now."""
    yield shared
    wait_for(lambda: len(shared.pids("keeper")) == 1, 30, "one generation")
    assert shared.run("print(1)")["output"] == "1\n"


def timeout(service):
    return service.get("/about").json["limits"]["timeout"]


def test_no_request_is_lost_over_several_reloads(service):
    zygotes = set(service.pids("keeper"))
    with load(service, 16) as answers:
        for turn in range(2):
            service.configure(workers=10, max_runs=4, ready=2,
                              timeout=f"{21 + turn}s")
            service.reload()
            zygotes |= set(service.pids("keeper"))
    assert statuses(answers).keys() == {200} and len(answers) > 100
    assert len(zygotes) == 3
    settled(service, 10)
    assert timeout(service) == 22
    assert status(service)["restarts"] == {"zygote": 0, "worker": 0}


def test_many_reloads_in_front_of_long_runs_wait_for_their_end(service):
    """At most two generations see their runs end beside those that serve and
    warm up."""
    service.configure(workers=10, max_runs=4, ready=2)  # with time to run
    service.reload()
    with ExitStack() as stack:
        for _ in range(3):
            runs = stack.enter_context(slow_runs(service))
            service.reload()
        wait_for(lambda: status(service)["workers"]["busy"] == 4)
        for seconds in 32, 33:
            service.configure(workers=7, max_runs=2, timeout=f"{seconds}s")
            service.reload("waits for the runs of earlier ones")
        assert len(service.pids("keeper")) == 4
        end(service, runs)
    wait_for(lambda: timeout(service) == 33, 60, "the last configuration")
    settled(service, 7)


def test_a_run_goes_on_with_its_old_zygote_while_new_ones_do_not(service):
    old, before = service.pids("keeper"), status(service)["totals"]
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
    assert told["totals"]["timeout"] == before["timeout"] + 1
    assert told["totals"]["ok"] == before["ok"] + 1


def test_runs_of_both_zygotes_count_for_max_runs(service):
    service.configure(workers=6, max_runs=1, ready=1, queue_wait="1s")
    service.reload()
    with slow_runs(service) as runs:
        service.reload()
        assert len(service.pids("keeper")) == 2
        answer = service.post({"code": "print('second')"})
        assert answer.status == 503
        assert answer.json["detail"].startswith("All 1 places for runs")
        assert status(service)["runs"]["running"] == 1
        end(service, runs)
        assert service.run("print('third')")["output"] == "third\n"


def test_a_place_is_free_again_when_its_worker_is_killed(service):
    service.configure(workers=4, max_runs=1, ready=1, queue_wait="10s")
    service.reload()
    settled(service, 4)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(3):
            lost = pool.submit(service.post, {"code": "while True: pass"})
            wait_for(lambda: service.pids("run"), what="the run")
            old = service.pids("worker")
            for pid in old:
                os.kill(pid, signal.SIGKILL)
            assert lost.result().status == 502
            wait_for(lambda: not set(old) & set(service.pids("worker")))
            assert service.run("print('next')")["output"] == "next\n"
    settled(service, 4)


def test_a_configuration_with_an_error_is_refused(service):
    workers, zygote = service.pids("worker"), service.pids("keeper")
    before = timeout(service)
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
    assert timeout(service) == before
    assert service.run("print(1)")["output"] == "1\n"


def test_one_whose_zygote_does_not_start_is_refused_as_well(service):
    zygote, before = service.pids("keeper"), timeout(service)
    service.configure(preload="no_such_module", timeout="8s")
    with load(service, 4) as answers:
        service.reload("all stays as it was")
    assert "no_such_module" in service.own_log()
    assert statuses(answers).keys() == {200}
    assert service.pids("keeper") == zygote
    assert timeout(service) == before
    told = status(service)
    assert told["reason"] is None and told["restarts"]["zygote"] == 0
    service.configure(timeout="9s")
    service.reload()
    assert timeout(service) == 9


def test_a_reload_while_the_zygote_is_dying(service):
    for name in ("zygote", "keeper"):
        service.configure(timeout="6s")
        os.kill(service.pids(name)[0], signal.SIGKILL)
        service.reload()
        assert service.run("print(1)")["output"] == "1\n"
    wait_for(lambda: len(service.pids("keeper")) == 1, 10, "one zygote")


def test_what_takes_a_restart_stays_and_is_told_of(service):
    service.configure(user="nobody", cgroup="off", listen_mode="0600",
                      max_figures=3)
    service.reload()
    log = service.own_log()
    assert 'user: a change takes a restart; it stays "www-data"' in log
    assert "listen_mode: a change takes a restart; it stays 0660" in log
    assert 'cgroup: a change takes a restart; it stays "auto"' in log
    # What was given as an option outranks the file, as at the start.
    assert service.get("/about").json["limits"]["max_figures"] == 7


def test_the_last_of_many_reloads_counts(service):
    """Also during the start, and while an earlier one is under way."""
    service.responder.send_signal(signal.SIGTERM)
    assert service.responder.wait(5) == 0
    service.configure(timeout="7s")
    service.start_responder()
    for seconds in range(8, 16):
        service.configure(timeout=f"{seconds}s", workers=10, max_runs=4)
        service.responder.send_signal(signal.SIGHUP)
        time.sleep(0.15)

    wait_for(lambda: timeout(service) == 15, 90, "the last configuration")
    settled(service, 10)
    assert service.run("print(1)")["output"] == "1\n"

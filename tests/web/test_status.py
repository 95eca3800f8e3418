"""/status: what the service says of itself, to the machine it runs on."""

import os
import signal
import threading

import pytest

from service import Service, wait_for

LAYERS = ["user", "root", "pid", "network", "ipc", "limits", "descriptors",
          "capabilities", "landlock", "dumpable", "seccomp"]


@pytest.fixture(scope="module")
def service():
    with Service(workers=4, max_runs=2, ready=2) as service:
        yield service


def status(service):
    answer = service.get("/status")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json


def test_a_quiet_service(service):
    wait_for(lambda: status(service)["runs"]["ready"] == 2)
    told = status(service)
    assert sum(told["workers"].values()) == 4 and told["workers"]["busy"] > 0
    assert told["runs"] == {"running": 0, "waiting": 0, "ready": 2, "max": 2}
    assert told["reason"] is None and told["uptime"] > 0
    assert told["isolation"]["configured"] == "strict"
    # The last two are where the machine has them.
    assert set(told["isolation"]["layers"]) - {"cgroup", "landlock"} == set(
        LAYERS) - {"landlock"}


def test_ends_are_counted_by_kind(service):
    before = status(service)["totals"]
    service.run("print(1)")
    service.run("1 / 0")
    service.run("pass")
    service.post(b"{}")
    totals = status(service)["totals"]
    assert {kind: count - before[kind] for kind, count in totals.items()
            if count != before[kind]} == {
        "ok": 1, "exception": 1, "empty": 1, "refused": 1}


def test_who_runs_and_who_waits(service):
    before = status(service)["totals"]["ok"]
    threads = [threading.Thread(target=service.run,
                                args=["import time; time.sleep(2); print(1)"])
               for _ in range(3)]
    for thread in threads:
        thread.start()

    def is_full():
        runs = status(service)["runs"]
        return runs == {"running": 2, "waiting": 1, "ready": 0, "max": 2}
    wait_for(is_full, what="two runs and one that waits")
    for thread in threads:
        thread.join()
    assert status(service)["totals"]["ok"] == before + 3


@pytest.mark.parametrize("name", ["worker", "zygote"])
def test_restarts_are_counted(service, name):
    pid = service.pids(name)[0]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: status(service)["restarts"][name] == 1)
    wait_for(lambda: status(service)["reason"] is None, 30, "a warm child")
    wait_for(lambda: status(service)["workers"]["busy"] == 1)


def test_a_reduced_isolation_is_told(start):
    service = start(isolation="reduced:ipc,landlock")
    isolation = status(service)["isolation"]
    assert isolation["configured"] == "reduced:ipc,landlock"
    assert set(LAYERS) - set(isolation["layers"]) == {"ipc", "landlock"}


def test_it_is_only_for_get(service):
    answer = service.post(b"{}", path="/status")
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD"

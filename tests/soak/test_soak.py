"""The short form of `make soak`: nothing stays of runs of all kinds."""

import mixed
import pytest
from service import Service

WORKERS, RUNS, READY = 8, 3, 2


@pytest.fixture(scope="module")
def service():
    with Service(workers=WORKERS, max_runs=RUNS, ready=READY,
                 worker_requests=100) as service:
        yield service


def test_every_kind_of_run_is_answered_as_it_must_be(service):
    for name in mixed.JOBS:
        mixed.ask(service, name)


def test_nothing_stays_of_runs_of_all_kinds(service):
    mixed.runs(service, 6)
    mixed.wait_for_rest(service, READY, WORKERS)
    first = mixed.settled_census(service)
    counts = mixed.runs(service, 14)
    mixed.wait_for_rest(service, READY, WORKERS)
    last = mixed.settled_census(service, first)
    assert counts.total() > 60 and len(counts) > 8
    assert {name: last[name] for name in mixed.COUNTED
            if last[name] > first[name]} == {}
    assert last["memory"] <= first["memory"] * 1.1 + 8
    assert service.get("/status").json["restarts"] == {"zygote": 0,
                                                       "worker": 0}

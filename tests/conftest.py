"""Fixtures: `service` is shared by a session and must be as good as new after
each test; `start` gives a test an instance with options of its own, and
`start_cold` one that is up at once."""

import functools
import os
import pathlib
import sys

TESTS = pathlib.Path(__file__).parent
sys.path.insert(0, str(TESTS))
# Before it is imported: it makes its directory at once.
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(
    TESTS.parent / "build" / "hypothesis")

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from service import Service, wait_for  # noqa: E402

# Nothing is written beside the sources, and a busy machine fails no test.
hypothesis.settings.register_profile("here", database=None, deadline=None)
hypothesis.settings.load_profile("here")


#: Files that take longest, most of it to wait: with several at work, none of
#: them is begun last and left alone.
LONGEST = ("test_plugs", "test_broker", "test_reload", "test_signals",
           "test_faults", "test_page")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONGEST.index(item.path.stem)
               if item.path.stem in LONGEST else len(LONGEST))


@pytest.fixture(scope="session")
def shared_service():
    with Service() as service:
        yield service


@pytest.fixture
def service(shared_service):
    workers = sorted(shared_service.pids("worker"))
    yield shared_service
    # Whatever the test did: nobody died, and no run goes on.
    wait_for(lambda: not shared_service.pids("run"), 15, "the end of all runs")
    assert sorted(shared_service.pids("worker")) == workers
    assert shared_service.run("print(1)")["output"] == "1\n"


@pytest.fixture
def start():
    """start(timeout="3s", ...) gives a running Service, ended afterwards."""
    services = []

    def start_one(**options):
        service = Service(**options)
        services.append(service)
        service.start()
        return service

    yield start_one
    for service in services:
        service.end()


@pytest.fixture
def start_cold(start):
    """Without a zygote, which takes seconds: for what is no affair of it."""
    return functools.partial(start, zygote="off")

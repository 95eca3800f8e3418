"""Fixtures: `service` is shared by a session and must be as good as new after
each test; `start` gives a test an instance with options of its own."""

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

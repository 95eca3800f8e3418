"""The short form of `make plugs`: whatever dies, stops or runs out."""

import os

import pytest
import plugs

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to "
                                "mount, limit and kill")


@pytest.fixture(scope="module")
def service():
    with plugs.breakable_service() as service:
        yield service


@pytest.mark.parametrize("fault", [
    "at_random", "master", "nginx", "stopped_zygote", "stopped_workers",
    "no_descriptors", "no_processes",
    pytest.param("no_memory",
                 marks=pytest.mark.unsanitized("ASan dies of it at once")),
    "full_disk", "clock", "market", "silence"])
def test_each_request_is_answered_and_nothing_is_left(service, fault):
    row = plugs.pull(service, fault)
    assert row.left == {}
    assert row.recovery < 40 and row.statuses[200] > 0

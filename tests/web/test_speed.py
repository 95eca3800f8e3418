"""What makes a run cheap is really in force; nothing here is timed."""

import pathlib
import re

import pytest
from service import wait_for

HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.fixture
def zygote(service):
    # A child that it has just forked still has its title.
    wait_for(lambda: len(service.pids("zygote")) == 1)
    return pathlib.Path(f"/proc/{service.pids('zygote')[0]}")


def mappings(process):
    """(access, name) of each of its mappings."""
    return [(line.split()[1], line.split(maxsplit=5)[5:])
            for line in (process / "maps").read_text().splitlines()]


def test_the_zygotes_memory_is_in_huge_pages(zygote):
    if not HUGE_PAGES.exists() or "[never]" in HUGE_PAGES.read_text():
        pytest.skip("this machine has no huge pages to give")
    rollup = dict(re.findall(r"^(\w+): +(\d+) kB",
                             (zygote / "smaps_rollup").read_text(), re.M))
    assert int(rollup["AnonHugePages"]) > int(rollup["Anonymous"]) / 2


def test_the_zygote_has_one_thread(zygote):
    assert "\nThreads:\t1\n" in (zygote / "status").read_text()


def test_a_library_is_two_mappings_and_its_zeroes(zygote):
    libraries = [access for access, name in mappings(zygote)
                 if name and ".so" in name[0]]
    assert len(libraries) > 200
    assert set(libraries) <= {"r-xp", "rw-p", "---p"}


def test_a_print_touches_few_pages(service):
    """420 or so, of two microseconds or more each. With gaps between the
    zygote's objects, and all done in the child, it was twice as many."""
    reply = service.run("import resource\n"
                        "print(resource.getrusage(0).ru_minflt)")
    assert 0 < int(reply["output"]) < 600


def test_a_child_has_little_memory_of_its_own(service):
    """Of the 190 MiB that it sees; as the responder measures it."""
    assert service.run("print(1)")["peak_memory"] < 16 << 20

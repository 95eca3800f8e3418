"""What makes a run cheap is really in force; nothing here is timed."""

import ctypes
import os
import pathlib
import re
import sys

import pytest
from service import wait_for

PR_SET_THP_DISABLE = 41
HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")


def has_huge_pages():
    return HUGE_PAGES.exists() and "[deny]" not in HUGE_PAGES.read_text()


@pytest.fixture
def zygote(service):
    # A child that it has just forked still has its title.
    found = wait_for(lambda: len(pids := service.pids("zygote")) == 1 and pids)
    return pathlib.Path(f"/proc/{found[0]}")


def kib_of(process):
    return {name: int(kib) for name, kib in re.findall(
        r"^(\w+): +(\d+) kB", (process / "smaps_rollup").read_text(), re.M)}


@pytest.mark.unsanitized("memory.c leaves ASan's heap as it is")
def test_a_fork_has_little_memory_to_copy(zygote):
    """It is in files, of which next to nothing is mapped: 2.4 MiB in small
    pages, where start and first forks alone have looked at 10."""
    kib = kib_of(zygote)
    assert kib["Anonymous"] < 8 << 10
    assert kib["Rss"] - kib["ShmemPmdMapped"] < 6 << 10


@pytest.mark.unsanitized("memory.c leaves ASan's heap as it is")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks into a child")
@pytest.mark.skipif(not has_huge_pages(), reason="no huge pages here")
def test_a_child_has_huge_pages(service):
    """It maps what it looks at, code above all, 2 MiB at a time."""
    wait_for(lambda: service.pids("ready"))
    child = pathlib.Path(f"/proc/{service.pids('ready')[0]}")
    assert kib_of(child)["ShmemPmdMapped"] >= 2 << 10


@pytest.mark.unsanitized("memory.c leaves ASan's heap as it is")
def test_a_fork_has_few_mappings_to_copy(zygote):
    """Of 1,600."""
    assert len((zygote / "maps").read_text().splitlines()) < 40


def test_huge_pages_are_not_needed(start):
    prctl = ctypes.CDLL(None).prctl
    assert prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0  # and for what we start
    try:
        service = start()
    finally:
        prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)
    zygote = pathlib.Path(f"/proc/{service.pids('zygote')[0]}")
    assert "\nTHP_enabled:\t0\n" in (zygote / "status").read_text()
    assert service.run("print(1)")["output"] == "1\n"


def test_the_zygote_has_one_thread(zygote):
    assert "\nThreads:\t1\n" in (zygote / "status").read_text()


COUNTS = """
import sys
shared = [np, np.__dict__, pd.DataFrame, pd.DataFrame.head,
          pd.DataFrame.head.__code__, pd.DataFrame.head.__code__.co_consts,
          pd.DataFrame.head.__doc__, pd.DataFrame.__mro__, sns.__version__]
before = [sys.getrefcount(it) for it in shared]
more = shared * 1000
print([sys.getrefcount(it) for it in shared] == before)
"""


@pytest.mark.skipif(not (3, 12) <= sys.version_info < (3, 14),
                    reason="this Python counts all references (python.c)")
def test_a_program_does_not_write_to_what_it_only_names(service):
    """Half of the pages that a print() copied held nothing but counts."""
    assert service.run(COUNTS)["output"] == "True\n"


FAULTS = "import resource\nprint(resource.getrusage(0).ru_minflt)"


@pytest.mark.unsanitized("ASan has a shadow of each page")
def test_a_print_touches_few_pages(service):
    """225 to 255, of a microsecond or more each, by how addresses fall into huge
    pages; 350 and more where small objects come from everywhere."""
    assert 0 < int(service.run(FAULTS)["output"]) < 270


@pytest.mark.unsanitized("memory.c leaves ASan's heap as it is")
def test_pages_are_fetched_before_there_is_a_job(service):
    """Else 160 faults more would be the program's to wait for."""
    wait_for(lambda: service.pids("ready"))
    stat = pathlib.Path(f"/proc/{service.pids('ready')[0]}/stat").read_text()
    before = int(stat.rpartition(")")[2].split()[7])
    assert int(service.run(FAULTS)["output"]) - before < 80


def test_a_child_has_little_memory_of_its_own(service):
    """Of the 190 MiB that it sees; as the responder measures it."""
    assert service.run("print(1)")["peak_memory"] < 16 << 20

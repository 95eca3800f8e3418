"""Runs while a zygote loads its libraries: from the first moments on, by
children that load what their program names."""

import os
import signal

import pytest
from service import figures_of, wait_for

#: Not by its name, which would have an early child load it.
LOADED = "import sys\nprint('stats' + 'models' in sys.modules)"


@pytest.fixture
def loading(start):
    """A service whose zygote has just been lost, and loads again."""
    service = start()
    lose_the_zygote(service)
    return service


def lose_the_zygote(service):
    # A child that it has just forked still has its title.
    def zygotes():
        found = service.pids("zygote")
        return len(found) == 1 and found
    os.kill(wait_for(zygotes)[0], signal.SIGKILL)
    wait_for(lambda: not is_warm(service))


def is_warm(service):
    return service.get("/healthz").status == 200


def test_a_run_does_not_wait_for_the_libraries(loading):
    assert loading.run("print(1)")["output"] == "1\n"
    assert not is_warm(loading)
    assert loading.get("/healthz").json["reason"] == "Python is starting."


def test_a_program_has_what_it_names(loading):
    reply = loading.run("print(pd.Series([1, 2]).sum())\nplt.plot([1, 2])\n"
                        "save_excel(pd.DataFrame({'a': [1]}), 'a.xlsx')",
                        context={"x": 1})
    assert reply["error"] is None and reply["output"] == "3\n"
    assert len(figures_of(reply)) == 1
    assert [file["name"] for file in reply["files"]] == ["a.xlsx"]


def test_it_is_confined_and_collects_its_garbage_as_any(loading):
    reply = loading.run(
        "import gc, os, socket\nprint(gc.isenabled(), os.getpid())\n"
        "print(*[line.split()[1] for line in open('/proc/self/status')\n"
        "        if line.startswith(('CapBnd', 'NoNewPrivs', 'Seccomp:'))])\n"
        "socket.socket()")
    assert reply["output"] == "True 1\n0000000000000000 1 2\n"
    assert reply["error"]["type"] == "OSError"


def test_numpys_random_numbers_are_each_ones_own(loading):
    """Also where the library was there before the fork."""
    seen = []
    while not is_warm(loading):
        seen.append(loading.run(
            "import sys\nlibrary = sys.modules.get('num' + 'py')\n"
            "print(library and library.random.random())")["output"])
    numbers = [line for line in seen if line != "None\n"]
    assert len(numbers) > 1 and len(set(numbers)) == len(numbers)


def test_those_that_are_not_used_end_when_all_is_loaded(loading):
    early = wait_for(lambda: loading.pids("ready"))
    assert not is_warm(loading)
    wait_for(lambda: is_warm(loading), 60, "the libraries")
    wait_for(lambda: not set(early) & set(loading.pids("ready")), 10,
             "the end of the early children")
    assert loading.run(LOADED)["output"] == "True\n"


def test_they_leave_the_only_place_to_a_warm_one(start):
    service = start(max_runs=1, ready=1, workers=2)
    lose_the_zygote(service)
    assert service.run(LOADED)["output"] == "False\n"
    wait_for(lambda: is_warm(service), 60, "the libraries")
    assert service.run(LOADED)["output"] == "True\n"


def test_a_run_that_began_early_goes_on_and_is_told_of_when_all_is_loaded(
        loading):
    reply = loading.run("import time\nprint(1)\ntime.sleep(6)\nprint(2)")
    assert reply["error"] is None and reply["output"] == "1\n2\n"
    wait_for(lambda: is_warm(loading), 60, "the libraries")
    assert loading.run(LOADED)["output"] == "True\n"

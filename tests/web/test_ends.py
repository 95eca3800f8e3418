"""At a program's end, what a script's end would see to is seen to.

The zygote takes the libraries' own exit functions out (child/sandbox/warm):
here is what a program may ask of them all the same.
"""

import pytest

PROGRAMS = {
    "atexit": """
import atexit
atexit.register(print, "ended")
""",
    "finalizers": """
import weakref
class Thing: pass
thing = Thing()
weakref.finalize(thing, print, "ended")
""",
    "logging's buffers": """
import logging, logging.handlers, sys
target = logging.StreamHandler(sys.stdout)
handler = logging.handlers.MemoryHandler(100, target=target)
logging.getLogger("own").addHandler(handler)
logging.getLogger("own").warning("ended")
""",
    "processes": """
import multiprocessing, time
def work():
    time.sleep(0.2)
    print("ended", flush=True)
multiprocessing.get_context("fork").Process(target=work).start()
""",
    "multiprocessing's finalizers": """
from multiprocessing import util
util.Finalize(None, print, ("ended",), exitpriority=1)
""",
    "threads": """
import threading, time
threading.Thread(target=lambda: (time.sleep(0.2), print("ended"))).start()
""",
    "pools": """
import time
from concurrent.futures import ThreadPoolExecutor
ThreadPoolExecutor().submit(lambda: (time.sleep(0.2), print("ended")))
""",
    "open files": """
import os
file = open("/proc/self/fd/1", "w")
file.write("ended\\n")
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_end_is_waited_for(service, name):
    reply = service.run(PROGRAMS[name])
    assert reply["error"] is None and reply["output"] == "ended\n"


def test_runs_have_random_states_of_their_own(service):
    program = ("import random\n"
               "print(random.random(), np.random.rand(), "
               "np.random.default_rng().random())")
    outputs = [service.run(program)["output"].split() for _ in range(5)]
    for values in zip(*outputs):
        assert len(set(values)) == 5

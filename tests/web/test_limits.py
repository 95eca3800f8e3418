"""What a program may use, and what is said when it wants more."""

import os
import resource

import pytest
from service import Service, files_of, title, wait_for

GRACE = 0.5


@pytest.fixture(scope="module")
def tight_service():
    with Service(grace="500ms", memory="256M", processes=24, work_size="8M",
                 work_inodes=200, max_output="64K") as service:
        yield service


@pytest.fixture
def tight(tight_service):
    """A service with small limits: as good as new after each test."""
    workers = sorted(tight_service.pids("worker"))
    yield tight_service
    wait_for(lambda: not tight_service.pids("run"), 15, "the end of all runs")
    assert sorted(tight_service.pids("worker")) == workers
    assert tight_service.run("print(1)")["output"] == "1\n"


def processes_of_runs(service):
    """All processes that a run may have started, by what they run."""
    return [pid for pid in service.pids("") if "sandbox-" not in title(pid)]


# Time

INTERRUPTED = {
    "a loop": ("n = 1\nwhile True:\n    n += 1", {2, 3}),
    "a regular expression": ("import re\nre.match('(a+)+b', 'a' * 40)", {2}),
    "sleep": ("import time\ntime.sleep(30)", {2}),
    "a thread": ("import threading, time\n"
                 "one = threading.Thread(target=time.sleep, args=(30,))\n"
                 "one.start()\none.join()", {4}),
    "a subprocess": ("import subprocess\n"
                     "subprocess.run(['sleep', '30'])", {2}),
    "asyncio": ("import asyncio\nasync def wait():\n"
                "    await asyncio.sleep(30)\nasyncio.run(wait())", {3, 4}),
    "await": ("import asyncio\nawait asyncio.sleep(30)", {2}),
    "except Exception": ("import time\ntry:\n    time.sleep(30)\n"
                         "except Exception:\n    print('swallowed')", {3}),
}
KILLED = {
    "sum": ("n = 1\nsum(range(10 ** 12))", {2}),
    "a matrix product": ("a = np.ones((2200, 2200), int)\na @ a", {2}),
    "a bare except": ("import time\nwhile True:\n    try:\n"
                      "        time.sleep(30)\n    except:\n        pass",
                      {2, 3, 4, 5, 6}),
    "a deaf program": ("import signal\nfor one in signal.valid_signals():\n"
                       "    try:\n        signal.signal(one, signal.SIG_IGN)\n"
                       "    except (OSError, ValueError):\n        pass\n"
                       "while True:\n    pass", {None}),
    "blocked signals": ("import signal\nsignal.pthread_sigmask("
                        "signal.SIG_BLOCK, signal.valid_signals())\n"
                        "while True:\n    pass", {None}),
}


def assert_timeout(reply, limit, lines):
    error = reply["error"]
    assert error["kind"] == "timeout" and error["type"] == "TimeoutError"
    assert f"{limit:g} s" in error["message"]
    assert error["line"] in lines
    assert f"line {error['line']}" in error["message"] or lines == {None}
    assert reply["output"] == "before\n"


@pytest.mark.parametrize("where", INTERRUPTED)
def test_time_up_interrupts(tight, where):
    code, lines = INTERRUPTED[where]
    reply = tight.run("print('before');" + code, timeout=0.4)
    assert_timeout(reply, 0.4, lines)
    assert 0.4 <= reply["seconds"] < 0.4 + GRACE and reply["exit_code"] == 1


@pytest.mark.parametrize("where", KILLED)
def test_what_goes_on_after_time_up_is_killed(tight, where):
    code, lines = KILLED[where]
    reply = tight.run("print('before');" + code, timeout=0.4)
    assert_timeout(reply, 0.4, lines)
    assert "killed 0.5 s later" in reply["error"]["message"]
    assert 0.4 + GRACE <= reply["seconds"] < 0.4 + GRACE + 1
    assert reply["exit_code"] is None


def test_time_up_leaves_what_was_printed_drawn_and_saved(tight):
    reply = tight.run("import time\nprint('before')\nplt.plot([1])\n"
                      "open('a.txt', 'w').write('saved')\ntime.sleep(30)",
                      timeout=0.8)
    assert_timeout(reply, 0.8, {5})
    assert files_of(reply) == {"a.txt": b"saved"}
    assert len(reply["figures"]) == 1
    assert "time.sleep(30)" in reply["error"]["traceback"]


def test_a_kill_leaves_what_was_printed_and_saved(tight):
    reply = tight.run("open('a.txt', 'w').write('saved')\nprint('before')\n"
                      "sum(range(10 ** 12))", timeout=0.4)
    assert_timeout(reply, 0.4, {3})
    assert files_of(reply) == {"a.txt": b"saved"}


def test_time_up_can_be_tidied_up_after(tight):
    reply = tight.run("import time\ntry:\n    time.sleep(30)\nfinally:\n"
                      "    print('tidy')", timeout=0.4)
    assert reply["error"]["kind"] == "timeout"
    assert reply["error"]["line"] == 3 and reply["output"] == "tidy\n"


def test_a_shorter_time_than_the_servers_holds(start):
    service = start(timeout="800ms", zygote="off")
    assert service.post({"code": "1", "timeout": 0.9}).status == 400
    for limit in ({}, {"timeout": 0.6}, {"timeout": None}):
        reply = service.run("while True: pass", **limit)
        expected = limit.get("timeout") or 0.8
        assert f"{expected:g} s" in reply["error"]["message"]
        assert expected <= reply["seconds"] < expected + 2.5


# Memory

def test_what_a_run_costs_is_told(tight):
    reply = tight.run("import time\nuntil = time.process_time() + 0.3\n"
                      "block = b'x' * 100_000_000\n"
                      "while time.process_time() < until: pass\nprint(1)")
    assert 0.3 <= reply["cpu_seconds"] < 1.5
    assert reply["cpu_seconds"] <= reply["seconds"] + 0.1
    assert 100_000_000 <= reply["peak_memory"] < 130_000_000
    assert 0 < tight.run("print(1)")["peak_memory"] < 30_000_000


@pytest.mark.unsanitized("memory.c leaves ASan's heap as it is")
def test_what_is_given_back_is_told_as_well(tight):
    reply = tight.run("block = b'x' * 200_000_000\ndel block")
    assert 190_000_000 <= reply["peak_memory"] < 220_000_000


@pytest.mark.unsanitized("memory.c leaves ASan's heap as it is")
def test_what_is_only_looked_at_is_not_ones_own(tight):
    reply = tight.run("""
import ctypes
seen = 0
for line in open('/proc/self/maps'):
    if '/memfd:' in line:
        start, end = (int(part, 16) for part in line.split()[0].split('-'))
        for page in range(start, end, 4096):
            ctypes.string_at(page, 1)
            seen += 4096
print(seen)
""")
    assert int(reply["output"]) > 200_000_000
    assert 0 < reply["peak_memory"] < 30_000_000


def test_a_lie_about_ones_memory_is_bounded(tight):
    """By what the kernel has seen."""
    reply = tight.run("import os\nos.write(3, b'peak 999999999\\n')\n"
                      "os._exit(0)")
    assert 0 < reply["peak_memory"] < 400_000_000


@pytest.mark.parametrize("code", [
    pytest.param("full = []\nwhile True: full.append(bytearray(10 ** 6))",
                 marks=pytest.mark.unsanitized("ASan's shadow fills first")),
    "full = []\nnp.ones(10 ** 9)",
    "full = []\nfull = 'x' * 10 ** 9",
    "full = []\nfull = [0] * 10 ** 9",
])
def test_too_much_memory_is_a_memory_error(tight, code):
    reply = tight.run("print('before');" + code)
    error = reply["error"]
    assert (error["kind"], error["type"]) == ("memory", "MemoryError")
    assert "256 MiB" in error["message"] and error["line"] == 2
    assert reply["output"] == "before\n"


def test_a_program_can_catch_its_memory_error(tight):
    reply = tight.run("try:\n    np.ones(10 ** 9)\nexcept MemoryError:\n"
                      "    print('caught')")
    assert reply["error"] is None and reply["output"] == "caught\n"


def test_processes_that_together_take_too_much_are_killed(tight):
    reply = tight.run("import os, time\nprint('before')\n"
                      "for i in range(6):\n    if os.fork() == 0:\n"
                      "        block = b'x' * 90_000_000\n"
                      "        time.sleep(60)\ntime.sleep(60)")
    error = reply["error"]
    assert (error["kind"], error["type"]) == ("memory", "MemoryError")
    assert "256 MiB" in error["message"]
    assert reply["output"] == "before\n" and reply["exit_code"] is None
    assert reply["seconds"] < 15


def test_what_processes_share_is_counted_once(tight):
    reply = tight.run("from multiprocessing import Pool\n"
                      "block = np.ones(15_000_000)\ndef part(i):\n"
                      "    return block[i::4].sum()\n"
                      "with Pool(4) as pool:\n"
                      "    print(sum(pool.map(part, range(4))))")
    assert reply["error"] is None and reply["output"] == "15000000.0\n"


# Processes and threads

def test_a_fork_bomb_ends(tight):
    reply = tight.run("import os, sys\nsys.stderr = open('/dev/null', 'w')\n"
                      "print('before')\nwhile True: os.fork()", timeout=2)
    assert reply["error"]["kind"] in ("exception", "timeout")
    assert reply["output"].startswith("before\n") and reply["seconds"] < 5
    assert not processes_of_runs(tight)


def test_a_fork_bomb_that_goes_on_is_killed(tight):
    reply = tight.run("import os\nprint('before')\nwhile True:\n"
                      "    try: os.fork()\n    except: pass", timeout=0.5)
    assert reply["error"]["kind"] == "timeout"
    assert reply["output"].startswith("before\n") and reply["seconds"] < 5
    assert not processes_of_runs(tight)


def test_too_many_threads_are_an_exception(tight):
    reply = tight.run("import threading, time\nwhile True:\n"
                      "    threading.Thread(target=time.sleep, args=(30,),\n"
                      "                     daemon=True).start()")
    assert reply["error"]["kind"] == "exception"
    assert "thread" in reply["error"]["message"]
    assert reply["error"]["line"] in (3, 4) and reply["seconds"] < 5


OVER = {
    "processes": ("import os, time\nwhile True:\n"
                  "    if os.fork() == 0: time.sleep(60)", "24"),
    "threads": ("import threading, time\nwhile True: threading.Thread(\n"
                "    target=time.sleep, args=(9,), daemon=True).start()",
                "24"),
    "descriptors": ("full = [open('/dev/null') for i in range(999)]", "256"),
    "a file's size": ("open('a', 'w').truncate(10 ** 10)", "8 MiB"),
    "the disk": ("open('a', 'wb').write(bytes(20_000_000))", "8 MiB"),
    "files": ("for i in range(999): open(f'/tmp/{i}', 'w')", "200"),
}


@pytest.mark.parametrize("what", OVER)
def test_what_is_over_a_limit_is_told_the_limit(tight, what):
    code, limit = OVER[what]
    error = tight.run(code)["error"]
    assert error["kind"] == "exception" and error["line"] is not None
    assert limit in error["message"], error["message"]


def test_a_full_disk_leaves_what_fitted(tight):
    reply = tight.run("open('a', 'wb').write(bytes(10 ** 6))\n"
                      "open('/tmp/b', 'wb').write(bytes(10 ** 8))")
    assert "No space left" in reply["error"]["message"]
    assert "/dev/shm together hold" in reply["error"]["message"]
    assert files_of(reply) == {"a": bytes(10 ** 6)}


def test_holes_come_back_from_a_full_disk(tight):
    """As zeros, though there is no page left for them."""
    reply = tight.run("with open('a', 'wb') as holes:\n"
                      "    holes.truncate(6 << 20)\n"
                      "    holes.seek(1 << 20)\n    holes.write(b'data')\n"
                      "open('/tmp/b', 'wb').write(bytes(10 ** 8))")
    assert "No space left" in reply["error"]["message"]
    assert files_of(reply) == {
        "a": (bytes(1 << 20) + b"data").ljust(6 << 20, b"\0")}


def test_a_process_left_in_the_background_delays_nothing(tight):
    """As lim-03: it holds the pipe open."""
    reply = tight.run("import subprocess\n"
                      "subprocess.Popen(['sleep', '600'])\nprint('done')")
    assert reply["error"] is None and reply["output"] == "done\n"
    assert reply["seconds"] < 3
    assert not processes_of_runs(tight)


def test_a_daemon_of_the_program_is_gone_after_it(tight):
    """As lim-05: in a session of its own, and no child of the program."""
    reply = tight.run("import os, time\nif os.fork() == 0:\n"
                      "    os.setsid()\n    if os.fork() == 0:\n"
                      "        os.execvp('sleep', ['sleep', '600'])\n"
                      "    os._exit(0)\nos.wait()\nprint('done')")
    assert reply["error"] is None and reply["output"] == "done\n"
    assert reply["seconds"] < 3
    assert not processes_of_runs(tight)


def test_what_a_fork_prints_of_its_failure_is_the_programs_alone(tight):
    reply = tight.run("import os\nif os.fork() == 0:\n    1 / 0\nos.wait()")
    assert reply["error"] is None
    assert "ZeroDivisionError" in reply["output"]
    assert "line 3" in reply["output"] and "sandbox" not in reply["output"]


# Output

@pytest.mark.parametrize("size", [2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 300_000])
def test_the_head_and_the_tail_of_a_flood_are_kept(tight, size):
    whole = "".join(chr(97 + i % 26) for i in range(size))
    reply = tight.run(f"print({whole!r}, end='')")
    head, *cut = reply["output"].split("\n")
    if size <= 2 ** 16:
        assert reply["output"] == whole and reply["output_dropped"] == 0
        return
    line, tail = cut
    dropped = reply["output_dropped"]
    assert f" {dropped} bytes" in line
    assert whole.startswith(head) and whole.endswith(tail)
    assert len(head) + len(tail) + dropped == size
    assert len(head) == 3 * len(tail) == 3 * 2 ** 14


@pytest.mark.parametrize("shift", range(4))
def test_no_character_is_cut_in_half(tight, shift):
    reply = tight.run(f"print('x' * {shift} + 'aé€😀' * 30_000, end='')")
    head, _, tail = reply["output"].split("\n")
    assert "\ufffd" not in reply["output"]
    assert (len(head.encode()) + len(tail.encode())
            + reply["output_dropped"] == shift + 300_000)


def test_a_flood_without_end_ends(tight):
    reply = tight.run("import os\nblock = b'x' * 65536\n"
                      "while True: os.write(1, block)", timeout=0.5)
    assert reply["error"]["kind"] == "timeout" and reply["seconds"] < 3
    assert len(reply["output"]) < 70_000
    assert reply["output_dropped"] > 10 ** 6


# Other ends

def test_deep_recursion_is_an_exception(tight):
    reply = tight.run("print('before')\ndef f(): f()\nf()")
    assert reply["error"]["type"] == "RecursionError"
    assert reply["error"]["line"] == 2 and reply["output"] == "before\n"


def test_a_recursion_in_c_ends_in_an_answer(tight):
    """A crash where the interpreter does not count it (before 3.12)."""
    reply = tight.run("import sys\nprint('before')\n"
                      "sys.setrecursionlimit(10 ** 7)\nclass A:\n"
                      "    def __repr__(self): return repr(self)\nrepr(A())")
    assert reply["error"]["type"] in ("SIGSEGV", "RecursionError")
    assert reply["output"] == "before\n"


CRASHES = {
    "ctypes": ("import ctypes\nctypes.string_at(0)", "SIGSEGV", None),
    "os.abort": ("import os\nos.abort()", "SIGSEGV", None),
    "os._exit(0)": ("import os\nos._exit(0)", "os._exit", 0),
    "os._exit(3)": ("import os\nos._exit(3)", "os._exit", 3),
}


@pytest.mark.parametrize("how", CRASHES)
def test_a_crash_leaves_what_was_printed_and_saved(tight, how):
    code, name, exit_code = CRASHES[how]
    reply = tight.run("print('before')\n"
                      "open('a.txt', 'w').write('saved')\n" + code)
    assert (reply["error"]["kind"], reply["error"]["type"]) == ("crash", name)
    assert reply["exit_code"] == exit_code
    assert reply["output"] == "before\n"
    assert files_of(reply) == {"a.txt": b"saved"}


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSTOP", "SIGQUIT"])
def test_a_program_cannot_end_itself_by_a_signal(tight, name):
    """It is the first process of its pid namespace (SECURITY.md)."""
    reply = tight.run(f"import os, signal\nos.kill(os.getpid(), "
                      f"signal.{name})\nprint('goes on')")
    assert reply["error"] is None and reply["output"] == "goes on\n"


@pytest.mark.parametrize("value, exit_code, in_message", [
    ("", 0, None), ("None", 0, None), ("0", 0, None), ("False", 0, None),
    ("3", 3, "3"), ("256", 0, "256"), ("-1", 255, "-1"),
    ("'that will not do'", 1, "that will not do"), ("(1, 2)", 1, "(1, 2)"),
    ("object()", 1, "object"),
])
def test_sys_exit_ends_the_program(tight, value, exit_code, in_message):
    reply = tight.run(f"import sys\nprint('before')\nsys.exit({value})\n"
                      "print('after')")
    assert reply["output"] == "before\n" and reply["exit_code"] == exit_code
    if in_message is None:
        assert reply["error"] is None
        return
    error = reply["error"]
    assert (error["kind"], error["type"]) == ("exit", "SystemExit")
    assert in_message in error["message"] and error["line"] == 3


def test_limits_are_the_kernels_too(tight):
    reply = tight.run("import resource as r\nfor name in ('NPROC', 'FSIZE', "
                      "'NOFILE', 'CORE'):\n"
                      "    print(*r.getrlimit(getattr(r, 'RLIMIT_' + name)))")
    # sudo, for one, leaves us no core size at all.
    core = 1 if resource.getrlimit(resource.RLIMIT_CORE)[1] else 0
    assert reply["output"] == (f"24 24\n{8 << 20} {8 << 20}\n256 256\n"
                               f"{core} {core}\n")
    assert os.getpid() != 1  # or a pid namespace of our own would hide runs

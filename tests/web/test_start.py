"""make run: serves in the foreground, and leaves nothing when it ends."""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from contextlib import ExitStack, contextmanager

import pytest
from service import (BUILD, NGINX, TOP, figures_of, free_port,
                     processes_below, title, wait_for)

SHOWN = "The page: http://127.0.0.1:"
#: Up sooner: where it is no matter what a run costs.
COLD = {**os.environ, "SANDBOX_FCGI_OPTIONS": "--zygote off"}


class Started:
    """nginx/run, or a make of it, with a temporary folder of its own."""

    def __init__(self, folder, command, port, environment=None):
        self.folder, self.port = folder, port
        self.text = folder / "text"
        with open(self.text, "wb") as text:
            self.process = subprocess.Popen(
                command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=text,
                stderr=subprocess.STDOUT, preexec_fn=heed_interrupts,
                env={**(environment or os.environ), "TMPDIR": folder})

    def said(self):
        return self.text.read_text(encoding="utf-8")

    def wait_until_up(self):
        wait_for(lambda: SHOWN in self.said() or
                 self.process.poll() is not None, 60, "the page")
        assert SHOWN in self.said(), self.said()

    def left(self):
        return [entry for entry in os.listdir(self.folder) if entry != "text"]

    def assert_ends_on(self, number):
        """The signal goes to the first process alone."""
        below = processes_below(self.process.pid)
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(10)
        wait_for(lambda: not any(title(pid) for pid in below), 5, "the end")
        assert time.monotonic() - began < 3
        wait_for(lambda: not self.left(), 2, "the end of all files")
        with pytest.raises(OSError):
            fetch(self.port, "/healthz")

    def kill(self):
        for pid in [self.process.pid, *processes_below(self.process.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


def heed_interrupts():
    """Whoever started the tests in the background ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def fetch(port, path, job=None):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        json.dumps(job).encode() if job else None,
        {"Content-Type": "application/json"} if job else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, answer.read()


@pytest.fixture
def folder():
    """A folder that the service's account may pass through."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="sandbox-fcgi-test."))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@contextmanager
def started(folder, command=None, port=None, environment=None):
    port = port or free_port()
    command = command or [NGINX / "run", BUILD, port]
    one = Started(folder, [str(part) for part in command], port, environment)
    try:
        yield one
    finally:
        one.kill()


def test_it_shows_a_sample_and_ends_on_an_interrupt(folder):
    with started(folder) as one:
        one.wait_until_up()
        said = one.said()
        assert f"{SHOWN}{one.port}/" in said
        assert re.search(r"output +125\d days, last close \d+\.\d\d\n", said)
        assert re.search(r"market +historical-price-eod/full 200", said)
        assert said.count("Demo data, not market data") == 2
        assert re.search(r"figure +\d+ x \d+ pixels", said)
        assert "AAPL.xlsx" in said
        assert fetch(one.port, "/healthz")[0] == 200
        page = fetch(one.port, "/")[1]
        assert b"<html" in page and b"Demo data, not market data" in page
        one.assert_ends_on(signal.SIGINT)
        assert one.process.returncode == 0


def test_a_signal_before_it_is_up_ends_it(folder):
    with started(folder) as one:
        wait_for(lambda: processes_below(one.process.pid), what="a process")
        wait_for(lambda: any("zygote" in title(pid) for pid in
                             processes_below(one.process.pid)), 20, "a zygote")
        one.assert_ends_on(signal.SIGTERM)


def test_two_serve_on_two_ports_and_not_on_one(folder):
    with ExitStack() as stack:
        two = []
        for name in ("a", "b"):
            (folder / name).mkdir()
            two.append(stack.enter_context(
                started(folder / name, environment=COLD)))
        for one in two:
            one.wait_until_up()
        (folder / "c").mkdir()
        third = stack.enter_context(started(folder / "c", port=two[1].port,
                                            environment=COLD))
        assert third.process.wait(20) == 1  # and takes no other's for its own
        assert "sample run" not in third.said() and third.left() == []
        two[0].assert_ends_on(signal.SIGTERM)
        assert two[0].process.returncode == 0
        assert fetch(two[1].port, "/healthz")[0] == 200
        assert_ends_with_its_responder(two[1])


def assert_ends_with_its_responder(one):
    below = processes_below(one.process.pid)
    os.kill(next(pid for pid in below if title(pid).endswith("master")),
            signal.SIGKILL)
    assert one.process.wait(10) == 1
    wait_for(lambda: not any(title(pid) for pid in below), 5, "the end")
    assert "ended by itself" in one.said() and one.left() == []


def test_it_needs_no_environment(folder):
    """out-12: UTF-8 without LANG. fig-06: matplotlib without a HOME."""
    cases = {case["id"]: case["request"]["code"] for case in map(
        json.loads, (TOP / "tests" / "cases" / "cases.jsonl").read_text(
            encoding="utf-8").splitlines()) if case["id"] in
        ("out-12", "fig-06")}
    with started(folder, environment={"PATH": os.environ["PATH"]}) as one:
        one.wait_until_up()
        text = json.loads(fetch(one.port, "/run",
                                {"code": cases["out-12"]})[1])
        assert text["output"] == "→ 价格 café 😀\nnaïve utf-8\n"
        assert base64.b64decode(text["files"][0]["data"]) == "naïve".encode()
        plot = json.loads(fetch(one.port, "/run",
                                {"code": cases["fig-06"]})[1])
        assert plot["output"] == "ok\n" and len(figures_of(plot)) == 1
        assert plot["seconds"] < 5 and plot["error"] is None
        one.assert_ends_on(signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM],
                         ids=["INT", "TERM"])
def test_make_run_ends_on_a_signal_to_make_alone(folder, number):
    port = free_port()
    command = ["make", "-s", "run", f"PORT={port}"]
    with started(folder, command, port, COLD) as one:
        one.wait_until_up()
        one.assert_ends_on(number)


def test_a_port_that_is_in_use_is_told_of_and_nothing_stays(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(folder, port=port, environment=COLD) as one:
            wait_for(lambda: processes_below(one.process.pid))
            assert one.process.wait(20) == 1
            assert "Address already in use" in one.said()
            assert SHOWN not in one.said() and one.left() == []


def test_make_help_lists_what_can_be_made():
    said = subprocess.run(["make", "-s", "help"], cwd=TOP, text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    for name in ("all", "run", "test", "check", "deps", "clean"):
        assert re.search(rf"^make {name} +\w", said, re.MULTILINE)
    assert said == subprocess.run(["make", "-s"], cwd=TOP, text=True,
                                  stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize("program, linked, never", [
    ("sandbox-fcgi", "libfcgi", ("libpython", "libseccomp")),
    ("sandbox-child", "libpython", ("libfcgi", "libcurl", "libcjson")),
])
def test_each_program_links_its_own_libraries_alone(program, linked, never):
    said = subprocess.run(["readelf", "-d", BUILD / program], text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    assert linked in said and "BIND_NOW" in said
    assert not [name for name in never if name in said]

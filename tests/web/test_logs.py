"""The log: a line a run, as text or JSON, which tells nobody's secrets; and
where slow runs stood."""

import concurrent.futures
import json
import os
import re
import subprocess

import pytest
from fastcgi import ask, job
from service import BUILD, Service, wait_for

SECRET = "s3cr3tNobodysBusiness"
MEMBERS = {"time", "level", "pid", "event", "id", "kind", "status", "form",
           "seconds", "queue_seconds", "cpu_seconds", "peak_memory",
           "bytes_in", "bytes_out", "output_bytes", "figures", "files",
           "market_calls"}


def strict(line):
    def pairs(members):
        assert len(dict(members)) == len(members), "a member is there twice"
        return dict(members)

    def refuse(name):
        raise ValueError(f"{name} is no JSON")
    assert line.isascii() and line.isprintable() and len(line) < 4096
    return json.loads(line, object_pairs_hook=pairs, parse_constant=refuse)


def events(service, event="run"):
    """The log's events of that name: all of our own lines must parse."""
    return [one for one in map(strict, own_lines(service))
            if one.get("event") == event]


def own_lines(service):
    # nginx writes to the same file, in its own way.
    return [line for line in service.log.read_text().splitlines()
            if not re.match(r"\d{4}/\d\d/\d\d ", line)]


@pytest.fixture(scope="module")
def service():
    with Service(log_format="json", slow_after="700ms", workers=4, max_runs=2,
                 ready=2, grace="1s") as service:
        yield service


def line_of(service, id):
    """The one line of a run."""
    def find():
        return [one for one in events(service) if one["id"] == id]
    wait_for(find, what="its line")
    assert len(find()) == 1
    return find()[0]


def test_a_line_tells_what_the_reply_told(service):
    code = ("print('x' * 100)\nplt.plot([1])\nopen('a', 'w').write('a')\n"
            "sum(range(10 ** 6))")
    body = json.dumps({"code": code}).encode()
    answer = service.post(body)
    reply = answer.json
    line = line_of(service, reply["id"])
    assert line.keys() == MEMBERS
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"])
    assert line["pid"] in service.pids("worker") and line["level"] == "info"
    assert {name: line[name] for name in (
        "kind", "status", "form", "bytes_in", "bytes_out", "output_bytes",
        "figures", "files", "market_calls", "peak_memory")} == {
        "kind": "ok", "status": 200, "form": "json", "bytes_in": len(body),
        "bytes_out": len(answer.body), "output_bytes": 101, "figures": 1,
        "files": 1, "market_calls": 0, "peak_memory": reply["peak_memory"]}
    for name in ("seconds", "cpu_seconds"):
        assert line[name] == pytest.approx(reply[name], abs=6e-4)
    assert 0 <= line["queue_seconds"] < 10


@pytest.mark.parametrize("accept, form", [
    ("text/html", "html"), ("text/event-stream", "events")])
def test_the_form_is_told_and_its_bytes(service, accept, form):
    answer = service.post({"code": "print(1)"}, headers={"Accept": accept})
    line = line_of(service, answer.headers["X-Run-Id"])
    assert line["form"] == form and line["status"] == 200
    assert line["bytes_out"] == len(answer.body)


#: Every way to go wrong, with the secret wherever a client can put it.
REFUSED = {
    "no JSON": f"{SECRET}",
    "cut off": f'{{"code": "{SECRET}',
    "an unknown member": {"code": "1", SECRET: SECRET},
    "a wrong type": {"code": [SECRET]},
    "a bad context": {"code": "1", "context": {f"__{SECRET}": 1}},
    "a context of another type": {"code": "1", "context": SECRET},
    "a bad key": {"code": "1", "key": f"{SECRET}\n"},
    "a bad file name": {"code": "1", "files": [
        {"name": f"../{SECRET}", "data": ""}]},
    "a bad file": {"code": "1", "files": [{"name": SECRET, "data": SECRET}]},
    "a bad timeout": {"code": "1", "timeout": SECRET},
    "twice": f'{{"code": "1", "{SECRET}": 1, "{SECRET}": 2}}',
}

FAILED = {
    "an exception": "raise ValueError(SECRET_VALUE)",
    "no Python": f"{SECRET} {SECRET}",
    "an unknown name": SECRET,
    "an exit": "import sys; sys.exit(SECRET_VALUE)",
    "a crash": "import os; print(SECRET_VALUE, flush=True); os._exit(3)",
    "a kill": "import os; os.kill(os.getpid(), 9); print(SECRET_VALUE)",
    "an abort": "import ctypes; ctypes.string_at(0)",
    "memory": "x = SECRET_VALUE * (1 << 40)",
    "a rubbish report": "import os; os.write(3, SECRET_VALUE.encode())\n"
                        "os._exit(0)",
    "a timeout": f"def {SECRET[1:]}(): pass\nwhile True: pass",
    "a timeout that is not minded":
        "import signal, time; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "time.sleep(60); print(SECRET_VALUE)",
    "a file and a figure": "open(SECRET_VALUE, 'w'); plt.title(SECRET_VALUE)",
    "a market call": "fmp.get('quote', symbol=SECRET_VALUE)",
}


def test_no_secret_is_in_any_line(service):
    for name, body in REFUSED.items():
        body = body.encode() if isinstance(body, str) else body
        answer = service.post(body)
        assert answer.status == 400, (name, answer.body)
    for kind in ("application/x-www-form-urlencoded",
                 f"multipart/form-data; boundary={SECRET}", SECRET,
                 f"application/json; charset={SECRET}"):
        answer = service.post(f"{SECRET}={SECRET}".encode(),
                              headers={"Content-Type": kind})
        assert answer.status in (400, 415), (kind, answer.body)
    assert service.post({"code": SECRET}, headers={
        "Accept": f"image/{SECRET}"}).status == 406
    ran = 0
    for name, code in FAILED.items():
        for accept in ("*/*", "text/event-stream"):
            answer = service.post({
                "code": code, "context": {"SECRET_VALUE": SECRET},
                "key": SECRET, "timeout": 1.5,
                "files": [{"name": SECRET + ".in", "data": ""}]},
                headers={"Accept": accept})
            assert answer.status == 200, (name, answer.body)
            ran += 1
    text = service.log.read_text()
    assert SECRET not in text and SECRET[1:] not in text.replace(
        f"main.py:1:{SECRET[1:]}", "")
    kinds = [one["kind"] for one in events(service)]
    assert kinds.count("refused") == len(REFUSED) + 5
    assert {"exception", "exit", "crash", "memory", "timeout"} <= set(kinds)
    assert len(kinds) >= ran


def test_odd_ids_and_bytes_of_clients_are_no_lines_of_theirs(service):
    before = len(events(service))
    for odd in ('"', "\\", "\n{}\n", "\x1b[31m", "é", "%s%n", "\x7f"):
        body, params = job("print(1)", REQUEST_ID=odd)
        assert ask(service.socket, body, params).status == 200
    told = events(service)[before:]
    assert len(told) == 7
    assert all(re.fullmatch("[0-9a-f]{32}", one["id"]) for one in told)


def test_one_who_leaves_has_a_line_too(service):
    before = len(events(service))
    with pytest.raises(OSError):
        service.post({"code": "import time; time.sleep(30)"}, timeout=1.2)
    wait_for(lambda: len(events(service)) > before, what="its line")
    line = events(service)[-1]
    assert line["kind"] == "abandoned" and line["status"] == 0
    assert 1 < line["seconds"] < 5
    slow = [one for one in events(service, "slow") if one["id"] == line["id"]]
    assert [one["stack"] for one in slow] == ["main.py:1:<module>"]


def test_what_others_say_is_escaped():
    """A zygote's words go into a message, whatever they are."""
    service = Service(log_format="json", workers=2, max_runs=1)
    child = service.directory / "child"
    child.write_text("#!/bin/sh\nprintf 'a\"b\\\\c\\td\\033[31m\\303\\377"
                     "{\"event\":\"run\"}\\n' >&2\nexit 1\n")
    child.chmod(0o755)
    service.options["child"] = child
    try:
        service.start_responder()
        wait_for(lambda: "event" in service.log.read_text())
        assert events(service) == []
        told = {strict(line).get("message") for line in own_lines(service)}
        assert ('zygote: a"b\\c\\x09d\\x1b[31m\\xc3\\xff{"event":"run"}'
                in told), told
    finally:
        service.end()


def test_text_has_the_same(start_cold):
    service = start_cold(workers=2, max_runs=1, slow_after="300ms")
    reply = service.run("import time\ntime.sleep(.6)\nprint(1)")
    text = service.log.read_text()
    assert re.search(rf"^\S+Z sandbox-fcgi\[\d+\]: run {reply['id']}: kind=ok "
                     r"status=200 form=json seconds=0\.\d{3} queue_seconds=\S+ "
                     r"cpu_seconds=\S+ peak_memory=\d+ bytes_in=\d+ "
                     r"bytes_out=\d+ output_bytes=2 figures=0 files=0 "
                     r"market_calls=0$", text, re.M)
    assert f"slow {reply['id']}: after=0.300 stack=main.py:2:<module>\n" in text


def test_the_journal_is_told_the_priority(tmp_path):
    log = tmp_path / "log"
    for stream, prefix in (("own", "<3>{"), ("1:2", "{")):
        with open(log, "wb") as file:
            there = os.fstat(file.fileno())
            if stream == "own":
                stream = f"{there.st_dev}:{there.st_ino}"
            subprocess.run([BUILD / "sandbox-fcgi", "--log-format=json",
                            "--child=/nowhere"], stderr=file,
                           env={"JOURNAL_STREAM": stream})
        line = log.read_text()
        assert line.startswith(prefix)
        assert strict(line.removeprefix("<3>").rstrip("\n"))["level"] == "error"


# Where slow runs stood

SLOW = {
    "sleep": ("import time\nt = time.monotonic()\ntime.sleep(1.2)\n"
              "print(time.monotonic() - t >= 1.2)", "main.py:3:<module>"),
    "a loop": ("def f(n):\n    for _ in range(n):\n        pass\n"
               "def g(n):\n    f(n)\nimport time\nt = time.monotonic()\n"
               "while time.monotonic() < t + 1.2:\n    g(10 ** 6)\nprint(True)",
               r"main.py:[23]:f,main.py:5:g,main.py:9:<module>"),
    "numpy": ("import time\na = np.random.rand(300, 300)\nt = time.monotonic()\n"
              "while time.monotonic() < t + 1.2:\n    b = a @ a\n"
              "print(np.allclose(b, a @ a))", r"main.py:[45]:<module>"),
    "a subprocess's output": (
        "import subprocess\nprint(subprocess.run(['sh', '-c', "
        "'sleep 1.2; echo said'], capture_output=True, text=True).stdout "
        "== 'said\\n')", "main.py:2:<module>"),
    "a subprocess's end": ("import subprocess\nprint(subprocess.call(['sleep', "
                           "'1.2']) == 0)", "main.py:2:<module>"),
    "a pipe": ("import os, subprocess\nr, w = os.pipe()\n"
               "p = subprocess.Popen(['sh', '-c', 'sleep 1.2; echo x'], "
               "stdout=w)\nprint(os.read(r, 9) == b'x\\n')",
               "main.py:4:<module>"),
    "select": ("import select, time\nt = time.monotonic()\n"
               "print(select.select([], [], [], 1.2) == ([], [], []) and "
               "time.monotonic() - t >= 1.19)", "main.py:3:<module>"),
    "poll": ("import select, time\nt = time.monotonic()\n"
             "print(select.poll().poll(1200) == [] and "
             "time.monotonic() - t >= 1.19)", "main.py:3:<module>"),
    "a lock": ("import threading\nl = threading.Lock()\nl.acquire()\n"
               "print(not l.acquire(timeout=1.2))", "main.py:4:<module>"),
    "threads": ("import threading, time\nd = []\n"
                "t = threading.Thread(target=lambda: (time.sleep(1.2), "
                "d.append(1)))\nt.start()\nt.join()\nprint(d == [1])",
                "main.py:5:<module>"),
    "asyncio": ("import asyncio, time\nasync def main():\n"
                "    await asyncio.sleep(1.2)\n    print(True)\n"
                "asyncio.run(main())", "main.py:5:<module>"),
    "a pool": ("import multiprocessing, time\ndef f(n):\n    time.sleep(1.2)\n"
               "    return n\nwith multiprocessing.Pool(2) as pool:\n"
               "    print(pool.map(f, [1, 2]) == [1, 2])",
               "main.py:6:<module>"),
    "sqlite": ("import sqlite3\nc = sqlite3.connect('d')\n"
               "print(c.execute('with recursive n(i) as (select 1 union all "
               "select i + 1 from n where i < 5000000) select count(*) from n')"
               ".fetchone() == (5000000,))\nimport time\ntime.sleep(1)",
               r"main.py:[35]:<module>"),
    "its own signals": (
        "import signal, time\ngot = []\n"
        "signal.signal(signal.SIGALRM, lambda *_: got.append(1))\n"
        "signal.setitimer(signal.ITIMER_REAL, .1, .1)\ntime.sleep(1.25)\n"
        "print(len(got) in range(10, 14))", r"main.py:[35]:\S*"),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_run_says_where_and_goes_on(service, name):
    code, stack = SLOW[name]
    reply = service.run(code)
    assert reply["error"] is None and reply["output"] == "True\n", reply
    told = [one for one in events(service, "slow") if one["id"] == reply["id"]]
    assert len(told) == 1 and told[0]["after"] == 0.7
    assert re.fullmatch(stack, told[0]["stack"]), told


def test_a_fast_run_says_nothing(service):
    reply = service.run("print(1)")
    assert line_of(service, reply["id"])["seconds"] < 0.7
    assert reply["id"] not in [one["id"] for one in events(service, "slow")]


def test_the_time_limit_still_tells_its_own_line(service):
    """The stack for the log is not taken for the one when time was up."""
    reply = service.run("import re, time\ntime.sleep(.9)\n"
                        "re.match('(a+)+b', 'a' * 40)", timeout=1.5)
    assert reply["error"]["kind"] == "timeout" and reply["error"]["line"] == 3
    told = [one for one in events(service, "slow") if one["id"] == reply["id"]]
    assert [one["stack"] for one in told] == ["main.py:2:<module>"]


LIES = {
    "a forged stack": (
        "import os, time\nos.write(3, b'Stack (most recent call first):\\n"
        "  File \"/tmp/main.py\", line 7 in a b\\x1b[31m\\xff,\"\\\\\\n')",
        None),
    "a long name": (
        "import time\ndef f(): time.sleep(1)\n"
        "f.__code__ = f.__code__.replace(co_name='x' * 9999)\nf()",
        r"main.py:2:x{64},main.py:4:<module>"),
    "a name of odd letters": (
        "import time\ndef f(): time.sleep(1)\n"
        "f.__code__ = f.__code__.replace(co_name='a b=\"c\\n\\u00e9')\nf()",
        r"main.py:2:a\?b\?\?c\?x0a\?xe9,main.py:4:<module>"),
    "a deep recursion": (
        "import time\ndef f(n): return f(n - 1) if n else time.sleep(1)\nf(500)",
        r"(main.py:2:f,){16}\.\.\."),
    "nobody who answers": (
        "import signal, time\nsignal.signal(signal.SIGRTMAX, signal.SIG_IGN)\n"
        "time.sleep(1)", "unknown"),
    "another program": (
        "import os\nos.execv('/bin/sleep', ['sleep', '1'])", "unknown"),
    "a closed report": (
        "import os, time\nos.close(3)\ntime.sleep(1)", "unknown"),
}


@pytest.mark.parametrize("name", LIES)
def test_what_a_program_says_of_its_stack_is_bounded(service, name):
    code, stack = LIES[name]
    answer = service.post({"code": code + "\nimport time; time.sleep(1)"
                           if stack is None else code})
    id = answer.headers["X-Run-Id"]
    line_of(service, id)
    told = [one["stack"] for one in events(service, "slow") if one["id"] == id]
    assert len(told) == 1 and re.fullmatch(stack or ".*", told[0]), told
    assert re.fullmatch(r"unknown|[A-Za-z0-9_<>.:,?]+", told[0])


def test_nobody_is_asked_when_it_is_off(start_cold):
    service = start_cold(workers=2, max_runs=1)
    service.run("import time; time.sleep(1); print(1)")
    assert "slow " not in service.log.read_text()


def test_lines_of_many_workers_do_not_mix(service):
    before = len(events(service))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(service.run, ["print(1)"] * 60))
    told = [one["id"] for one in events(service)[before:]]
    assert sorted(told) == sorted(reply["id"] for reply in replies)

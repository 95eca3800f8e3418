#!/usr/bin/python3
"""Pull the plugs: one fault after another under constant load.

    plugs.py [NAME ...]     as root, who may do all of this

Whatever the fault, each request is answered (200, 4xx, 502 or 503, those as
JSON) or its connection closed where the fault is nginx's own; none takes
longer than it may; afterwards a request works again, and nothing is left.
Prints a row for each; test_plugs.py holds the same to generous times.
"""

import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import mixed  # noqa: E402
from bench import client  # noqa: E402
from fmp_server import FmpServer  # noqa: E402
from service import Service, wait_for  # noqa: E402

WORKERS, RUNS, READY = 10, 4, 2
OPTIONS = {"workers": WORKERS, "max_runs": RUNS, "ready": READY,
           "timeout": "5s", "grace": "1s"}
#: queue_wait, timeout and grace, and what a busy machine adds.
LONGEST = 10 + 5 + 1 + 6
PROGRAMS = ["print(1)", "import time\ntime.sleep(0.2)\nprint(2)",
            "plt.plot([1, 2])"]


class Load:
    """Clients that ask all the while, and keep what they were answered."""

    def __init__(self, service, clients=6):
        self.answers, self.is_over = [], threading.Event()
        self.threads = [threading.Thread(
            target=self.ask, args=(service, PROGRAMS[n % len(PROGRAMS)]))
            for n in range(clients)]

    def ask(self, service, code):
        one = client.Client(service.port, json.dumps({"code": code}).encode())
        while not self.is_over.is_set():
            answer = one.ask()
            self.answers.append(answer)
            if answer.status != 200:
                time.sleep(0.02)  # as a client does that is told to try again
        one.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def kill(pids, number=signal.SIGKILL):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def all_of(service):
    return [pid for name in ("keeper", "zygote", "worker", "ready", "run")
            for pid in service.pids(name)]


# The faults. Each is done when its function returns.

def zygote(service):
    kill(service.pids("zygote")[:1])


def keeper(service):
    kill(service.pids("keeper"))


def one_worker(service):
    kill(service.pids("worker")[:1])


def all_workers(service):
    kill(service.pids("worker"))


def ready_children(service):
    kill(service.pids("ready"))


def runs(service):
    kill(wait_for(lambda: service.pids("run"), 20))


def at_random(service, seconds=4):
    """One process after another, of any kind."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        kill(random.choices(all_of(service)))
        time.sleep(0.2)


def master(service):
    """As systemd, something starts it again."""
    service.responder.kill()
    service.responder.wait()
    time.sleep(0.1)
    service.start_responder()


def nginx(service):
    below = mixed.processes_below(service.nginx.pid)
    service.nginx.kill()
    service.nginx.wait()
    kill(below)
    wait_for(lambda: not any(map(mixed.title, below)))
    service.start_nginx()


def reload(service):
    service.responder.send_signal(signal.SIGHUP)


def stopped(service, name, seconds=2):
    """Processes of that name are stopped for a while."""
    pids = service.pids(name)
    kill(pids, signal.SIGSTOP)
    time.sleep(seconds)
    kill(pids, signal.SIGCONT)


def stopped_zygote(service):
    stopped(service, "zygote")


def stopped_workers(service):
    stopped(service, "worker")


def stopped_children(service):
    stopped(service, "ready")


def stopped_master(service):
    kill([service.responder.pid], signal.SIGSTOP)
    kill(service.pids("worker")[:3])
    time.sleep(2)
    kill([service.responder.pid], signal.SIGCONT)


def prlimit(pid, limit, *more):
    """As the account of that process: root need not have the power."""
    owner = str(os.stat(f"/proc/{pid}").st_uid)
    return subprocess.run(
        ["setpriv", "--reuid", owner, "--regid", owner, "--clear-groups",
         "prlimit", "--pid", str(pid), limit, *more],
        capture_output=True, text=True).stdout.strip()


def limited(pids, name, value, meanwhile=lambda: time.sleep(2)):
    """A soft limit of those processes is lowered for a while."""
    old = {pid: prlimit(pid, f"--{name}", "--noheadings", "--output", "SOFT")
           for pid in pids}
    assert all(old.values()), f"{name}: {old}"
    for pid in pids:
        prlimit(pid, f"--{name}={value}:")
    meanwhile()
    for pid, soft in old.items():
        with contextlib.suppress(FileNotFoundError):  # it ended of it
            prlimit(pid, f"--{name}={soft}:")


def no_descriptors(service):
    """For the workers, which cannot accept or take a child; then for the
    zygote and the master, which can make none."""
    limited(service.pids("worker"), "nofile", 3)
    limited([service.responder.pid, *service.pids("zygote")[:1]], "nofile", 3)


def no_processes(service):
    """The zygote cannot fork."""
    limited(service.pids("zygote")[:1], "nproc", 1)


def no_memory(service):
    """Workers get no more of it, and the zygote. One that takes a job which
    needs more dies of it, or says so, and whoever replaces one has all of it:
    the job is sent until one has died of it, or of what others sent."""
    large = {"code": "print(1)", "context": {"a": "x" * 8_000_000}}
    workers = service.pids("worker")
    answers = []

    def are_left():
        return set(workers) & set(service.pids("worker"))

    def ask():
        while 502 not in answers and are_left() and len(answers) < 100:
            answers.append(service.post(large).status)

    limited(workers, "as", 1 << 20, ask)
    assert set(answers) <= {200, 502, 503}, answers
    assert len(are_left()) < len(workers), "none died of it"
    assert service.post(large).status == 200
    limited(service.pids("zygote")[:1], "as", 1 << 20)


def full_disk(service):
    """So that no line of the log can be written."""
    filler = service.disk / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", 0) as file:
        while True:
            file.write(bytes(4096))
    assert os.statvfs(service.disk).f_bavail == 0
    time.sleep(2)
    filler.unlink()


def clock(service):
    """It goes forward by a day, and back by two."""
    for offset in ("+1d", "-1d", "+0"):
        service.clock.write_text(offset + "\n")
        time.sleep(1)


MARKET = ("try: fmp.quote('AAPL')\n"
          "except Exception as error: print(type(error).__name__)\n"
          "else: print('market')")


def market(service):
    """Its server stalls, and dies."""
    assert service.run(MARKET, key="demo-1")["output"] == "market\n"
    reply = service.run(MARKET.replace("AAPL", "FAULT-STALL"), key="demo-2",
                        timeout=2)
    assert reply["error"]["kind"] == "timeout" or reply["output"]
    service.fmp.stop()
    reply = service.run(MARKET.replace("AAPL", "MSFT"), key="demo-3")
    assert reply["output"] not in ("", "market\n"), reply
    assert reply["seconds"] < 6


def no_name(service):
    """The market's name is not known: of a service of its own, for this one
    knows it."""
    with Service(fmp_url="https://nowhere.invalid/stable",
                 **OPTIONS) as other:
        reply = other.run(MARKET, key="demo-1")
        assert reply["output"] not in ("", "market\n"), reply
        assert reply["seconds"] < 6


def silence(service, count=10_000):
    """So many connections to nginx that say nothing, while it is asked."""
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (old[1], old[1]))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, old)
        for number in range(count):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(("127.0.0.1", service.port))
            if number % 200 == 0:
                time.sleep(0.01)
        assert service.run("print(1)")["output"] == "1\n"


FAULTS = {fault.__name__: fault for fault in (
    zygote, keeper, one_worker, all_workers, ready_children, runs, at_random,
    master, nginx, reload, stopped_zygote, stopped_workers, stopped_children,
    stopped_master, no_descriptors, no_processes, no_memory, full_disk, clock,
    market, no_name, silence)}

#: Where a connection may end without an answer, for it is nginx that ends it.
UNANSWERED = {"nginx", "silence"}
#: A worker that had market calls keeps what libcurl needs for more.
KEPT = {"market": 5 * WORKERS}
FAKETIME = pathlib.Path(
    f"/usr/lib/{os.uname().machine}-linux-gnu/faketime/libfaketime.so.1")


@contextlib.contextmanager
def breakable_service():
    """One with a small disk of its own, a clock that can be moved, and market
    data from a server that can be ended."""
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(tempfile.TemporaryDirectory())
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=755",
                        "plugs", disk], check=True)
        stack.callback(subprocess.run, ["umount", "-l", disk], check=True)
        fmp = FmpServer()
        os.chmod(fmp.directory, 0o755)
        fmp.start()
        stack.callback(fmp.stop)
        service = Service(log=f"{disk}/log", fmp_url=fmp.url, fmp_ca=fmp.ca,
                          fmp_rate=0, **OPTIONS)
        service.disk, service.fmp = pathlib.Path(disk), fmp
        service.clock = service.directory / "clock"
        service.clock.write_text("+0\n")
        service.environment = {
            **os.environ, "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(service.clock),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
            # It loses a variable, for which title.c would be blamed.
            "LSAN_OPTIONS": "detect_leaks=0"} if FAKETIME.exists() else None
        start = service.start_responder
        service.start_responder = lambda: start(service.environment)
        stack.enter_context(service)
        yield service


def recovery(service, since):
    """Ask until a request works; the seconds from `since`."""
    one = client.Client(service.port)
    while (answer := one.ask()).status != 200:
        if time.perf_counter() - since > 60:
            raise TimeoutError(f"nothing works any more: {answer}")
        time.sleep(0.01)
    one.close()
    return time.perf_counter() - since


Row = collections.namedtuple(
    "Row", "name statuses longest recovery left")


def rest(service):
    """When each place for a run has what it keeps for the next (a network)."""
    with concurrent.futures.ThreadPoolExecutor(RUNS) as pool:
        list(pool.map(service.run, ["import time\ntime.sleep(1)"] * RUNS))
    mixed.wait_for_rest(service, READY, WORKERS)


def pull(service, name):
    """One fault under load. AssertionError when a request was not answered as
    it may be; what is left is told, and how long it took."""
    rest(service)
    first = mixed.settled_census(service)
    with Load(service) as load:
        time.sleep(0.5)
        FAULTS[name](service)
        took = recovery(service, time.perf_counter())
        time.sleep(0.5)
    allowed = {200, 502, 503} | ({0} if name in UNANSWERED else set())
    wrong = [answer for answer in load.answers
             if answer.status not in allowed or
             answer.status in (502, 503) and
             b"application/problem+json" not in answer.start]
    assert not wrong, (name, wrong[:3])
    longest = max(answer.seconds for answer in load.answers)
    assert longest < LONGEST, (name, longest)
    assert service.run("print(1)")["output"] == "1\n"
    rest(service)
    kept = KEPT.get(name, 0)
    last = mixed.settled_census(service, first, more=kept)
    return Row(name, dict(sorted(collections.Counter(
        answer.status for answer in load.answers).items())), longest, took,
        {key: last[key] - first[key] for key in mixed.COUNTED
         if last[key] - first[key] > (kept if key == "descriptors" else 0)})


def main(names):
    left = False
    print(f"{'fault':>16} {'again s':>8} {'longest s':>9}  answers")
    with breakable_service() as service:
        for _ in range(30):
            mixed.ask(service, "figure")
        for name in names or FAULTS:
            row = pull(service, name)
            left |= bool(row.left)
            print(f"{name:>16} {row.recovery:8.2f} {row.longest:9.2f}  "
                  f"{row.statuses} {row.left or ''}", flush=True)
    sys.exit(left)


if __name__ == "__main__":
    main(sys.argv[1:])

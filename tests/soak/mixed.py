"""Runs of all kinds, and a census of all that a service could leave behind."""

import base64
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import socket
import threading

from service import memory_mib, processes_below, title, wait_for

FILE = base64.b64encode(os.urandom(30_000)).decode()


def kind_of(reply):
    return reply["error"] and reply["error"]["kind"]


#: name: (weight, job, what its reply must be like)
JOBS = {
    "print": (60, {"code": "print(1)"},
              lambda reply: reply["output"] == "1\n"),
    "figure": (4, {"code": "plt.plot(np.arange(9) ** 2)"},
               lambda reply: len(reply["figures"]) == 1),
    "excel": (3, {"code": "save_excel(pd.DataFrame({'a': range(99)}))"},
              lambda reply: reply["files"][0]["name"].endswith(".xlsx")),
    "word": (2, {"code": "save_word('# A\\n\\ntext')"},
             lambda reply: reply["files"][0]["name"].endswith(".docx")),
    "exception": (8, {"code": "1 / 0"},
                  lambda reply: kind_of(reply) == "exception"),
    "timeout": (2, {"code": "while True: pass", "timeout": 0.1},
                lambda reply: kind_of(reply) == "timeout"),
    "crash": (3, {"code": "import os\nos.kill(os.getpid(), 9)\nos._exit(3)"},
              lambda reply: kind_of(reply) == "crash"),
    "memory": (1, {"code": "bytearray(2 << 30)"},
               lambda reply: kind_of(reply) == "memory"),
    "forks": (3, {"code": "import subprocess\n"
                          "for _ in range(3): subprocess.Popen(['sleep', '9'])"
                          "\nprint(2)"},
              lambda reply: reply["output"] == "2\n"),
    "output": (3, {"code": "print('x' * 3_000_000)"},
               lambda reply: reply["output_dropped"] > 1_900_000),
    "files": (3, {"code": "print(len(open('in', 'rb').read()))\n"
                          "for n in range(20): open(f'{n}', 'w').write('y')",
                  "files": [{"name": "in", "data": FILE}]},
              lambda reply: reply["output"] == "30000\n" and
              len(reply["files"]) == 20),
    "refused": (3, {"code": 1}, None),
    "abandoned": (2, {"code": "import time\ntime.sleep(20)"}, None),
    "events": (3, {"code": "for n in range(50): print(n, flush=True)"}, None),
}


def abandon(service, body):
    """Ask, and go away before there is an answer."""
    with socket.create_connection(("127.0.0.1", service.port)) as client:
        client.sendall(b"POST /run HTTP/1.1\r\nHost: here\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
        client.settimeout(0.05)
        try:
            client.recv(1)
        except TimeoutError:
            pass


def ask(service, name):
    """One of that name; an AssertionError when it is not as it must be."""
    _, job, is_right = JOBS[name]
    body = json.dumps(job).encode()
    if name == "abandoned":
        abandon(service, body)
    elif name == "refused":
        assert service.post(body).status == 400
    elif name == "events":
        answer = service.post(body, headers={"Accept": "text/event-stream"})
        assert answer.status == 200 and b"event: done\n" in answer.body
    else:
        answer = service.post(body)
        assert answer.status == 200, (name, answer.status, answer.body[:300])
        assert is_right(answer.json), (name, answer.body[:600])


def runs(service, seconds, clients=4, seed=None):
    """Ask for all kinds at random for so long; how many there were of each."""
    is_over = threading.Event()
    timer = threading.Timer(seconds, is_over.set)
    names, weights = zip(*((name, job[0]) for name, job in JOBS.items()))

    def one(number):
        choice = random.Random(None if seed is None else seed + number)
        counts = collections.Counter()
        while not is_over.is_set():
            name = choice.choices(names, weights)[0]
            ask(service, name)
            counts[name] += 1
        return counts
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        timer.start()
        try:
            return sum(pool.map(one, range(clients)), collections.Counter())
        finally:
            timer.cancel()
            is_over.set()


# What there is of it

def wait_for_rest(service, ready, workers, seconds=120):
    """No run, no leaver, one zygote, and all its ready children. A fresh one
    may just be starting, which takes a busy machine some time."""
    wanted = {"run": 0, "keeper": 1, "zygote": 1, "ready": ready,
              "worker": workers}

    def counts():
        return {name: len(service.pids(name)) for name in wanted}
    try:
        wait_for(lambda: counts() == wanted, seconds, "a service at rest")
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {counts()}; " +
                           service.log.read_text()[-1500:])


def lines_of(path):
    try:
        return len(pathlib.Path(path).read_text().splitlines())
    except OSError:
        return 0


def names_below(directory):
    return sum(len(names) + len(files)
               for _, names, files in os.walk(directory))


def cgroups(service):
    """Directories beside the master's own, where the service divides one."""
    own = pathlib.Path(f"/proc/{service.responder.pid}/cgroup").read_text()
    path = own.rpartition("0::")[2].strip().removesuffix("/service")
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[2] == "cgroup2" and path not in ("", "/"):
            return sum(len(names) for _, names, _
                       in os.walk(line.split()[1] + path))
    return 0


def census(service):
    """At rest; memory only for root, who may ask what each weighs."""
    pids = [service.responder.pid, *processes_below(service.responder.pid)]
    staying = [pid for pid in pids if not title(pid).endswith("ready")]
    return {
        "memory": memory_mib(pids) if os.geteuid() == 0 else 0,
        "processes": len(pids),
        "descriptors": sum(len(os.listdir(f"/proc/{pid}/fd"))
                           for pid in staying),
        "mounts": sum(lines_of(f"/proc/{pid}/mounts")
                      for pid in [os.getpid(), *service.pids("zygote")]),
        "cgroups": cgroups(service),
        "files": names_below(service.directory),
    }


#: All but memory is counted, and must be as it was.
COUNTED = ("processes", "descriptors", "mounts", "cgroups", "files")


def settled_census(service, like=None, seconds=20, more=0):
    """Once all that is counted is no more than in `like`, but for so many more
    descriptors, or the time over: nginx and the kernel take a moment to let
    go."""
    now = {}

    def is_little():
        try:
            now.update(census(service))
        except (FileNotFoundError, ProcessLookupError):
            return False  # one of them ended meanwhile
        return like is None or all(
            now[name] <= like[name] + (more if name == "descriptors" else 0)
            for name in COUNTED)
    try:
        wait_for(is_little, seconds)
    except TimeoutError:
        pass
    return dict(now)

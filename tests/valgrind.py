"""valgrind.py: the responder under valgrind, for 1,000 requests of all sorts.

Fails when valgrind has anything to say of the master or a worker: an error,
or memory that nothing points to any more.
"""

import collections
import concurrent.futures
import os
import re
import signal
import sys

from fmp_server import FmpServer
from service import BUILD, Service, processes_below, title, wait_for

REQUESTS = 1000


def jobs(key):
    """Path, body, headers: one of each sort, over and over."""
    def run(code, accept="*/*", **more):
        return "/run", {"code": code, **more}, {"Accept": accept}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    multipart = {"Content-Type": "multipart/form-data; boundary=b"}
    return [
        run("print(1)"), run("1 / 0"), run("pass"), run("syntax error"),
        run("print(x)", context={"x": [1, "é", None]}),
        run("print('x' * 10 ** 6)"), run("import os; os._exit(3)"),
        run("import time; time.sleep(3)", timeout=0.3),
        run("plt.plot([1, 2])"), run("open('a/b', 'w')"),
        run("open('f', 'wb').write(bytes(10 ** 5))"),
        run("print(open('in').read())",
            files=[{"name": "in", "data": "aGVsbG8="}]),
        run("print(1)", "text/html"), run("print(1)", "text/event-stream"),
        run("1 / 0", "text/html"), run("print(1)", "image/png"),
        run("print(fmp.get('quote', symbol='AAPL'))", key=key),
        run("fmp.get('quote', symbol='FAULT-DROP')", key=key),
        run("import os; os.write(3, b'{rubbish')"),
        ("/run", {"code": 1}, {}), ("/run", b"", {}), ("/run", b"{" * 500, {}),
        ("/run", b"code=print(1)&timeout=5", form), ("/run", b"code=%", form),
        ("/run", b'--b\r\nContent-Disposition: form-data; name="code"\r\n\r\n'
                 b'print(1)\r\n--b--\r\n', multipart),
        ("/run", b"--b\r\n", multipart), ("/run", b"", {"Content-Type": "a/b"}),
        *(("/" + path, None, {}) for path in (
            "healthz", "status", "metrics", "about", "tool.json",
            "openapi.json")),
        ("/status", None, {"Accept": "text/html"}),
    ]


class Traced(Service):
    """The master and the workers, which are forks of it, under valgrind; not
    the zygote, which is another program."""

    def __init__(self, **options):
        super().__init__(**options)
        self.logs = self.directory / "valgrind"
        self.logs.mkdir()
        self.logs.chmod(0o777)
        self.wrapper = ["valgrind", "--trace-children=no", "--leak-check=full",
                        f"--log-file={self.logs}/%p"]

    def start_responder(self):
        super().start_responder({
            **os.environ, "LD_PRELOAD": BUILD / "valgrind/openat2.so"})

    def traced(self):
        """The workers. Their titles are valgrind's."""
        return [pid for pid in processes_below(self.responder.pid)
                if "valgrind" in title(pid)]

    def told(self, pid):
        """All that valgrind has to say of a process, once it has ended."""
        def summary():
            text = (self.logs / str(pid)).read_text()
            return text if "ERROR SUMMARY" in text else None
        return wait_for(summary, 60, f"valgrind's summary of {pid}")


def send(service, job):
    path, body, headers = job
    if body is None:
        return service.get(path, headers=headers).status
    return service.post(body, path=path, headers=headers).status


def trace(service, key):
    """Send all requests, end all processes; what valgrind said, by process."""
    some = jobs(key)
    workers = service.traced()
    assert len(workers) == service.options["workers"]
    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        statuses = collections.Counter(pool.map(
            lambda i: send(service, some[i % len(some)]), range(REQUESTS)))
    print(f"{REQUESTS} requests, by status: {dict(statuses)}")
    assert statuses[200] > REQUESTS / 2 and max(statuses) < 500
    assert workers == service.traced(), "a worker ended"
    for pid in workers:
        os.kill(pid, signal.SIGTERM)
    told = {pid: service.told(pid) for pid in workers}
    service.responder.terminate()
    service.responder.wait(60)
    told[service.responder.pid] = service.told(service.responder.pid)
    return told


def main():
    with FmpServer() as fmp, Traced(
            fmp_url=fmp.url, fmp_ca=fmp.ca, workers=4, max_runs=2,
            log_format="json", slow_after="200ms", queue_wait="60s") as service:
        told = trace(service, "demo-1")
    bad = 0
    for pid, text in told.items():
        errors = re.search(r"ERROR SUMMARY: (.*?) \(", text)[1]
        lost = re.search(r"definitely lost: (.*)|no leaks are possible", text)
        print(f"process {pid}: {errors}; definitely lost: {lost[1] or 'none'}")
        if not (errors.startswith("0 errors") and
                (lost[1] or "0 bytes").startswith("0 bytes")):
            bad += 1
            print(text)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())

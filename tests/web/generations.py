"""What the tests of signals, reloads and renewals share."""

import json
import os
import pathlib
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from bench import client
from service import Service, wait_for

#: A run that ends when it is told to.
SLOW = """
import signal, time
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
while not told:
    time.sleep(0.02)
print('end')
"""


class Configured(Service):
    """One whose options, but for `fixed` ones, are in a file."""

    def __init__(self, fixed=(), **options):
        super().__init__(**options)
        self.file = self.directory / "conf"
        self.options = {"config": self.file, "log": self.directory / "own",
                        **{key: options.pop(key) for key in fixed}}
        self.configure(**options)

    def configure(self, **options):
        self.file.write_text("[sandbox-fcgi]\n" + "".join(
            f"{key} = {value}\n" for key, value in options.items()))

    def own_log(self):
        return pathlib.Path(self.options["log"]).read_text()

    def reload(self, what="the new configuration has taken over", seconds=90):
        """SIGHUP, and wait until the log says so once more."""
        before = self.own_log().count(what)
        self.responder.send_signal(signal.SIGHUP)
        wait_for(lambda: self.own_log().count(what) > before, seconds, what)


@contextmanager
def load(service, clients=8, code="print(1)"):
    """Many clients that ask all the while; gives their answers, which are all
    there after it."""
    answers, is_over = [], threading.Event()
    body = json.dumps({"code": code}).encode()

    def ask():
        one = client.Client(service.port, body)
        while not is_over.is_set():
            answers.append(one.ask())
        one.close()
    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def statuses(answers):
    return Counter(answer.status for answer in answers)


def status(service):
    return service.get("/status").json


def settled(service, workers):
    """Wait until there is one zygote and that many workers, and no leavers."""
    wait_for(lambda: len(service.pids("keeper")) == 1 and
             len(service.pids("worker")) == workers, 15, "one generation")


@contextmanager
def slow_runs(service, count=1):
    """As many runs of SLOW that have begun; gives their futures."""
    assert service.reply_schema  # which cannot be had of one that ends
    with ThreadPoolExecutor(count) as pool:
        before = len(service.pids("run"))
        futures = [pool.submit(service.run, SLOW) for _ in range(count)]
        wait_for(lambda: len(service.pids("run")) == before + count, 30,
                 "runs")
        yield futures
        end(service, futures)


def end(service, futures):
    """Tell all runs to end; and see that these have ended well."""
    def have_ended():
        for pid in service.pids("run"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)
        return all(future.done() for future in futures)
    wait_for(have_ended, 20, "the end of the runs")
    assert {future.result()["output"] for future in futures} == {"end\n"}

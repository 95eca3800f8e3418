"""Two hosts and one nginx before them, each on a network of its own: the load
is spread, and a host that is cut off or killed takes nothing along but what it
was doing. Each program leaves a mark where it ran, so that it can be seen that
none ran twice: a call to its host's own market-data server.
"""

import collections
import contextlib
import os
import re
import secrets
import signal
import threading
import time
import urllib.request

import pytest
from fastcgi import HEALTH, ask
from fmp_server import FmpServer
from front import Front, example, hosts
from network import Machine, enter
from service import Service, wait_for

CLIENTS = 16
CODE = """\
fmp.get("search-symbol", query=token)
import time
time.sleep(0.05)
print(token)
"""
Answer = collections.namedtuple("Answer", "token status seconds body")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for "
                                "network namespaces")


class Host(Service):
    """A responder on a machine of its own, and where its programs leave
    their marks."""

    def __init__(self, machine, address):
        self.machine, self.address = machine, (address, 9000)
        with machine.inside():
            self.market = FmpServer(tls=False)
            self.market.start()
            urllib.request.urlopen(  # which has the market made up
                self.market.url + "/search-symbol?query=x&apikey=demo").close()
        super().__init__(listen=f"{address}:9000", fmp_url=self.market.url,
                         fmp_rate=0, fmp_cache=0)

    def start(self):
        with self.machine.inside():
            self.start_responder()

    def wait_until_listening(self):
        def is_warm():
            with contextlib.suppress(OSError):
                return ask(self.address, b"", HEALTH).status == 200
        wait_for(is_warm, 60, "a warm child")

    def end(self):
        super().end()
        self.market.stop()

    def marks(self):
        return [asked.params["query"] for asked in self.market.requests]


class Load:
    """Clients that send programs, one behind the other, while it lasts."""

    def __init__(self, front):
        self.front, self.answers = front, []
        self.name = secrets.token_hex(8)
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.client, args=(number,))
                        for number in range(CLIENTS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self.ended.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()

    def client(self, number):
        enter(self.front.machine.network)
        count = 0
        while not self.ended.is_set():
            count += 1
            token = f"{self.name}-{number}-{count}"
            began = time.monotonic()
            answer = self.front.post({"code": CODE, "key": "demo-growth",
                                      "context": {"token": token}})
            self.answers.append(Answer(token, answer.status,
                                       time.monotonic() - began, answer.json))

    def lost(self):
        return [answer for answer in self.answers
                if answer.status not in (200, 503)]

    def wait_for_more(self, count=100):
        goal = len(self.answers) + count
        wait_for(lambda: len(self.answers) >= goal, 60, f"{count} answers")


@pytest.fixture(scope="module")
def cluster():
    """(front, host, host), with nginx and kernel as upstream.conf says."""
    with contextlib.ExitStack() as stack:
        def machine():
            try:
                made = Machine()
            except OSError as error:
                pytest.skip(str(error))
            stack.callback(made.end)
            return made
        middle, *others = machine(), machine(), machine()
        here = []
        for number, other in enumerate(others, 1):
            middle.connect(other, f"10.77.{number}")
            here.append(Host(other, f"10.77.{number}.2"))
            stack.enter_context(here[-1])
        for name, value in re.findall(r"^# +(net\.\S+) = (\d+)$",
                                      example("upstream.conf"), re.MULTILINE):
            middle.set(name, value)
        front = Front(hosts(*("%s:%d" % host.address for host in here)),
                      hosts=True)
        front.machine = middle
        stack.enter_context(middle.inside())
        stack.enter_context(front)
        front.wait_until_warm()
        yield front, *here


def check(load, *machines):
    """Who was answered 200 ran once, on one host; nobody ran twice; who was
    not answered so did not run on the last host, which stayed well."""
    marks = collections.Counter(mark for host in machines
                                for mark in host.marks())
    for answer in load.answers:
        if answer.status == 200:
            assert answer.body["output"] == answer.token + "\n", answer
            assert marks[answer.token] == 1, answer
        elif answer.status == 503:  # by a host that was not warm in time
            assert marks[answer.token] == 0, answer
        else:
            assert answer.status in (502, 504), answer
            assert answer.body["status"] == answer.status
            assert marks[answer.token] <= 1, answer
            assert answer.token not in machines[-1].marks(), answer


def told(load, what):
    slowest = max(answer.seconds for answer in load.answers
                  if answer.status == 200)
    print(f"{what}: {len(load.answers)} requests, {len(load.lost())} lost, "
          f"slowest good answer {slowest:.1f} s, slowest lost "
          f"{max([one.seconds for one in load.lost()], default=0):.1f} s")


def test_load_is_spread_over_both(cluster):
    front, *both = cluster
    before = [len(host.marks()) for host in both]
    with Load(front) as load:
        load.wait_for_more(400)
    assert {answer.status for answer in load.answers} == {200}
    check(load, *both)
    shares = [(len(host.marks()) - count) / len(load.answers)
              for host, count in zip(both, before)]
    told(load, f"spread {shares[0]:.0%} and {shares[1]:.0%}")
    assert min(shares) > 0.3


def comes_back(load, host):
    before = len(host.marks())
    wait_for(lambda: len(host.marks()) >= before + 20, 60,
             "runs on the host that is back")


def test_a_host_that_is_cut_off_takes_nothing_else_along(cluster):
    front, first, second = cluster
    with Load(front) as load:
        load.wait_for_more()
        first.machine.ip("link", "set", "eth0", "down")
        wait_for(load.lost, 40, "the end of what it was doing")
        wait_for(lambda: "while connecting to upstream" in
                 front.log.read_text(), 30, "an attempt to reach it")
        load.wait_for_more()
        before = len(load.lost())
        first.machine.ip("link", "set", "eth0", "up")
        comes_back(load, first)
    told(load, "cut off")
    assert len(load.lost()) == before <= CLIENTS
    assert [one for one in load.answers if one.seconds > 30] == []
    check(load, first, second)


def test_a_host_that_is_killed_takes_nothing_else_along(cluster):
    front, first, second = cluster
    with Load(front) as load:
        load.wait_for_more()
        first.responder.send_signal(signal.SIGKILL)
        first.responder.wait(5)
        load.wait_for_more()
        assert 0 < len(load.lost()) <= CLIENTS
        first.start()
        comes_back(load, first)
    told(load, "killed")
    assert len(load.lost()) <= CLIENTS
    assert [one for one in load.answers if one.seconds > 15] == []
    check(load, first, second)

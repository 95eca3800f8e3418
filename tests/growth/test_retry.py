"""upstream.conf: nginx passes a run to another host only when the first has
received nothing of it."""

import concurrent.futures
import contextlib
import re
import socket
import threading

import pytest
from fastcgi import END, HEALTH, STDOUT, ask, record
from front import Front, hosts
from service import Service, free_port, wait_for

PROBLEM = "application/problem+json"
HASTY = [("fastcgi_read_timeout 120s", "fastcgi_read_timeout 1s")]


class Faulty:
    """A host that takes connections, and then does what it should not.

    act(connection) does it. `came` counts the connections on which a request
    came in.
    """

    def __init__(self, act):
        self.act, self.came, self.open = act, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                self.came += bool(connection.recv(1 << 20))
                self.open.append(connection)
                self.act(connection)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            connection.close()


def hang_up(connection):
    connection.close()


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          b"\x01\0\0\0\0\0\0\0")
    connection.close()


def say_nothing(connection):
    pass


def break_off(connection):
    connection.sendall(record(STDOUT, b"Status: 200 OK\r\n"))
    connection.close()


def be_full(connection):
    """As the responder does when it has no place: all read, 503."""
    connection.settimeout(0.2)
    with contextlib.suppress(TimeoutError):
        while connection.recv(1 << 20):
            pass
    connection.sendall(
        record(STDOUT, b"Status: 503 Busy\r\nRetry-After: 2\r\n\r\nfull.") +
        record(END, bytes(8)))
    connection.close()


@pytest.fixture
def front():
    """front(addresses, ...): an nginx before these hosts."""
    with contextlib.ExitStack() as stack:
        def start(addresses, changes=(), **parameters):
            one = stack.enter_context(Front(
                hosts(*addresses, **parameters), hosts=True, changes=changes))
            wait_for(lambda: (one.directory / "nginx.pid").exists() and
                     can_connect(one.port), what="nginx")
            return one
        yield start


def can_connect(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True


@pytest.fixture(scope="module")
def host():
    """A responder on TCP."""
    class Host(Service):
        address = f"127.0.0.1:{free_port()}"

        def start(self):
            self.start_responder()

        def wait_until_listening(self):
            name, port = self.address.split(":")

            def is_warm():
                with contextlib.suppress(OSError):
                    return ask((name, int(port)), b"", HEALTH).status == 200
            wait_for(is_warm, 60, "a warm child")

        def count(self):
            return len(re.findall("run [0-9a-f]{32}: ", self.log.read_text()))
    with Host(listen=Host.address) as one:
        yield one


@pytest.mark.parametrize("act, status", [
    (hang_up, 502), (reset, 502), (break_off, 502), (say_nothing, 504),
    (be_full, 503)])
def test_a_run_that_was_sent_is_sent_to_no_other(front, act, status):
    faulty = [Faulty(act), Faulty(act)]
    nginx = front([one.address for one in faulty],
                  HASTY if act is say_nothing else (), max_fails=0)
    for count in range(1, 4):
        answer = nginx.post({"code": "1" * 100000})
        assert answer.status == status
        assert sum(one.came for one in faulty) == count
    if status == 503:  # the responder's word, not nginx's
        assert answer.body == b"full." and answer.headers["Retry-After"] == "2"
    else:
        assert answer.headers["Content-Type"] == PROBLEM
        assert answer.json["status"] == status
    for one in faulty:
        one.close()


def test_a_run_goes_elsewhere_when_the_connection_is_refused(front, host):
    nginx = front([f"127.0.0.1:{free_port()}", host.address], max_fails=0)
    before = host.count()
    for number in range(10):
        assert nginx.run(f"print({number})")["output"] == f"{number}\n"
    wait_for(lambda: host.count() == before + 10, what="ten lines of log")
    assert "Connection refused" in nginx.log.read_text()


def test_a_run_goes_elsewhere_when_the_connection_does_not_come_about(
        front, host):
    """A queue of connections that is full drops what comes."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, \
            contextlib.ExitStack() as stack:
        for _ in range(3):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        nginx = front(["127.0.0.1:%d" % listener.getsockname()[1],
                       host.address], max_fails=0)
        before = host.count()
        for number in range(4):
            assert nginx.run(f"print({number})")["output"] == f"{number}\n"
        wait_for(lambda: host.count() == before + 4, what="four lines of log")
        assert "upstream timed out" in nginx.log.read_text()


def test_a_host_that_breaks_off_is_left_out_after_two(front, host):
    faulty = Faulty(hang_up)
    nginx = front([faulty.address, host.address])
    answers = [nginx.post({"code": "print(1)"}).status for _ in range(12)]
    assert answers.count(502) == faulty.came == 2
    assert answers.count(200) == 10
    faulty.close()


def test_healthz_leaves_out_a_host_that_is_not_well(front, host):
    """And is itself answered by one that is."""
    faulty = Faulty(be_full)
    nginx = front([faulty.address, host.address])
    assert [nginx.get("/healthz").status for _ in range(8)] == [200] * 8
    assert faulty.came == 2
    assert [nginx.post({"code": "print(1)"}).status
            for _ in range(8)] == [200] * 8
    assert faulty.came == 2
    faulty.close()


def test_without_any_host_the_answer_is_a_502_at_once(front):
    nginx = front([f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"])
    for _ in range(4):
        answer = nginx.post({"code": "1"}, timeout=5)
        assert answer.status == answer.json["status"] == 502
        assert answer.headers["Retry-After"] == "1"


def test_more_than_max_conns_do_not_wait_for_a_host(front, host):
    nginx = front([host.address], max_conns=1)
    job = {"code": "import time; time.sleep(1)\nprint(1)"}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        statuses = sorted(answer.status for answer in
                          pool.map(nginx.post, [job] * 4))
    assert statuses == [200, 502, 502, 502]

"""A run as a stream of events: told while it goes on, whole in the end, and
no hindrance to its limits, whoever reads."""

import http.client
import json
import socket
import subprocess
import time

import pytest
from fastcgi import ABORT, Connection, ask, job, record, request
from service import BUILD, Service, wait_for

EVENTS = {"Content-Type": "application/json", "Accept": "text/event-stream"}
#: Prints for ever, faster than anybody reads; in JSON each byte is six.
FLOOD = "while True: print('\\0' * 60000)"


@pytest.fixture(scope="module")
def small_service():
    """One that keeps 4000 bytes of output: 3000 of its head."""
    with Service(max_output=4000, workers=3, max_runs=2, ready=1) as service:
        yield service


@pytest.fixture(scope="module")
def wide_service():
    """One that keeps more output than fits between it and a client."""
    with Service(max_output="6M", workers=3, max_runs=2, ready=1) as service:
        yield service


class Stream:
    """A run whose reply is read as it comes."""

    def __init__(self, service, code, **members):
        self.connection = http.client.HTTPConnection("127.0.0.1",
                                                     service.port, timeout=60)
        self.connection.request("POST", "/run", json.dumps(
            {"code": code, **members}), EVENTS)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.headers.get_content_type() == "text/event-stream"

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.answer.close()
        self.connection.close()

    def __iter__(self):
        """Each event as (name, data); a comment as (None, its text)."""
        while line := self.answer.readline():
            if line.startswith(b": "):
                yield None, line[2:].decode().strip()
            else:
                data = self.answer.readline()
                assert line.startswith(b"event: ") and data.startswith(
                    b"data: "), (line, data)
                yield line[7:].decode().strip(), json.loads(data[6:])
            assert self.answer.readline() == b"\n"


def events_of(body):
    """The events of a whole stream."""
    for block in body.decode().removesuffix("\n\n").split("\n\n"):
        if not block.startswith(": "):
            name, data = block.split("\n")
            yield (name.removeprefix("event: "),
                   json.loads(data.removeprefix("data: ")))


def joined(events):
    """The JSON reply that the events amount to."""
    events = [event for event in events if event[0] is not None]
    assert [name for name, _ in events].index("done") == len(events) - 1
    def data(name):
        return [data for one, data in events if one == name]
    assert all(set(one) == {"text"} and one["text"] for one in data("output"))
    order = sorted(events, key=lambda event: ["output", "figure", "file",
                                              "done"].index(event[0]))
    assert order == events
    return {"output": "".join(one["text"] for one in data("output")),
            "figures": data("figure"), "files": data("file"), **events[-1][1]}


def run(service, code, **members):
    with Stream(service, code, **members) as stream:
        return joined(stream)


def assert_same(events, reply):
    """Equal but for what no two runs have in common."""
    own = {"id", "seconds", "cpu_seconds", "peak_memory"}
    assert events.keys() == reply.keys()
    assert {name: value for name, value in events.items()
            if name not in own} == {name: value
                                    for name, value in reply.items()
                                    if name not in own}


# What is told

RICH = """print("some text", 6 * 7)
plt.plot([1, 2]); plt.figure(); plt.plot([2, 1])
open("a.txt", "w").write("a"); open("b.bin", "wb").write(bytes(100000))
[1, 2]"""


@pytest.mark.parametrize("code", [
    RICH, "1 / 0", "x = 1", "import sys; print(1); sys.exit(3)",
    "import os; print('x'); os.abort()", "print('\\r'.join('abc'), 'é€😀')"])
def test_the_events_amount_to_the_json_reply(service, code):
    assert_same(run(service, code), service.run(code))


def test_output_comes_while_the_program_runs(service):
    with Stream(service, "import time\nprint(end='first')\nwhile True: "
                "time.sleep(0.1)", timeout=5) as stream:
        begun = time.monotonic()
        assert stream.answer.headers["X-Run-Id"]
        assert next(iter(stream)) == ("output", {"text": "first"})
        assert time.monotonic() - begun < 1
        assert service.pids("run")


def test_writes_that_belong_together_come_together(service):
    with Stream(service, "import time\nfor i in range(3):\n  print(1, 2, 3, "
                "4, i)\n  time.sleep(0.3)") as stream:
        texts = [data["text"] for name, data in stream if name == "output"]
    assert "".join(texts) == "1 2 3 4 0\n1 2 3 4 1\n1 2 3 4 2\n"
    assert 3 <= len(texts) <= 7


def test_a_bar_s_carriage_returns_come_one_by_one(service):
    with Stream(service, "import time\nfor i in range(4):\n  print(f'{i}/3', "
                "end='\\r')\n  time.sleep(0.25)") as stream:
        texts = [data["text"] for name, data in stream if name == "output"]
    assert "".join(texts) == "0/3\r1/3\r2/3\r3/3\r" and len(texts) >= 4


PIECES = [
    "é€😀".encode(), b"\xff\xfe", b"\xe2\x82", b"\xe2\x82A\xf0\x9f\x98",
    b"\xf0\x80\x80\x80", b"\xed\xa0\x80", b"\xc3", b"a\0b\x1b", b"\x80\x80"]


@pytest.mark.parametrize("data", [*PIECES, b"|".join(PIECES)], ids=repr)
def test_characters_in_pieces_are_kept_whole(service, data):
    code = ("import os, time\nfor byte in DATA:\n  os.write(1, bytes([byte]))"
            "\n  time.sleep(0.03)").replace("DATA", repr(data))
    assert run(service, code)["output"] == service.run(code)["output"]


# More than is kept

@pytest.mark.parametrize("length", [0, 1, 2998, 2999, 3000, 3001, 3999, 4000,
                                    4001, 4003, 9000, 200000])
@pytest.mark.parametrize("character", ["x", "é", "😀"])
def test_the_cap_is_that_of_the_json_reply(small_service, length, character):
    code = ("import sys, time\nsys.stdout.write('>' + TEXT[:N // 2])\n"
            "time.sleep(0.05)\nsys.stdout.write(TEXT[N // 2:])").replace(
        "TEXT", f"({character!r} * N)").replace(
        "N", str(length // len(character.encode())))
    told = run(small_service, code)
    assert_same(told, small_service.run(code))
    assert (told["output_dropped"] > 0) == ("left out" in told["output"])


# Silence, and who leaves

def test_a_comment_breaks_a_long_silence(service):
    with Stream(service, "import time; time.sleep(16); print(end='1')"
                ) as stream:
        assert [name for name, _ in stream] == [None, "output", "done"]


def test_a_client_that_leaves_ends_the_run(service):
    with Stream(service, "import subprocess\nprint(1)\n"
                "subprocess.run(['sleep', '1234'])", timeout=20) as stream:
        next(iter(stream))
        wait_for(lambda: service.pids("sleep 1234"), what="the run")
    wait_for(lambda: not service.pids("sleep 1234"), 1.5, "the run's end")


def deaf(service, code, **members):
    """Ask for events over a connection that takes in next to nothing."""
    body = json.dumps({"code": code, **members}).encode()
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.settimeout(60)
    peer.connect(("127.0.0.1", service.port))
    peer.sendall(b"POST /run HTTP/1.0\r\nAccept: text/event-stream\r\n"
                 b"Content-Type: application/json\r\nContent-Length: %d\r\n"
                 b"\r\n%s" % (len(body), body))
    return peer


def test_a_client_that_does_not_read_and_leaves_ends_the_run(wide_service):
    service = wide_service
    with deaf(service, FLOOD, timeout=30):
        wait_for(lambda: service.pids("run"), what="the run")
        time.sleep(1)  # until all that is between is full
        assert service.pids("run")
    wait_for(lambda: not service.pids("run"), 3, "the run's end")


def test_a_client_that_does_not_read_does_not_stop_the_clock(wide_service):
    service = wide_service
    with deaf(service, FLOOD, timeout=2) as peer:
        wait_for(lambda: service.pids("run"), what="the run")
        begun = time.monotonic()
        wait_for(lambda: not service.pids("run"), 6, "the run's end")
        assert 1 < time.monotonic() - begun < 5
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        received = b"".join(iter(lambda: peer.recv(1 << 20), b""))
    told = joined(events_of(received.partition(b"\r\n\r\n")[2]))
    assert told["error"]["kind"] == "timeout" and told["output_dropped"] > 0
    assert 2 <= told["seconds"] < 5
    assert 6 << 20 <= len(told["output"]) < (6 << 20) + 100


def test_the_same_without_nginx(service):
    body, params = job(FLOOD.replace("while", "import time\nwhile"),
                       HTTP_ACCEPT="text/event-stream")
    body = body.replace(b'{', b'{"timeout": 1, ', 1)
    params["CONTENT_LENGTH"] = len(body)
    with Connection(service.socket) as peer:
        peer.send(*request(body, params))
        wait_for(lambda: service.pids("run"), what="the run")
        wait_for(lambda: not service.pids("run"), 5, "the run's end")
        answer = peer.reply()
    assert answer.headers["X-Accel-Buffering"] == "no"
    told = joined(events_of(answer.body))
    assert told["error"]["kind"] == "timeout" and told["output_dropped"] > 0


def test_a_request_that_is_aborted_frees_its_worker(service):
    def busy():
        return service.get("/status").json["workers"]["busy"]
    body, params = job(FLOOD, HTTP_ACCEPT="text/event-stream")
    with Connection(service.socket) as peer:
        peer.send(*request(body, params))
        wait_for(lambda: service.pids("run"), what="the run")
        time.sleep(0.5)  # until the socket is full
        peer.send(record(ABORT))
        wait_for(lambda: not service.pids("run"), 3, "the run's end")
        wait_for(lambda: busy() == 1, 3, "the worker")


def test_only_a_stream_tells_nginx_not_to_buffer(service):
    assert "X-Accel-Buffering" not in ask(service.socket, *job("1")).headers


def test_a_cgi_program_tells_all_in_the_end(service):
    body, params = job("print(1)", HTTP_ACCEPT="text/event-stream",
                       GATEWAY_INTERFACE="CGI/1.1")
    ended = subprocess.run(
        [BUILD / "sandbox-fcgi", "--child", service.stage()], input=body,
        capture_output=True, timeout=60, check=True,
        env={name: str(value) for name, value in params.items()})
    head, _, rest = ended.stdout.partition(b"\r\n\r\n")
    assert b"text/event-stream" in head
    assert joined(events_of(rest))["output"] == "1\n"

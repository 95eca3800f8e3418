"""A cheap HTTP client: 60 us of processor a request, where hey takes 250 and
wrk 40; and it sees every answer whole, with its time.

A Client is one kept connection and one prepared request. closed_loop() and
steady() have many of them ask at a time, each in a thread of its own.
"""

import re
import socket
import threading
import time
from typing import NamedTuple

PRINT = b'{"code": "print(1)"}'
PATIENCE = 60
LAST_CHUNK = b"\r\n0\r\n\r\n"


class Answer(NamedTuple):
    status: int  # 0: the connection broke before the end of the answer
    start: bytes  # headers, and as much of the body as came with them
    size: int  # of the body, with what marks its chunks
    begun: float
    seconds: float


class Client:
    def __init__(self, port, body=PRINT, path="/run"):
        self.port = port
        self.request = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
                        "Content-Type: application/json\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n"
                        ).encode() + body
        self.buffer = bytearray(1 << 16)
        self.socket = None

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def ask(self, begun=None):
        """Send the request and read all of the answer. Its time counts from
        `begun`, when it should have been sent, or from now."""
        begun = begun or time.perf_counter()
        try:
            status, start, size = self._exchange()
        except OSError:
            status, start, size = 0, b"", 0
        if status == 0 or b"\r\nConnection: close\r\n" in start:
            self.close()
        return Answer(status, start, size, begun, time.perf_counter() - begun)

    def _exchange(self):
        if self.socket is None:
            self.socket = socket.create_connection(
                ("127.0.0.1", self.port), PATIENCE)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(self.request)
        start = b""
        while b"\r\n\r\n" not in start:
            start += self._receive()
        head, _, body = start.partition(b"\r\n\r\n")
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        size, end = len(body), body[-len(LAST_CHUNK):]
        while size < int(length[1]) if length else end != LAST_CHUNK:
            piece = self._receive()
            size += len(piece)
            end = (end + piece[-len(LAST_CHUNK):])[-len(LAST_CHUNK):]
        return int(start[9:12]), start, size

    def _receive(self):
        """A piece of the answer; it lasts until the next."""
        count = self.socket.recv_into(self.buffer)
        if count == 0:
            raise ConnectionResetError
        return memoryview(self.buffer)[:count]


def _each(clients, ask):
    """The answers of all: ask(number, client) gives those of one."""
    answers = []

    def one(number, client):
        for answer in ask(number, client):
            answers.append(answer)
        client.close()
    threads = [threading.Thread(target=one, args=pair)
               for pair in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def closed_loop(port, clients, seconds, body=PRINT, path="/run"):
    """`clients` at a time, each asking again when it is answered."""
    until = time.perf_counter() + seconds

    def ask(number, client):
        while time.perf_counter() < until:
            yield client.ask()
    return _each([Client(port, body, path) for _ in range(clients)], ask)


def steady(port, rate, seconds, body=PRINT, path="/run", connections=16):
    """`rate` requests a second at even distances, whatever the answers take:
    one that waits for a connection counts from when it was due."""
    first = time.perf_counter()

    def ask(number, client):
        for turn in range(number, int(rate * seconds), connections):
            due = first + turn / rate
            if (left := due - time.perf_counter()) > 0:
                time.sleep(left)
                due = None
            yield client.ask(due)
    return _each([Client(port, body, path) for _ in range(connections)], ask)


def rate_of(answers, seconds):
    """Good ones a second, of those that came within the time."""
    until = min(answer.begun for answer in answers) + seconds
    return sum(answer.status == 200 and answer.begun + answer.seconds < until
               for answer in answers) / seconds


def milliseconds(answers):
    """Sorted."""
    return sorted(1e3 * answer.seconds for answer in answers)

"""The way to the worker: calls go out, answers come in, on descriptor 4.

Any number of threads may ask. Whoever waits and finds that nobody reads the
socket does so for all, one packet at a time, and gives way as soon as its
own answer is there; the others sleep on the condition.
"""

import itertools
import json
import os
import threading

MARKET_FD = 4
REQUEST_MAX = 8 * 1024  # bytes of one packet to the worker
PACKET_MAX = 5 + 64 * 1024
#: Calls that the worker serves at once; it leaves others unread.
AT_ONCE = 8


class Answer:
    """What came of one call; body grows until `done`."""

    status = size = ms = 0
    type = ""
    cached = stale = False
    retry_after = failure = message = None

    def __init__(self):
        self.done = False
        self.parts = []
        self.missing = None

    def begin(self, head):
        for name in ("status", "type", "size", "cached", "stale", "ms",
                     "retry_after", "failure", "message"):
            setattr(self, name, head[name])
        self.missing = self.size
        self.done = self.missing == 0

    def add(self, part):
        self.parts.append(part)
        self.missing -= len(part)
        self.done = self.missing <= 0

    def fail(self, failure):
        self.status, self.failure, self.done = 0, failure, True

    @property
    def body(self):
        if len(self.parts) > 1:
            self.parts = [b"".join(self.parts)]
        return self.parts[0] if self.parts else b""


class Channel:
    """One run's calls, in the process that it was made in."""

    def __init__(self, fd=MARKET_FD):
        self.fd = fd
        self.numbers = itertools.count(1)
        self.open = {}
        self.change = threading.Condition()
        self.has_reader = False
        self.closed = False

    def start(self, path, parameters, refresh=False):
        """Send a call, as soon as fewer than AT_ONCE are under way; return
        its number."""
        with self.change:
            self.wait_until(lambda: self.under_way() < AT_ONCE)
            number = next(self.numbers)
            answer = self.open[number] = Answer()
            packet = json.dumps(
                {"call": number, "path": path, "parameters": parameters,
                 "refresh": refresh}, ensure_ascii=False).encode()
            if len(packet) > REQUEST_MAX:
                answer.fail("refused")
                answer.message = (
                    f"it takes {len(packet):,} bytes and may take "
                    f"{REQUEST_MAX:,}; ask for fewer symbols at once")
            elif self.closed:
                answer.fail("closed")
            else:
                self.send(packet, answer)
        return number

    def send(self, packet, answer):
        try:
            os.write(self.fd, packet)
        except OSError:
            answer.fail("closed")

    def wait(self, numbers):
        """Wait for any of these calls; return {number: Answer} of those that
        are done, which are then forgotten."""
        with self.change:
            self.wait_until(lambda: any(self.is_done(n) for n in numbers))
            done = {n: self.open.pop(n) for n in numbers if self.is_done(n)}
            self.change.notify_all()  # there is room for other calls
        return done

    def forget(self, numbers):
        """Let go of calls whose answers nobody will read."""
        with self.change:
            for number in numbers:
                self.open.pop(number, None)
            self.change.notify_all()

    def under_way(self):
        return sum(not answer.done for answer in self.open.values())

    def is_done(self, number):
        return self.open[number].done

    def wait_until(self, condition):
        """Wait with self.change held; read for all when nobody else does."""
        while not condition():
            if self.has_reader:
                self.change.wait()
            else:
                self.read_one()

    def read_one(self):
        """Take the next packet, without the lock while waiting for it."""
        self.has_reader = True
        try:
            self.change.release()
            try:
                packet = self.receive()
            finally:
                self.acquire()
        finally:
            # Also when the time limit interrupts it: another one reads on.
            self.has_reader = False
            self.change.notify_all()
        if packet:
            self.take(packet)
        else:
            self.close()

    def acquire(self):
        """Take the lock even if the time limit comes meanwhile, since who
        holds it next will let go of it."""
        interrupted = None
        while True:
            try:
                self.change.acquire()
                break
            except BaseException as error:
                interrupted = error
        if interrupted is not None:
            raise interrupted

    def receive(self):
        try:
            return os.read(self.fd, PACKET_MAX)
        except OSError:
            return b""

    def take(self, packet):
        if packet[:1] == b"{":
            head = json.loads(packet)
            answer = self.open.get(head["call"])
            if answer is not None:
                answer.begin(head)
        else:
            answer = self.open.get(int.from_bytes(packet[1:5], "little"))
            if answer is not None and answer.missing:
                answer.add(packet[5:])

    def close(self):
        """The worker has ended the run's market: nobody waits for ever."""
        self.closed = True
        for answer in self.open.values():
            if not answer.done:
                answer.fail("closed")

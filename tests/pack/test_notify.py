"""What systemd is told: sd_notify(3), over a real socket."""

import contextlib
import os
import signal
import socket
import time

import pytest

from service import Service, wait_for

WATCHDOG_SECONDS = 0.8


class Manager:
    """Listens where systemd would, at a path or an abstract name."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.address = address.replace("\0", "@")
        self.messages = []  # (time, {key: value})

    def listen(self):
        """All that was said so far."""
        with contextlib.suppress(BlockingIOError):
            while True:
                text = self.socket.recv(4096, socket.MSG_DONTWAIT).decode()
                self.messages.append((time.monotonic(), dict(
                    line.split("=", 1) for line in text.split("\n"))))
        return [message for _, message in self.messages]

    def said(self, key):
        return [message for message in self.listen() if key in message]


@contextlib.contextmanager
def managed(address=None, environment=None, **options):
    """A responder below a manager; as it is at its very start."""
    service = Service(workers=3, max_runs=2, ready=1, **options)
    address = address or str(service.directory / "notify")
    manager = Manager(address)
    try:
        service.start_responder({**os.environ, "NOTIFY_SOCKET":
                                 manager.address, **(environment or {})})
        yield service, manager
    finally:
        service.end()
        manager.socket.close()


@pytest.mark.parametrize("address", [None, "\0sandbox-test"])
def test_it_is_ready_when_python_is_and_says_that_it_stops(address):
    """By a path, and by an abstract address."""
    with managed(address and f"{address}.{os.getpid()}") as (service, manager):
        assert not manager.said("READY")  # Python takes a second at least
        wait_for(lambda: manager.said("READY"), 60, "READY=1")
        assert manager.listen() == [
            {"READY": "1", "STATUS": "Serving with 3 workers, 2 runs at once"}]
        service.start_nginx()
        service.wait_until_warm()
        assert service.run("import os\nprint(os.environ.get('NOTIFY_SOCKET'))"
                           )["output"] == "None\n"
        service.responder.send_signal(signal.SIGTERM)
        service.responder.wait(5)
        assert manager.listen()[1:] == [{"STOPPING": "1"}]


def test_without_a_zygote_it_is_ready_at_once():
    with managed(zygote="off") as (_, manager):
        wait_for(lambda: manager.said("READY"), 2, "READY=1")


def test_it_is_ready_to_say_why_nothing_runs():
    with managed(preload="no_such_module") as (_, manager):
        wait_for(lambda: manager.said("READY"), 60, "READY=1")
        status = manager.listen()[0]["STATUS"]
        assert status.startswith("Nothing runs: ")
        assert "no_such_module" in status


def test_the_watchdog_hears_of_it_twice_in_its_time():
    usec = str(int(WATCHDOG_SECONDS * 1e6))
    with managed(environment={"WATCHDOG_USEC": usec},
                 zygote="off") as (service, manager):
        def beats():
            manager.listen()
            return [when for when, message in manager.messages
                    if "WATCHDOG" in message]

        wait_for(lambda: len(beats()) >= 8, 20, "the watchdog's messages")
        gaps = [later - sooner
                for sooner, later in zip(beats(), beats()[1:])]
        assert sum(gaps) / len(gaps) == pytest.approx(WATCHDOG_SECONDS / 2,
                                                      rel=0.25)
        os.kill(service.responder.pid, signal.SIGSTOP)
        count = len(beats())
        time.sleep(2 * WATCHDOG_SECONDS)
        assert len(beats()) <= count + 1
        os.kill(service.responder.pid, signal.SIGCONT)
        wait_for(lambda: len(beats()) > count + 1, 5, "more of them")


@pytest.mark.parametrize("environment", [
    {}, {"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"}])
def test_without_a_watchdog_of_its_own_it_is_silent(environment):
    with managed(environment=environment, zygote="off") as (_, manager):
        wait_for(lambda: manager.said("READY"), 60, "READY=1")
        time.sleep(0.5)
        assert not manager.said("WATCHDOG")

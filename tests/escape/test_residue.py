"""Hundreds of runs, most of them hostile, leave nothing behind."""

import itertools
import os
import pathlib
import signal
import threading
import time

import pytest

from hostile import Hostile, World, account_ids, all_attacks
from service import processes_below, title, wait_for

#: What is at it by then has been at it often enough.
SECONDS, RUNS_MAX, CLIENTS = 40, 400, 2
#: What each client leaves in its directories between two attacks.
FILLER = {"code": "print(open('/tmp/f', 'wb').write(bytes(4 << 20)))"}
#: Attacks that wait for their end, or for another run, are few and slow.
SLOW = ("timeout", "memory")


def quick_attacks():
    return [attack for attack in all_attacks()
            if not any(word in attack.expected for word in SLOW)
            and not attack.companion("beside")
            and not attack.name.startswith(("D10", "D01"))]


def mounts(pid):
    return len(pathlib.Path(f"/proc/{pid}/mounts").read_text().splitlines())


def descriptors(pid):
    """Each descriptor of a process; None where it may not be looked at."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return None


def shared_memory_kib():
    """But for what is in huge pages: zygotes, that other tests start and end."""
    meminfo = dict(line.split()[:2] for line in open("/proc/meminfo"))
    return int(meminfo["Shmem:"]) - int(meminfo.get("ShmemHugePages:", 0))


def system_v_objects():
    return sum(len(pathlib.Path(f"/proc/sysvipc/{kind}").read_text()
                   .splitlines()) - 1 for kind in ("shm", "sem", "msg"))


def temporary_files():
    """What the service's account has where files are for a while, apart from
    tests' own."""
    return sorted(
        entry.path for directory in ("/tmp", "/var/tmp", "/dev/shm")
        for entry in os.scandir(directory)
        if entry.stat(follow_symlinks=False).st_uid == account_ids()[0]
        and not entry.name.startswith(("sandbox-fcgi-test.", "pytest-")))


def namespaces(service):
    """Every namespace that a process of the service is in."""
    found = set()
    for pid in processes_below(service.responder.pid):
        for kind in "mnt", "net", "ipc", "pid", "user":
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                pass
    return len(found)


def inventory(service):
    [zygote] = service.pids("zygote")
    workers = service.pids("worker")
    return {
        "processes": len(processes_below(service.responder.pid)),
        "mounts": mounts("self"),
        "mounts of the zygote": mounts(zygote),
        "descriptors of the zygote": descriptors(zygote),
        "descriptors of the master": descriptors(service.responder.pid),
        "descriptors of the workers": [descriptors(pid) for pid in workers],
        "namespaces": namespaces(service),
        "System V objects": system_v_objects(),
        "files": temporary_files(),
        "keepers": service.keepers(),
    }


def fill_all_slots(service):
    threads = [threading.Thread(target=service.run, args=[
        "import time; time.sleep(2); print(1)"])
        for _ in range(service.options["max_runs"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def attack_for(world, seconds, attacks, count):
    until = time.monotonic() + seconds
    for attack in itertools.cycle(attacks):
        if time.monotonic() > until or next(count) >= RUNS_MAX // 2:
            return
        world.service.post(attack.job(attack.path, world))
        world.service.post(FILLER)


@pytest.fixture
def world():
    with Hostile() as service:
        world = World(service)
        yield world
        world.end()


def test_nothing_is_left_of_hundreds_of_attacks(world):
    service = world.service
    attacks, count = quick_attacks(), itertools.count()
    # Once through, so that each worker and each slot has what it keeps.
    for attack in attacks[:12]:
        service.post(attack.job(attack.path, world))
    fill_all_slots(service)
    service.wait_until_quiet()
    before, memory = inventory(service), shared_memory_kib()

    threads = [threading.Thread(target=attack_for, args=[
        world, SECONDS, attacks[at::CLIENTS], count])
        for at in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    service.wait_until_quiet()

    assert next(count) > 50
    wait_for(lambda: inventory(service) == before or time.sleep(0.2), 10,
             f"{before}, but {inventory(service)}")
    # Of the whole machine, which has other uses for it: far less than the 4
    # MiB that each of them has filled.
    filled = next(count) * 4 * 1024
    wait_for(lambda: shared_memory_kib() < memory + filled // 2, 10,
             f"as little as {memory} KiB of shared memory")
    assert service.run("print(1)")["output"] == "1\n"


def test_the_end_of_the_service_ends_all_runs(world):
    """Even by SIGKILL, and whatever they do to stay."""
    service = world.service
    staying = """
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
while True:
    time.sleep(1)
"""
    thread = threading.Thread(target=service.post, args=[{"code": staying}])
    thread.start()
    wait_for(lambda: len(service.pids("run")) == 8, what="the tree of a run")
    below = processes_below(service.responder.pid)

    os.kill(service.responder.pid, signal.SIGKILL)

    wait_for(lambda: not any(title(pid) for pid in below), 3,
             "the end of all processes")
    thread.join()
    service.socket.unlink()  # nobody was left to do it

"""What one client's attack costs another: the time of its print(1).

For each attack: the 95th percentile while the attack runs over that of the
quiet service, in turns, so that a noisy machine is noisy for both.
"""

import pathlib
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from service import Service  # noqa: E402

SECONDS = 3
ROUNDS = 3

ATTACKS = {
    "a busy loop": "while True: pass",
    "48 threads": """
import threading
def spin():
    while True: pass
for _ in range(40): threading.Thread(target=spin).start()
""",
    "a fork bomb": """
import os
while True:
    try: os.fork()
    except OSError: pass
""",
    "a memory bomb": """
import os
for _ in range(20): os.fork() or os.fork()
while True: x = bytearray(b'x') * (40 << 20)
""",
    "a flood of output": "while True: print('x' * 100000)",
    "a full disk": """
import os
while True:
    try:
        with open('f', 'wb') as file:
            while True: file.write(bytes(1 << 20))
    except OSError: pass
""",
    "many files": """
import os
while True:
    for number in range(4000): open(f'f{number}', 'w').close()
    for number in range(4000): os.unlink(f'f{number}')
""",
}


def times(service, seconds):
    taken, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.monotonic()
        assert service.run("print(1)")["output"] == "1\n"
        taken.append(time.monotonic() - begun)
    return taken


def attacked(service, code):
    """Times while the attack runs, again and again if it is ended."""
    stop = threading.Event()

    def attack():
        while not stop.is_set():
            service.post({"code": code, "timeout": SECONDS})
    thread = threading.Thread(target=attack)
    thread.start()
    time.sleep(0.3)
    taken = times(service, SECONDS - 1)
    stop.set()
    thread.join()
    return taken


def p95(taken):
    return statistics.quantiles(taken, n=20)[-1]


def main():
    with Service(grace="200ms") as service:
        times(service, 1)
        for name, code in ATTACKS.items():
            quiet, during = [], []
            for _ in range(ROUNDS):
                quiet += times(service, 1)
                during += attacked(service, code)
            print(f"print(1) beside {name:18} p95 {p95(quiet) * 1e3:6.1f} ->"
                  f" {p95(during) * 1e3:6.1f} ms, ratio "
                  f"{p95(during) / p95(quiet):5.1f}", flush=True)


main()

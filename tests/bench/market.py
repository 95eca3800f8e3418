"""What the broker adds: a call for market data from a program in the sandbox
against curl on the same server, both over a kept connection, in turns."""

import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fmp_server import FmpServer  # noqa: E402
from service import Service  # noqa: E402

CALLS = 100
ROUNDS = 5

PROGRAM = f"""
import time
taken = []
for _ in range({CALLS} + 1):
    begun = time.perf_counter()
    fmp.get("quote", symbol="AAPL", refresh=True)
    taken.append(time.perf_counter() - begun)
print(*taken[1:])
"""


def brokered(service):
    reply = service.run(PROGRAM, key="demo-bench")
    assert reply["error"] is None, reply["error"]
    return [float(part) for part in reply["output"].split()]


def direct(fmp):
    """The first call makes the connection, in both."""
    urls = [f"{fmp.url}/quote?symbol=AAPL"] * (CALLS + 1)
    done = subprocess.run(
        ["curl", "--silent", "--cacert", fmp.ca, "--header",
         "apikey: demo-bench", "--output", "/dev/null", "--write-out",
         "%{time_total}\n"] + [part for url in urls
                               for part in (url, "-o", "/dev/null")],
        capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()[1:]]


def main():
    ours, curls = [], []
    with FmpServer() as fmp, Service(fmp_url=fmp.url, fmp_ca=fmp.ca,
                                     fmp_rate=0) as service:
        for _ in range(ROUNDS):
            ours += brokered(service)
            curls += direct(fmp)
    one, other = statistics.median(ours), statistics.median(curls)
    print(f"a call for market data: {one * 1e3:.2f} ms, by curl "
          f"{other * 1e3:.2f} ms, ratio {one / other:.2f}")


main()

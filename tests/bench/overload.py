"""200 clients against 8 of them, a minute each, in turns: every request must
be answered, by a run or by 503 with Retry-After, no later than queue_wait and
its run allow; and as many runs a second must come of it.

Prints a table and a line `ratio NAME VALUE GOAL`; fails if an answer does.
"""

import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import client  # noqa: E402
from service import Service  # noqa: E402

ROUNDS = 3
SECONDS = 20
GOAL = 0.9
#: queue_wait, and for the run itself and all else.
LONGEST = 10 + 1


def is_fair(answer):
    """Is this what a client may be told, and in time?"""
    return answer.seconds < LONGEST and (
        answer.status == 200 or
        answer.status == 503 and b"\r\nRetry-After: " in answer.start)


def main():
    rates, unfair = {8: [], 200: []}, 0
    print(f"{'clients':>7} {'runs/s':>8} {'p50 ms':>8} {'p99 ms':>8} "
          f"{'longest':>8} {'503':>6} {'unfair':>7} {'client CPU':>11}")
    with Service() as service:
        for clients in [8, 200] * ROUNDS:
            own = time.process_time()
            answers = client.closed_loop(service.port, clients, SECONDS)
            own = (time.process_time() - own) / SECONDS / os.cpu_count()
            rates[clients].append(client.rate_of(answers, SECONDS))
            taken = client.milliseconds(answers)
            busy = sum(answer.status == 503 for answer in answers)
            wrong = sum(not is_fair(answer) for answer in answers)
            unfair += wrong
            print(f"{clients:7} {rates[clients][-1]:8.1f} "
                  f"{statistics.median(taken):8.1f} "
                  f"{statistics.quantiles(taken, n=100)[98]:8.1f} "
                  f"{taken[-1]:8.1f} {busy:6} {wrong:7} {own:11.1%}",
                  flush=True)
    ratio = statistics.median(many / few for few, many in zip(*rates.values()))
    print(f"ratio goodput_200_vs_8 {ratio:.2f} {GOAL}")
    if unfair:
        sys.exit(f"{unfair} requests were lost, answered wrongly or too late")


main()

"""How fast the service is, each time against the same machine's best.

    ratios.py [NAME ...]     all of RATIOS, or those named

Prints a line `ratio NAME VALUE GOAL` for each. The two sides of a ratio are
measured in turns, so that a noisy machine is noisy for both.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from service import BUILD, Service, processes_below, wait_for  # noqa: E402

PYTHON = "/usr/bin/python3"
TICKS = os.sysconf("SC_CLK_TCK")

FIGURE = """
import time
fig, ax = plt.subplots()
x = np.linspace(0, 10, 200)
for k in range(4):
    ax.plot(x, np.sin(x + k), label=f'line {k}')
ax.legend(); ax.grid()
"""
DRAW = """
fig.set_dpi(150)
begun = time.perf_counter()
fig.canvas.draw()
print(time.perf_counter() - begun)
plt.close()
"""
LIBRARIES = ("numpy, pandas, matplotlib.pyplot, scipy.stats, seaborn, "
             "statsmodels.api, statsmodels.formula.api, sklearn, sympy, "
             "networkx, cvxopt, numexpr, openpyxl, xlsxwriter, docx, PIL, "
             "dateutil, tabulate")


def zygote(rounds=60):
    """What tests/bench/zygote.c prints, kind to {column: value}."""
    command = [BUILD / "bench" / "zygote", BUILD / "python" / "sandbox",
               BUILD / "matplotlib", str(rounds)]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid", "www-data", "--regid", "www-data",
                   "--clear-groups", *command]
    lines = subprocess.run(command, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()[1:]
    columns = "wall_ms", "job_ms", "cpu_ms", "faults", "own_kib"
    return {line.split()[0]: dict(zip(columns, map(float, line.split()[1:])))
            for line in lines}


def figure_vs_draw():
    """A figure's sweep over what drawing it takes Agg alone."""
    swept, drawn = [], []
    with Service() as service:
        service.run(FIGURE)
        for _ in range(25):
            begun = time.perf_counter()
            service.run(FIGURE)
            with_sweep = time.perf_counter()
            service.run(FIGURE + "print(1); plt.close()")
            swept.append(2 * with_sweep - begun - time.perf_counter())
            drawn.append(float(service.run(FIGURE + DRAW)["output"]))
    return statistics.median(swept) / statistics.median(drawn)


def cpu_seconds(service):
    """Of the responder's processes and all that they have waited for."""
    total = 0
    for pid in [service.responder.pid,
                *processes_below(service.responder.pid)]:
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        total += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return total / TICKS


def cpu_vs_fork(seconds=6, clients=8):
    """Processor time of a run at full load over that of a bare fork, exit
    and wait of the same warm zygote."""
    counts = [0] * clients

    def client(number):
        while time.monotonic() < until:
            service.run("print(1)")
            counts[number] += 1

    with Service() as service:
        service.run("print(1)")
        before, until = cpu_seconds(service), time.monotonic() + seconds
        threads = [threading.Thread(target=client, args=(number,))
                   for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_for(lambda: not service.pids("run"))
        run_ms = 1e3 * (cpu_seconds(service) - before) / sum(counts)
    return run_ms / zygote()["bare"]["cpu_ms"]


def child_private_mib():
    """Memory that is a print(1)'s alone, at its end."""
    return zygote(5)["print"]["own_kib"] / 1024


def start_vs_import():
    """From the start to the first 200, over Python's import of all."""
    started, imported = [], []
    for _ in range(3):
        begun = time.perf_counter()
        subprocess.run([PYTHON, "-c", f"import {LIBRARIES}"], check=True)
        imported.append(time.perf_counter() - begun)
        service = Service()
        try:
            service.start_nginx()
            begun = time.perf_counter()
            service.start_responder()
            service.wait_until_warm()
            started.append(time.perf_counter() - begun)
        finally:
            service.end()
    return statistics.median(started) / statistics.median(imported)


#: Each with what it should be at most.
RATIOS = {
    "figure_vs_draw": (figure_vs_draw, 1.3),
    "cpu_vs_fork": (cpu_vs_fork, 1.5),
    "child_private_mib": (child_private_mib, 8),
    "start_vs_import": (start_vs_import, 1.3),
}


def main():
    for name in sys.argv[1:] or RATIOS:
        function, goal = RATIOS[name]
        print(f"ratio {name} {function():.2f} {goal}", flush=True)


main()

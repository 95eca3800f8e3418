"""How fast the service is, each time against the same machine's best.

    ratios.py [NAME ...]     all of RATIOS, or those named

In each round everything is measured once, in turns, so that a noisy machine
is noisy for all. Prints a table, then a line `ratio NAME VALUE GOAL` for each.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import client  # noqa: E402
import rivals  # noqa: E402
from service import BUILD, Service, processes_below, wait_for  # noqa: E402

ROUNDS = 3
PYTHON = "/usr/bin/python3"
HERE = pathlib.Path(__file__).parent
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
FILE_BYTES = 10_000_000
BASE64_BYTES = (FILE_BYTES + 2) // 3 * 4
# A megabyte ten times over is cheap to make, and as little to be compressed.
FILE = {"code": f"""
import os
with open('file', 'wb') as file:
    file.write(os.urandom({FILE_BYTES // 10}) * 10)
"""}


def ask(asker, least_size=0):
    """Seconds that a good answer took."""
    answer = asker.ask()
    assert answer.status == 200 and answer.size >= least_size, answer
    assert b'"error":{' not in answer.start, answer
    return answer.seconds


# A step measures one quantity or some together: it returns name to value.

def one_client(service, jupyter):
    """p50 of print(1), of an echo by the same client, and by Jupyter."""
    asker = client.Client(service.port)
    echoer = client.Client(service.port, path="/echo")
    ours, echoes, jupyters = [], [], []
    for _ in range(5):
        ours += [ask(asker) for _ in range(50)]
        echoes += [ask(echoer) for _ in range(50)]
        jupyters += [jupyter.run("print(1)") for _ in range(50)]
    return {"print ms": 1e3 * statistics.median(ours),
            "echo ms": 1e3 * statistics.median(echoes),
            "jupyter ms": 1e3 * statistics.median(jupyters)}


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


def load(service, jupyter, seconds=3, clients=8):
    """At full load runs a second, and processor time of a run; at half of it
    p50 and p99."""
    before, own = cpu_seconds(service), time.process_time()
    full = client.closed_loop(service.port, clients, seconds)
    own = time.process_time() - own
    wait_for(lambda: not service.pids("run"))
    cpu = cpu_seconds(service) - before
    rate = client.rate_of(full, seconds)
    half = client.steady(service.port, rate / 2, seconds)
    assert all(answer.status == 200 for answer in full + half)
    half = client.milliseconds(half)
    return {"runs/s": rate, "cpu ms": 1e3 * cpu / len(full),
            "client us": 1e6 * own / len(full),
            "p50 ms": statistics.median(half),
            "p99 ms": statistics.quantiles(half, n=100)[98]}


def naive(service, jupyter):
    """Runs a second of the naive design, with a program on each core."""
    cores = os.cpu_count()
    begun = time.perf_counter()
    answers = client.closed_loop(service.port, cores, 3, path="/naive")
    seconds = time.perf_counter() - begun
    assert all(b'"output": "1\\n"' in answer.start for answer in answers)
    return {"spawns/s": len(answers) / seconds}


def file_back(service, jupyter):
    """A file in the reply, over an empty run; and as many bytes of base64
    from the bare responder."""
    filer = client.Client(service.port, json.dumps(FILE).encode())
    printer = client.Client(service.port)
    echoer = client.Client(service.port, path=f"/echo?{BASE64_BYTES}")
    ours, statics = [], []
    for _ in range(10):
        ours.append(ask(filer, BASE64_BYTES) - ask(printer))
        statics.append(ask(echoer, BASE64_BYTES))
    return {"file ms": 1e3 * statistics.median(ours),
            "static ms": 1e3 * statistics.median(statics)}


def figure(service, jupyter):
    """A figure's way into the reply, and what Agg takes to draw it."""
    swept, drawn = [], []
    for _ in range(10):
        begun = time.perf_counter()
        service.run(FIGURE)
        with_sweep = time.perf_counter()
        service.run(FIGURE + "print(1); plt.close()")
        swept.append(2 * with_sweep - begun - time.perf_counter())
        drawn.append(float(service.run(FIGURE + DRAW)["output"]))
    return {"figure ms": 1e3 * statistics.median(swept),
            "draw ms": 1e3 * statistics.median(drawn)}


def fork(service, jupyter, rounds=30):
    """Processor time of a bare fork, exit and wait of the warm zygote; memory
    that is a print(1)'s alone, at its end. By tests/bench/zygote.c."""
    command = [BUILD / "bench" / "zygote", BUILD / "python" / "sandbox",
               BUILD / "matplotlib", str(rounds)]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid", "www-data", "--regid", "www-data",
                   "--clear-groups", *command]
    lines = subprocess.run(command, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    # name, wall ms, job ms, cpu ms, faults, own KiB
    rows = {name: values for name, *values in map(str.split, lines[1:])}
    return {"fork cpu ms": float(rows["bare"][2]),
            "private MiB": float(rows["print"][4]) / 1024}


def start(service, jupyter):
    """From the start to the first 200; Python's import of all libraries."""
    begun = time.perf_counter()
    subprocess.run([PYTHON, HERE / "preamble.py"], check=True)
    imported = time.perf_counter() - begun
    another = Service()
    try:
        another.start_nginx()
        begun = time.perf_counter()
        another.start_responder()
        another.wait_until_warm()
        return {"start s": time.perf_counter() - begun, "import s": imported}
    finally:
        another.end()


#: The steps, and what each measures.
STEPS = {
    one_client: {"print ms", "echo ms", "jupyter ms"},
    load: {"runs/s", "cpu ms", "p50 ms", "p99 ms"},
    naive: {"spawns/s"},
    file_back: {"file ms", "static ms"},
    figure: {"figure ms", "draw ms"},
    fork: {"fork cpu ms", "private MiB"},
    start: {"start s", "import s"},
}

#: Name to: a quantity, what it is divided by, and the goal.
RATIOS = {
    "print_vs_jupyter": ("print ms", "jupyter ms", 0.33),
    "print_vs_echo": ("print ms", "echo ms", 8),
    "p99_vs_p50": ("p99 ms", "p50 ms", 4),
    "rate_vs_spawn": ("runs/s", "spawns/s", 500),
    "cpu_vs_fork": ("cpu ms", "fork cpu ms", 1.5),
    "figure_vs_draw": ("figure ms", "draw ms", 1.3),
    "file_vs_static": ("file ms", "static ms", 3),
    "child_private_mib": ("private MiB", None, 8),
    "start_vs_import": ("start s", "import s", 1.3),
}
#: Where more is better.
AT_LEAST = {"rate_vs_spawn"}


def spread(values):
    return (f"{statistics.median(values):.3g} "
            f"({min(values):.3g}..{max(values):.3g})")


def main():
    chosen = {name: RATIOS[name] for name in sys.argv[1:] or RATIOS}
    wanted = {part for ratio in chosen.values() for part in ratio[:2]}
    rounds = []
    with rivals.ServiceAndRivals() as service, rivals.Jupyter() as jupyter:
        for _ in range(ROUNDS):
            rounds.append({None: 1})
            for step, measured in STEPS.items():
                if measured & wanted:
                    rounds[-1].update(step(service, jupyter))

    print(f"{ROUNDS} rounds: median (least..most)\n\n"
          f"{'':17} {'ratio':>20} {'goal':>7}")
    lines = []
    for name, (above, below, goal) in chosen.items():
        ratios = [values[above] / values[below] for values in rounds]
        sign = ">=" if name in AT_LEAST else "<="
        parts = " / ".join(
            f"{part} {spread([values[part] for values in rounds])}"
            for part in (above, below) if part)
        print(f"{name:17} {spread(ratios):>20} {sign} {goal:<5} {parts}")
        lines.append(f"ratio {name} {statistics.median(ratios):.2f} {goal}")
    if "client us" in rounds[0]:
        print("The client itself took of the processor, a run: us",
              spread([values["client us"] for values in rounds]))
    print(*lines, sep="\n")


main()

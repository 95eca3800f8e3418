"""What tests/bench/curves runs in the service; its context are the numbers."""

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "curves", "font.size": 9,
    "axes.grid": True, "grid.alpha": 0.4, "axes.spines.top": False,
    "axes.spines.right": False})


def save(figure, name):
    figure.savefig(name, metadata={"Date": None})
    plt.close(figure)


def axis_of_clients(axis, ylabel):
    axis.set_xscale("log", base=2)
    axis.set_xticks(counts, counts)
    axis.set(xlabel="clients", ylabel=ylabel)
    axis.yaxis.set_major_formatter("{x:g}")


def draw_load(series, name):
    """Latency and throughput over clients, for each of the series."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2),
                                         layout="constrained")
    for label, rows in series.items():
        p50, p99, rate = zip(*rows)
        line, = right.plot(counts, rate, "o-", ms=3, label=label)
        for values, style, which in (p50, "o-", "p50"), (p99, "o--", "p99"):
            left.plot(counts, values, style, ms=3, color=line.get_color(),
                      label=f"{label} {which}".strip())
    left.set_yscale("log")
    axis_of_clients(left, "latency of print(1), ms")
    axis_of_clients(right, "runs of print(1) a second")
    right.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=8)
    if len(series) > 1:
        right.legend(frameon=False)
    save(figure, name)


def draw_memory(weights, name):
    figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
    slope, fixed = np.polyfit(counts, weights, 1)
    axis.plot(counts, weights, "o-", ms=3)
    axis.set(xlabel="runs asleep at a time", ylabel="memory, MiB",
             title=f"{fixed:.0f} MiB, and {slope:.1f} MiB a run")
    axis.set_ylim(bottom=0)
    save(figure, name)


draw_load({"": load}, "load.svg")
draw_load(by_ready, "ready.svg")
draw_memory(memory, "memory.svg")
table = pd.DataFrame(load, columns=["p50 ms", "p99 ms", "runs/s"],
                     index=pd.Index(counts, name="clients"))
table["MiB asleep"] = memory
print(table.round(1))

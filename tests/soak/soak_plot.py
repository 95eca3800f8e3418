"""What tests/soak/soak runs in the service; its context are the samples."""

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "soak", "font.size": 9,
    "axes.grid": True, "grid.alpha": 0.4, "axes.spines.top": False,
    "axes.spines.right": False})
table = pd.DataFrame(samples).set_index("runs")
figure, (upper, lower) = plt.subplots(2, 1, figsize=(6, 4.2), sharex=True,
                                      layout="constrained")
upper.plot(table.index, table["memory"], "o-", ms=2)
upper.set(ylabel="memory, MiB")
upper.set_ylim(bottom=0)
for name in ("descriptors", "mounts", "processes", "files"):
    lower.plot(table.index, table[name], "-", label=name)
lower.set(xlabel="runs", ylabel="at rest")
lower.set_ylim(bottom=0)
lower.legend(frameon=False, ncols=4, fontsize=8)
figure.savefig("soak.svg", metadata={"Date": None})
plt.close(figure)

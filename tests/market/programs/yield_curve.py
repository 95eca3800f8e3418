# expected: len(reply['figures']) == 1 and '1006 days' in output and 'narrowest 2020-11-18 0.24' in output
# Four years of Treasury yields; the API gives out three months at a time.
rates = fmp.treasury_rates(start="2020-01-01", end="2023-12-31")
rates["spread"] = rates["year10"] - rates["year2"]
day = rates["spread"].idxmin()
print(f"{len(rates)} days, narrowest {day.date()} "
      f"{rates['spread'].min():.2f}")
fig, ax = plt.subplots()
rates["spread"].plot(ax=ax, title="10y - 2y")
ax.axhline(0, color="black", linewidth=0.8)

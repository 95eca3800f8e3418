# expected: len(reply['figures']) == 1 and [float(x) for x in output.splitlines()[0].split()[1:]] == sorted((float(x) for x in output.splitlines()[0].split()[1:]), reverse=True) and '11 sectors, 100%' in output and '10 of' in output
# A fund's holdings and sectors, and a figure of its largest.
holdings = fmp.etf_holdings("SPY")
top = holdings.nlargest(10, "weightPercentage")
print("weights", *top["weightPercentage"])
sectors = fmp.get_etf_sector_weightings("SPY")
print(f"{len(sectors)} sectors, {sectors['weightPercentage'].sum():.0f}%")
print(f"{len(top)} of {len(holdings)} holdings")
fig, ax = plt.subplots()
ax.pie(top["weightPercentage"], labels=top["asset"], autopct="%1.1f%%")

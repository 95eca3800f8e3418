# expected: '108 months' in output and 'peak 3.10% in January 2023' in output
# Inflation from the consumer price index, a year against the year before.
cpi = fmp.get_economic_indicators("CPI", start="2015-01-01", end="2023-12-31")
cpi = cpi.set_index("date")["value"]
yoy = cpi.pct_change(12).dropna() * 100
print(f"{len(cpi)} months, peak {yoy.max():.2f}% in {yoy.idxmax():%B %Y}")

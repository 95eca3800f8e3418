# expected: len(reply['figures']) == 1 and '2015: 1.1392' in output and '2019: 1.4380' in output and '2023: 1.8156' in output and '2014' not in output
# Dividends a year; the API itself ignores the dates.
div = fmp.dividends("KO", start="2015-01-01", end="2023-12-31")
yearly = div.groupby(div["date"].dt.year)["dividend"].sum()
for year, total in yearly.items():
    print(f"{year}: {total:.4f}")
yearly.plot(kind="bar", title="KO: dividends per share")

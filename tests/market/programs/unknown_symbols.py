# expected: 'Skipped ZZZZZ: quote: no data' in output and result == "['AAPL', 'BRK-B', 'MSFT']"
# Symbols that do not exist, and one that is written otherwise.
found = []
for ticker in ["AAPL", "ZZZZZ", "BRK.B", "MSFT"]:
    try:
        found.append(fmp.quote(ticker)["symbol"])
    except fmp.FMPNotFoundError as error:
        print(f"Skipped {ticker}: {error}")
sorted(found)

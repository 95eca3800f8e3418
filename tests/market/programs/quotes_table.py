# expected: all(abs((float(p) / float(b) - 1) * 100 - float(c)) < 0.01 for _, p, b, c in (line.split() for line in output.splitlines()[1:])) and len(output.splitlines()) == 6
# A loop over symbols that takes a quote for a dict.
watchlist = ["AAPL", "MSFT", "GOOGL", "AMZN", "NVDA"]
print("symbol price previous change%")
for symbol in watchlist:
    q = fmp.quote(symbol) or {}
    price = q.get("price", 0)
    change = q.get("changesPercentage", 0)
    print(f"{q['symbol']} {price:.2f} {q.previousClose:.2f} {change:.4f}")

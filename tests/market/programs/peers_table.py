# expected: (lambda rows: len(rows) >= 4 and all(abs(cap / price / shares - 1) < 0.02 for _, price, cap, shares in rows))(__import__('ast').literal_eval(result))
# A company's peers, their quotes in one call, and a call each for the rest.
peers = fmp.peers("AAPL")["symbol"].tolist()[:4]
quotes = fmp.quote(["AAPL"] + peers)
table = []
for symbol, row in quotes.iterrows():
    shares = fmp.shares_float(symbol)["outstandingShares"]
    table.append((symbol, float(row["price"]), float(row["marketCap"]),
                  float(shares)))
table

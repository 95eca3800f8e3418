# expected: 'latest 2023-06-30 157.53' in output and 'high 180.06' in output and 'former API' in output
# A URL of the former API, and its newest row first.
data = fmp.get("https://financialmodelingprep.com/api/v3/historical-price-full"
               "/AAPL?from=2023-01-01&to=2023-06-30&apikey=YOUR_API_KEY")
rows = data["historical"] if isinstance(data, dict) else data
latest = rows[0]
print("latest", latest["date"], latest["close"])
print("high", max(row["high"] for row in rows))

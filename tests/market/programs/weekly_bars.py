# expected: [round(float(x), 2) for x in output.split()[1:]] == [202.69, 204.34, 184.82, 186.29, 214290028.0]
# Daily bars made into weekly ones.
import datetime

df = fmp.historical_prices("AMZN", start=datetime.date(2023, 3, 1),
                           end=datetime.date(2023, 3, 31))
weekly = df.resample("W-FRI").agg({"open": "first", "high": "max",
                                   "low": "min", "close": "last",
                                   "volume": "sum"})
week = weekly.loc["2023-03-10"]
print("week", week["open"], week["high"], week["low"], week["close"],
      week["volume"])

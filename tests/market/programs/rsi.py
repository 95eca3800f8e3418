# expected: 'RSI on 2023-12-29: 59.33' in output and '30 days overbought' in output and 'lowest 33.3' in output
# An indicator over a range: it must have settled before the range begins.
rsi = fmp.rsi("AAPL", period=14, start="2023-06-01", end="2023-12-29")
last = rsi.iloc[-1]
print(f"RSI on {last['date'].date()}: {last['rsi']:.2f}")
print(f"{(rsi['rsi'] > 70).sum()} days overbought, "
      f"lowest {rsi['rsi'].min():.1f}")

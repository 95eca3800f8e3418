# expected: 'Best: 2023-05 30.20%' in output and 'Worst: 2023-11 -14.85%' in output
# Monthly returns by resample(), on the method's former name.
data = fmp.historical_price_full("NVDA", **{"from": "2022-12-01",
                                            "to": "2023-12-29"})
monthly = data["close"].resample("M").last().pct_change().dropna()
best, worst = monthly.idxmax(), monthly.idxmin()
print(f"Best: {best:%Y-%m} {monthly.max():.2%}")
print(f"Worst: {worst:%Y-%m} {monthly.min():.2%}")

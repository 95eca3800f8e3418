# expected: '7055 days since 1996-01-02' in output and 'Maximum drawdown: -56.33%' in output
# 28 years of prices; one answer of the API ends after 5,000 rows.
df = fmp.historical_prices("KO", "1996-01-01", "2023-12-29")
df["peak"] = df["close"].cummax()
df["drawdown"] = df["close"] / df["peak"] - 1
print(f"{len(df)} days since {df.index[0].date()}")
print(f"Maximum drawdown: {df['drawdown'].min():.2%}")

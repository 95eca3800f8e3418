# expected: len(reply['figures']) == 1 and result == "['2022-07-29', '2023-12-08']" and 'SMA50 320.13, SMA200 315.26' in output
# A crossover of moving averages, drawn.
df = fmp.historical_prices("MSFT", start="2021-01-01", end="2023-12-29")
df = df.sort_values("date").set_index("date")
df["SMA50"] = df["close"].rolling(50).mean()
df["SMA200"] = df["close"].rolling(200).mean()
df["signal"] = (df["SMA50"] > df["SMA200"]).astype(int)
crosses = df.index[(df["signal"].diff() == 1) & df["SMA200"].shift().notna()]

fig, ax = plt.subplots(figsize=(12, 6))
ax.plot(df.index, df["close"], label="Close", alpha=0.6)
ax.plot(df.index, df["SMA50"], label="50-day SMA")
ax.plot(df.index, df["SMA200"], label="200-day SMA")
for day in crosses:
    ax.axvline(day, color="green", linestyle="--", alpha=0.5)
ax.set_title("MSFT with moving averages")
ax.legend()
plt.tight_layout()
plt.show()

print(f"SMA50 {df['SMA50'].iloc[-1]:.2f}, SMA200 {df['SMA200'].iloc[-1]:.2f}")
[day.strftime("%Y-%m-%d") for day in crosses]

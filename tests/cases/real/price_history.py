import numpy as np
import pandas as pd
import matplotlib.pyplot as plt

plt.style.use("seaborn-v0_8-whitegrid")

np.random.seed(42)


def make_prices(start="2022-01-03", periods=520, s0=100.0, mu=0.0004, sigma=0.012):
    """Simulate a geometric random walk on business days."""
    dates = pd.bdate_range(start, periods=periods)
    log_returns = np.random.normal(mu, sigma, size=periods)
    prices = s0 * np.exp(np.cumsum(log_returns))
    return pd.Series(prices, index=dates, name="close")


def max_drawdown(series):
    peak = series.cummax()
    dd = series / peak - 1
    return dd.min(), dd.idxmin()


prices = make_prices()
df = prices.to_frame()
df["return"] = df["close"].pct_change()
df["sma_20"] = df["close"].rolling(20).mean()
df["sma_100"] = df["close"].rolling(window=100).mean()
df["vol_30"] = df["return"].rolling(30).std() * np.sqrt(252)

# Resample
monthly = df["close"].resample("MS").agg(["first", "last", "min", "max"])
monthly["return_%"] = (monthly["last"] / monthly["first"] - 1) * 100
weekly = df["close"].resample("W-FRI").last()

print("Last 5 days:")
print(df.tail().round(4))
print("\nMonthly summary:")
print(monthly.round(2))
print(f"\nWeeks: {len(weekly)}, months: {len(monthly)}")

mdd, when = max_drawdown(df["close"])
print(f"Total return:  {df['close'].iloc[-1] / df['close'].iloc[0] - 1:.2%}")
print(f"Annual vol:    {df['return'].std() * np.sqrt(252):.2%}")
print(f"Max drawdown:  {mdd:.2%} on {when:%Y-%m-%d}")

# Figure 1: price with moving averages
plt.figure(figsize=(12, 6))
plt.plot(df.index, df["close"], label="Close", linewidth=1)
plt.plot(df.index, df["sma_20"], label="SMA 20", linewidth=1.5)
plt.plot(df.index, df["sma_100"], label="SMA 100", linewidth=1.5)
plt.title("Price and moving averages")
plt.xlabel("Date")
plt.ylabel("Price")
plt.legend()
plt.show()

# Figure 2: monthly returns + rolling volatility
fig, (ax1, ax2) = plt.subplots(2, 1, figsize=(12, 8))
colors = ["green" if r > 0 else "red" for r in monthly["return_%"]]
ax1.bar(monthly.index, monthly["return_%"], width=20, color=colors)
ax1.axhline(0, color="black", linewidth=0.8)
ax1.set_title("Monthly return (%)")
df["vol_30"].plot(ax=ax2, color="darkorange")
ax2.set_title("30-day rolling volatility (annualised)")
plt.tight_layout()
plt.show()

/* Programs to start from: what the button says, the program, its context. */

export const EXAMPLES = [
  ["Table", `# "rate" is from the context; the last value is the result.
loans = pd.DataFrame({
    "bank": ["North", "East", "West"],
    "amount": [250_000, 310_000, 180_000],
    "years": [10, 15, 8],
})
growth = (1 + rate / 12) ** (12 * loans.years)
payment = loans.amount * rate / 12 * growth / (growth - 1)
loans["payment"] = payment.round(2)
print(f"Borrowed in all: {loans.amount.sum():,} at {rate:.2%}")
loans
`, '{"rate": 0.0325}'],

  ["Figure", `# Every figure that is open at the end comes back.
names = ["North", "East", "West"]
moves = np.random.default_rng(7).normal(0.0004, 0.01, (500, 3))
fig, (top, bottom) = plt.subplots(2, figsize=(8, 6),
                                  layout="constrained")
top.plot(100 * np.exp(moves.cumsum(axis=0)), label=names)
top.set_title("Three made-up prices")
top.legend()
sns.histplot(pd.DataFrame(100 * moves, columns=names), ax=bottom)
bottom.set_xlabel("Daily move, %")
print("Best day:", f"{moves.max():.1%}")
`],

  ["Simulation", `# Output shows at once; a carriage return goes back in the line.
import time

rng = np.random.default_rng(1)
worth = []
for done in range(1, 21):
    years = rng.normal(0.06, 0.15, (5_000, 20))
    worth.extend(10_000 * np.exp(years.sum(axis=1)))
    print(f"\\r{'█' * done:<20} {done * 5:3d} %", end="", flush=True)
    time.sleep(0.05)
low, middle, high = np.percentile(worth, [5, 50, 95])
print(f"\\n{len(worth):,} lives of 10,000 over 20 years")
print(f"5 %: {low:,.0f}   half: {middle:,.0f}   95 %: {high:,.0f}")
plt.hist(np.log10(worth), bins=80)
plt.xlabel("Worth in the end, powers of ten")
`],

  ["Excel and Word", `# Saved files come back. Each member of a dict becomes a sheet.
sales = pd.DataFrame({
    "month": pd.date_range("2025-01-01", periods=6, freq="MS"),
    "region": ["North", "South"] * 3,
    "revenue": [2388, 1592, 2686.5, 1830.8, 2985, 2009.9],
})
totals = sales.groupby("region")[["revenue"]].sum()
totals.plot.barh(title="Revenue by region", legend=False)
save_excel({"Sales": sales, "By region": totals}, "sales.xlsx")
said = f"**{totals.revenue.sum():,.2f}** in half a year."
save_word({"Summary": said, "By region": totals}, "sales.docx",
          title="Sales", figures=True)
totals
`],

  ["Market data", `# Frames run from the oldest row to the newest.
prices = fmp.historical_prices("AAPL", years=5)
prices["average"] = prices["close"].rolling(200).mean()
prices[["close", "average"]].plot(title="AAPL, five years")
save_excel(prices, "AAPL.xlsx")
quote = fmp.quote("AAPL")
print(f"{quote['name']}: {quote['price']}"
      f" ({quote['changePercentage']:+.2f} %)")
`],
];

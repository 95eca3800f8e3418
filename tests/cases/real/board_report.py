import numpy as np
import pandas as pd
import matplotlib.pyplot as plt

# ---- Data -----------------------------------------------------------------
months = pd.period_range("2024-01", periods=12, freq="M")
revenue = np.array([118, 121, 130, 128, 137, 142, 139, 148, 155, 151, 163, 170], dtype=float)
costs = np.array([96, 99, 101, 104, 106, 109, 111, 112, 118, 117, 121, 125], dtype=float)
df = pd.DataFrame({"Month": months.strftime("%b %Y"), "Revenue": revenue, "Costs": costs})
df["Profit"] = df["Revenue"] - df["Costs"]
df["Margin"] = (df["Profit"] / df["Revenue"] * 100).round(1)

growth = revenue[-1] / revenue[0] - 1
best = df.loc[df["Profit"].idxmax()]

# ---- Figures --------------------------------------------------------------
fig1, ax = plt.subplots(figsize=(8, 4))
ax.plot(df["Month"], df["Revenue"], marker="o", label="Revenue")
ax.plot(df["Month"], df["Costs"], marker="s", label="Costs")
ax.fill_between(df["Month"], df["Costs"], df["Revenue"], alpha=0.15)
ax.set_title("Revenue and costs, 2024 (k€)")
ax.tick_params(axis="x", rotation=45)
ax.legend()
fig1.tight_layout()

fig2, ax = plt.subplots(figsize=(6, 4))
ax.barh(df["Month"], df["Margin"], color="seagreen")
ax.invert_yaxis()
ax.set_title("Profit margin (%)")
fig2.tight_layout()

# ---- Report ---------------------------------------------------------------
intro = f"""
# Annual review 2024

Revenue grew by **{growth:.1%}** over the year and reached **{revenue.sum():,.0f} k€** in total.
The best month was *{best['Month']}* with a profit of {best['Profit']:.0f} k€.

## Highlights

- Every month closed with a profit
- Margin between {df['Margin'].min()} % and {df['Margin'].max()} %
- Costs rose more slowly than revenue

## Monthly figures
"""

outlook = """
## Outlook

1. Hold the cost line at 125 k€
2. Grow revenue to 200 k€ a month
3. Review prices in `Q2`

> Forecasts are not guarantees.
"""

name = save_word(
    [intro, df, "## Charts", "### Revenue and costs", fig1, "### Margin", fig2, outlook],
    "annual_review.docx",
    title="Board report",
)
print(f"Report written to {name}")
print(df.describe().round(1))
plt.close("all")

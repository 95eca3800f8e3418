# Analyse the uploaded sales export: clean it, aggregate by region and
# product, print a summary table and plot revenue per region.
import pandas as pd
import numpy as np
import matplotlib.pyplot as plt

# 1. Load
df = pd.read_csv("uploads/sales_export.csv")
print(f"Loaded {len(df)} rows, {df.shape[1]} columns")
print(df.head())
print()
print("Missing values per column:")
print(df.isna().sum())

# 2. Clean
df.columns = [c.strip().lower().replace(" ", "_") for c in df.columns]
df = df.drop_duplicates()
df["order_date"] = pd.to_datetime(df["order_date"], errors="coerce")
df["region"] = df["region"].str.strip().str.title()
df["unit_price"] = (
    df["unit_price"].astype(str)
    .str.replace("$", "", regex=False)
    .str.replace(",", "", regex=False)
)
df["unit_price"] = pd.to_numeric(df["unit_price"], errors="coerce")
df["quantity"] = pd.to_numeric(df["quantity"], errors="coerce")

before = len(df)
df = df.dropna(subset=["order_date", "region", "unit_price", "quantity"])
print(f"\nDropped {before - len(df)} incomplete rows, {len(df)} remain")

# 3. Aggregate
df["revenue"] = df["unit_price"] * df["quantity"]
summary = (
    df.groupby("region")
    .agg(orders=("order_id", "count"),
         units=("quantity", "sum"),
         revenue=("revenue", "sum"),
         avg_price=("unit_price", "mean"))
    .sort_values("revenue", ascending=False)
)
summary["share"] = summary["revenue"] / summary["revenue"].sum()

print("\n=== Revenue by region ===")
print(summary.round(2).to_string())

pivot = df.pivot_table(index="region", columns="product", values="revenue",
                       aggfunc="sum", fill_value=0)
print("\n=== Region x product ===")
print(pivot.round(0).astype(int))

best = summary.index[0]
print(f"\nBest region: {best} with ${summary.loc[best, 'revenue']:,.2f} "
      f"({summary.loc[best, 'share']:.1%} of total)")

# 4. Plot
fig, ax = plt.subplots(figsize=(8, 5))
bars = ax.bar(summary.index, summary["revenue"] / 1e3,
              color=plt.cm.viridis(np.linspace(0.2, 0.8, len(summary))))
for bar, value in zip(bars, summary["revenue"]):
    ax.text(bar.get_x() + bar.get_width() / 2, bar.get_height(),
            f"${value / 1e3:,.1f}k", ha="center", va="bottom", fontsize=9)
ax.set_title("Revenue by region")
ax.set_ylabel("Revenue (thousand $)")
ax.spines[["top", "right"]].set_visible(False)
plt.tight_layout()
plt.show()

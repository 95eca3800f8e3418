# Monthly revenue report with the next month's date
import pandas as pd

orders = pd.DataFrame({
    "order_date": pd.to_datetime(["2024-01-15", "2024-01-20", "2024-02-03",
                                  "2024-02-28", "2024-03-10"]),
    "customer_id": [1, 2, 1, 3, 2],
    "revenue_usd": [120.0, 80.5, 200.0, 99.5, 310.0],
})


def monthly_revenue(df):
    df = df.copy()
    df["month"] = df["order_date"].dt.strftime("%Y-%m")
    return df.groupby("month")["revenu_usd"].sum()


def next_month(last):
    from dateutils.relativedelta import relativedelta
    return last + relativedelta(months=1, day=1)


monthly = monthly_revenue(orders)
print(monthly.to_string())

report_date = next_month(orders["order_date"].max())
print(f"Next report: {report_date:%Y-%m-%d}")

growth = monthly.pct_change().dropna()
for month, value in growth.items():
    print(f"{month}: {value:+.1%}")
print(f"Mean growth: {growht.mean():.1%}")

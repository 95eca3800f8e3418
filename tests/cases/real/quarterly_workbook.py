import datetime as dt

import pandas as pd

# Invoices as they came from the billing system (see context)
df = pd.DataFrame(invoices)
df["issued"] = pd.to_datetime(df["issued"])
df["due"] = df["issued"] + pd.to_timedelta(df["terms"], unit="D")
df["paid_at"] = pd.to_datetime(df["paid_at"])
df["net"] = df["amount"] * (1 - df["discount"])
df["overdue"] = df["paid_at"].isna() & (df["due"] < pd.Timestamp(as_of))

by_quarter = (
    df.groupby([df["issued"].dt.to_period("Q").astype(str).rename("Quarter"), "currency"])
    .agg(invoices=("number", "count"), amount=("amount", "sum"),
         net=("net", "sum"), discount=("discount", "mean"))
    .reset_index()
)
by_quarter["share"] = by_quarter["net"] / by_quarter["net"].sum()

# 1. The helper
save_excel(
    {"Invoices": df, "By quarter": by_quarter},
    "quarterly.xlsx",
    number_formats={"amount": "#,##0.00", "net": "#,##0.00 €",
                    "discount": "0.0%", "share": "0.0%"},
)

# 2. By hand with pandas, own formatting
with pd.ExcelWriter("ledger.xlsx", engine="xlsxwriter",
                    datetime_format="dd/mm/yyyy") as writer:
    df[["number", "customer", "issued", "net"]].to_excel(
        writer, sheet_name="Ledger", index=False)
    by_quarter.to_excel(writer, sheet_name="Summary", index=False)
    workbook = writer.book
    money = workbook.add_format({"num_format": "#,##0.00"})
    percent = workbook.add_format({"num_format": "0.0%"})
    writer.sheets["Ledger"].set_column("D:D", 14, money)
    writer.sheets["Summary"].set_column("D:E", 14, money)
    writer.sheets["Summary"].set_column("F:G", 10, percent)
    row = len(df) + 1
    writer.sheets["Ledger"].write_formula(row, 3, f"=SUM(D2:D{row})", money, df["net"].sum())

# 3. And read it back to be sure
check = pd.read_excel("ledger.xlsx", sheet_name=None)
for name, sheet in check.items():
    print(f"{name}: {sheet.shape[0]} rows x {sheet.shape[1]} columns")

print(f"\nAs of {dt.date.fromisoformat(as_of):%d %B %Y}")
print(f"Overdue: {df['overdue'].sum()} of {len(df)}, {df.loc[df['overdue'], 'net'].sum():,.2f}")
print(by_quarter.to_string(index=False, float_format=lambda v: f"{v:,.2f}"))

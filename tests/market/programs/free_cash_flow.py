# expected: '2021  31.1%' in output and 'debt/equity 2022: 2.105' in output and 'average ROE 2019-2023: 181.3%' in output
# Statements joined on their date.
income = fmp.income_statement("AAPL", limit=15)
cash = fmp.get_cash_flow_statement("AAPL", limit=15)
merged = pd.merge(income[["date", "fiscalYear", "revenue"]],
                  cash[["date", "freeCashFlow"]], on="date")
merged["margin"] = merged["freeCashFlow"] / merged["revenue"]
for row in merged[merged["fiscalYear"] >= 2019].itertuples():
    print(f"{row.fiscalYear}  {row.margin:.1%}")

balance = fmp.balance_sheet_statement("AAPL", limit=15)
balance = balance.set_index("fiscalYear")
ratio = (balance.loc[2022, "totalDebt"]
         / balance.loc[2022, "totalStockholdersEquity"])
print(f"debt/equity 2022: {ratio:.3f}")

metrics = fmp.key_metrics("AAPL", limit=15).set_index("fiscalYear")
roe = metrics.loc[2019:2023, "returnOnEquity"].mean()
print(f"average ROE 2019-2023: {roe:.1%}")

# expected: (lambda rows: len(rows) > 2 and rows[0][0] == 'symbol' and all(row[2] >= 100 for row in rows[1:]) and [row[2] for row in rows[1:]] == sorted((row[2] for row in rows[1:]), reverse=True) and 'AAPL' in [row[0] for row in rows])(list(__import__('openpyxl').load_workbook(__import__('io').BytesIO(__import__('base64').b64decode(reply['files'][0]['data']))).active.values))
# A screen under its former name, saved as a workbook.
stocks = fmp.stock_screener(sector="Technology", exchange="NASDAQ",
                            market_cap_more_than=100_000_000_000, limit=50)
stocks = stocks.sort_values("marketCap", ascending=False)
stocks["marketCap ($bn)"] = (stocks["marketCap"] / 1e9).round(1)
top = stocks[["symbol", "companyName", "marketCap ($bn)", "price", "beta"]]
print(tabulate.tabulate(top.head(10), headers="keys", showindex=False))
save_excel(top, "large_caps.xlsx")

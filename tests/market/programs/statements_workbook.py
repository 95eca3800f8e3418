# expected: (lambda book, tables: book.sheetnames == ['Income', 'Balance Sheet', 'Cash Flow'] and [row['revenue'] for row in tables['Income'] if row['fiscalYear'] == 2023] == [368544000000] and all(abs(row['operatingCashFlow'] + row['capitalExpenditure'] - row['freeCashFlow']) < 2 for row in tables['Cash Flow']) and all(abs(row['totalLiabilities'] + row['totalStockholdersEquity'] - row['totalAssets']) < 2 for row in tables['Balance Sheet']) and all(len(table) == 10 for table in tables.values()))(*(lambda book: (book, {sheet.title: [dict(zip(head, row)) for row in rows] for sheet in book for head, *rows in [list(sheet.values)]}))(__import__('openpyxl').load_workbook(__import__('io').BytesIO(__import__('base64').b64decode(reply['files'][0]['data']))))) and reply['files'][0]['name'] == 'AAPL_financials.xlsx'
# The three statements as a workbook.
symbol = "AAPL"
income = fmp.income_statement(symbol, "annual", 10)
balance = fmp.balance_sheet(symbol, period="annual", limit=10)
cash = fmp.cash_flow(symbol, period="annual", limit=10)

sheets = {
    "Income": income[["fiscalYear", "revenue", "grossProfit",
                      "operatingIncome", "netIncome", "epsDiluted"]],
    "Balance Sheet": balance[["fiscalYear", "totalAssets", "totalLiabilities",
                              "totalStockholdersEquity", "totalDebt"]],
    "Cash Flow": cash[["fiscalYear", "freeCashFlow", "operatingCashFlow",
                       "capitalExpenditure"]],
}
name = save_excel(sheets, f"{symbol}_financials.xlsx")
print("Saved", name)

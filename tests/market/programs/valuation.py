# expected: (lambda row: abs(row['P/E'] - row['Price'] / row['EPS']) < 0.02 and abs(row['Upside'] - (row['DCF'] / row['Price'] - 1)) < 0.001 and row['Company'] == 'Microsoft Corporation')(__import__('ast').literal_eval(result))
# Snapshots side by side, by item, get() and attribute.
symbol = "MSFT"
profile = fmp.profile(symbol)
ratios = fmp.ratios_ttm(symbol)
metrics = fmp.key_metrics_ttm(symbol)
quote = fmp.get_quote(symbol)[0]
dcf = fmp.dcf(symbol)
{
    "Company": profile["companyName"],
    "Sector": profile.get("sector", "N/A"),
    "Price": quote["price"],
    "EPS": ratios.netIncomePerShareTTM,
    "P/E": ratios["priceToEarningsRatioTTM"],
    "ROE": metrics.get("returnOnEquityTTM"),
    "DCF": dcf["dcf"],
    "Upside": round(dcf["dcf"] / quote["price"] - 1, 4),
}

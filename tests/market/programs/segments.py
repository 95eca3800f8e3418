# expected: len(reply['figures']) == 1 and 'iPhone 2023: 189.5' in output and 'Service share: 24.6%' in output
# Revenue by product: one column for each.
segments = fmp.revenue_by_product("AAPL").set_index("fiscalYear")
products = segments.drop(columns=["symbol", "period", "reportedCurrency",
                                  "date"])
products = products.loc[2019:2023]
print(f"iPhone 2023: {products.loc[2023, 'iPhone'] / 1e9:.1f}")
share = products.loc[2023, "Service"] / products.loc[2023].sum()
print(f"Service share: {share:.1%}")
(products / 1e9).plot.bar(stacked=True, title="AAPL: revenue by product")

# expected: 'price 80.94%, with dividends 111.' in output
# Prices with and without the dividends in them.
price = fmp.historical_prices("KO", start="2018-01-02", end="2022-12-30")
total = fmp.historical_prices("KO", start="2018-01-02", end="2022-12-30",
                              adjusted=True)
gain = price["close"].iloc[-1] / price["close"].iloc[0] - 1
with_dividends = total["adjClose"].iloc[-1] / total["adjClose"].iloc[0] - 1
print(f"price {gain:.2%}, with dividends {with_dividends:.2%}")

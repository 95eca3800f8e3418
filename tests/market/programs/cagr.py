# expected: 'CAGR of AAPL: 45.20%' in output and '1258 days' in output
# Five years of prices, with the parameters named as most clients name them.
symbol = "AAPL"
prices = fmp.get_historical_prices(symbol, from_date="2019-01-02",
                                   to_date="2023-12-29")
start_price = prices["close"].iloc[0]
end_price = prices["close"].iloc[-1]
years = (prices["date"].iloc[-1] - prices["date"].iloc[0]).days / 365.25
cagr = (end_price / start_price) ** (1 / years) - 1
print(f"{symbol}: {len(prices)} days, {start_price:.2f} -> {end_price:.2f}")
print(f"CAGR of {symbol}: {cagr:.2%}")

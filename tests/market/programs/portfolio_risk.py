# expected: 'volatility 19.73%' in output and 'Sharpe 0.89' in output and 'AAPL/MSFT correlation 0.3167' in output
# Several symbols in one call, pivoted to one column each.
tickers = ["AAPL", "MSFT", "KO"]
weights = np.array([0.5, 0.3, 0.2])
prices = fmp.historical_prices(tickers, start_date="2022-01-01",
                               end_date="2023-12-29")
close = prices.pivot(index="date", columns="symbol", values="close")[tickers]
returns = close.pct_change().dropna()
portfolio = returns @ weights
volatility = portfolio.std() * np.sqrt(252)
sharpe = portfolio.mean() * 252 / volatility
correlation = returns.corr().loc["AAPL", "MSFT"]
print(f"volatility {volatility:.2%}, Sharpe {sharpe:.2f}")
print(f"AAPL/MSFT correlation {correlation:.4f}")

# expected: len(reply['figures']) == 1 and 'beta 0.952' in output
# A regression of a stock on a fund that stands for the market.
import statsmodels.api as sm

start, end = pd.Timestamp("2022-01-01"), pd.Timestamp("2023-12-29")
stock = fmp.historical_prices("AAPL", start=start, end=end)["close"]
market = fmp.historical_prices("SPY", start=start, end=end)["close"]
returns = pd.concat([stock, market], axis=1, keys=["AAPL", "SPY"])
returns = returns.pct_change().dropna()
model = sm.OLS(returns["AAPL"], sm.add_constant(returns["SPY"])).fit()
print(f"beta {model.params['SPY']:.3f}, R2 {model.rsquared:.3f}")
sns.regplot(x="SPY", y="AAPL", data=returns, scatter_kws={"s": 8})

# expected: result == "[('NVDA', 151.65), ('AAPL', 46.89), ('META', 17.82), ('GOOGL', 11.47), ('MSFT', 7.84), ('JPM', 5.89), ('AMZN', -0.27), ('XOM', -15.18), ('KO', -17.06), ('TSLA', -26.13)]"
# Ten symbols fetched by a pool of threads.
from concurrent.futures import ThreadPoolExecutor

tickers = ["AAPL", "MSFT", "GOOGL", "AMZN", "NVDA", "META", "TSLA", "JPM",
           "KO", "XOM"]


def total_return(ticker):
    prices = fmp.get_historical_prices(ticker, start="2023-01-01",
                                       end="2023-12-29")
    return ticker, prices["close"].iloc[-1] / prices["close"].iloc[0] - 1


with ThreadPoolExecutor(max_workers=10) as pool:
    results = dict(pool.map(total_return, tickers))

ranking = sorted(results.items(), key=lambda item: item[1], reverse=True)
[(ticker, float(round(value * 100, 2))) for ticker, value in ranking]

# expected: (lambda days: len(days) == 10 and days == sorted(days))(__import__('re').findall(r'(?m)^\d+\. \[(\d{4}-\d\d-\d\d)\]', output))
# News about a symbol in lower case, of which the API has none.
news = fmp.stock_news("aapl", limit=10)
for i, article in news.iterrows():
    published = article["publishedDate"]
    assert article["symbol"] == "AAPL"
    print(f"{i + 1}. [{published:%Y-%m-%d}] {article['title']}")

# expected: sorted(f['name'] for f in reply['files']) == ['MSFT.docx', 'MSFT.xlsx'] and len(reply['figures']) == 1 and 'Microsoft' in output and reply['error'] is None
# Five years of prices, an average, a figure, a workbook and a document.
def main():
    symbol = "MSFT"
    profile = fmp.company_profile(symbol)
    prices = fmp.historical_prices(symbol, years=5)
    prices["average"] = prices["close"].rolling(50).mean()
    fig, ax = plt.subplots(figsize=(10, 5))
    prices.plot(x="date", y=["close", "average"], ax=ax)
    ax.set_title(f"{profile['companyName']}: five years")
    table = prices[["date", "close", "average"]].tail(250)
    save_excel({"Prices": table, "Chart": fig}, f"{symbol}.xlsx")
    save_word([f"# {profile['companyName']}", profile["sector"], fig],
              f"{symbol}.docx")
    print(profile["companyName"], profile["price"])


if __name__ == "__main__":
    main()

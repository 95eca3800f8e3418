# expected: reply['error']['type'] == 'KeyError' and "fmp.ratios_ttm(symbol)['priceToEarningsRatioTTM']" in reply['error']['message'] and reply['error']['line'] == 5 and output == 'AAPL\n'
# A field that the former API had in a quote: the error says where it is now.
quote = fmp.quote("AAPL")
print(quote["symbol"])
pe = quote["pe"]
print(f"P/E {pe:.1f}")

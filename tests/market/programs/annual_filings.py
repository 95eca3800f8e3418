# expected: len(output.splitlines()) == 3 and all('10-K' in line for line in output.splitlines()) and output.splitlines() == sorted(output.splitlines()) and len({line[:4] for line in output.splitlines()}) == 3
# The last three annual reports, by the name of the parameter that went.
filings = fmp.sec_filings("AAPL", type="10-K", limit=3)
for _, filing in filings.iterrows():
    print(filing["filingDate"].date(), filing["formType"],
          filing["finalLink"])

"""Who holds what: institutions and funds."""

import collections
import datetime
import math

from .economy import words
from .market import DAY
from .request import personal, quarter_ends, quarter_of


def holders(count):
    """A source: so many sample rows of the quarter asked for."""
    def rows(request):
        day = quarter_of(request)
        for n in range(count if day and request.company else 0):
            row = personal(request.sample[0], request.company,
                           request.market, day)
            if "investorName" in row:
                row |= {"investorName": f"{row['investorName']} {n + 1}",
                        "cik": f"{1000000 + n:010}"}
            yield row
    return rows


def holdings_13f(request):
    """institutional-ownership/extract: of filers only; a bond in three."""
    day = quarter_of(request)
    cik = request.get("cik").zfill(10)
    for n, company in enumerate(request.all_of("stock")[:45]):
        if day and cik == "0001067983":
            bond = {"securityCusip": f"{n:09}"} if n % 3 == 2 else {}
            yield personal(request.sample[1 if bond else 0], company,
                           request.market, day, cik=cik, **bond)


def filer_quarters(request):
    if request.get("cik").zfill(10) == "0001067983":
        for day in quarter_ends(datetime.date(2013, 6, 1),
                                request.today - DAY * 45):
            yield {"date": day.isoformat(), "year": day.year,
                   "quarter": day.month // 3}


def held(request):
    """What an ETF holds: (weight in percent, company), heaviest first."""
    flag = "dow" if request.company.symbol == "IWM" else None
    stocks = [company for company in request.all_of("stock")
              if company.country == "US" and flag in (
                  None, *company.flags.split())][:503]
    whole = math.fsum(company.price * company.shares for company in stocks)
    return sorted(((round(company.price * company.shares / whole * 99.99, 3),
                    company) for company in stocks),
                  key=lambda pair: pair[0], reverse=True)


def assets(request):
    facts = request.market.facts(request.company.symbol)
    for weight, company in held(request):
        worth = round(facts["marketCap"] * weight / 100 + 0.5, 1)
        yield personal(
            request.sample[0] | {"symbol": "AAPL"}, company, request.market,
            request.today, symbol=facts["symbol"], weightPercentage=weight,
            asset=company.symbol, name=company.name.upper().rstrip("."),
            isin=company.isin, marketValue=worth,
            sharesNumber=round(worth / company.price))
    yield personal(request.sample[1], request.company, request.market,
                   request.today, asset="", isin="", securityCusip="",
                   name="US DOLLAR")


def sector_weights(request):
    weights = collections.Counter()
    for weight, company in held(request):
        weights[company.sector] += weight
    for sector in words("sector"):
        yield {"symbol": request.company.symbol, "sector": sector,
               "weightPercentage": round(weights[sector], 2)}


def exposure(request):
    """etf/asset-exposure: the ETFs that hold the stock asked for."""
    for fund in request.all_of("etf"):
        if request.company.country == "US" and fund.symbol != "BND":
            worth = fund.shares * fund.price * 0.05
            yield {"symbol": fund.symbol, "asset": request.company.symbol,
                   "sharesNumber": round(worth / request.company.price),
                   "weightPercentage": 5, "marketValue": round(worth)}

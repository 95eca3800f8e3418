"""Dividends, splits and earnings: of one symbol, or a calendar of all; news
and filings."""

import functools
import itertools
import random

from .market import DAY
from .request import ALL, every, later, personal, quarter_of

CALENDAR_ROWS = 4000


# Of a symbol: (date, a function that makes the row), newest first

def dividends_of(request, symbol):
    for date, adjusted, paid in reversed(request.market.dividends(symbol)):
        yield date, functools.partial(dividend_row, request, symbol, date,
                                      adjusted, paid)


def dividend_row(request, symbol, date, adjusted, paid):
    series = request.market.series(symbol)
    close = series.close[max(series.at(date), 0)]
    old = date < "2024-05-28"       # two days to settle, not one
    return {"symbol": symbol, "date": date,
            "recordDate": later(date, 1) if old else date,
            "paymentDate": later(date, 6 if old else 3),
            "declarationDate": later(date, -11) if date >= "2010" else "",
            "adjDividend": adjusted, "dividend": paid,
            "yield": round(adjusted * 4 / close * 100, 5),
            "frequency": "Quarterly"}


def splits_of(request, symbol):
    kind = "stock-split"
    if symbol.startswith("SMP"):
        kind = random.Random(symbol).choice((kind, kind, kind, None, "None"))
    for date, new, old in request.market.companies[symbol].splits:
        yield date, functools.partial(
            dict, symbol=symbol, date=date, numerator=new, denominator=old,
            splitType=kind)


def earnings_of(request, symbol):
    """Reports come a day before the filing; the next one is known."""
    quarters = request.market.quarters(symbol)
    for quarter in [quarters[0] + 1, *quarters] if quarters else ():
        date = request.market.filed(symbol, quarter) - DAY
        yield date.isoformat(), functools.partial(
            earnings_row, request, symbol, quarter, date)


def earnings_row(request, symbol, quarter, date):
    market = request.market
    income = market.statement(symbol, "income", quarter)
    rng = random.Random(f"{symbol} {quarter}")
    end = market.quarter_end(symbol, quarter)
    done = market.filed(symbol, quarter) <= request.today
    row = {"symbol": symbol, "date": date.isoformat(),
           "epsActual": income["eps"] if done else None,
           "epsEstimated": round(income["eps"] * rng.uniform(.93, 1.03), 4),
           "revenueActual": income["revenue"] if done else None,
           "revenueEstimated": round(income["revenue"]
                                     * rng.uniform(.97, 1.01), -5),
           "lastUpdated": min(date, request.today).isoformat()}
    if request.get("includeReportTimes") == "true":
        row |= {"time": rng.choice(("amc", "bmo")),
                "periodEnding": end.isoformat(),
                "fiscalPeriod": f"Q{quarter % 4 + 1}",
                "fiscalYear": str(quarter // 4), "confirmed": done}
    return row


# Sources

def own(events):
    """A source: the events of the company asked for; dates are ignored."""
    def rows(request):
        if request.company:
            for date, row in events(request, request.company.symbol):
                if date <= str(request.today + DAY * 120):
                    yield row()
    return rows


def calendar(events, widest=ALL, paged=True):
    """A source: the events of all companies, newest first, in pages of
    4,000. Within a day FMP has no order of its own, so that two pages show
    some rows of the day at their seam twice and others never: here each
    other page has its days in reverse."""
    def rows(request):
        page = max(request.number("page", 0), 0)
        if page and not paged:
            return []
        first, last = request.window(default=90, widest=widest, ahead=30)
        first, last = str(first), str(last)
        found = [(date, company.symbol, row)
                 for company in request.all_of("stock")
                 for date, row in events(request, company.symbol)
                 if first <= date <= last]
        found.sort(key=lambda event: event[1], reverse=page % 2)
        found.sort(key=lambda event: event[0], reverse=True)
        begin = CALENDAR_ROWS * page
        return [row() for _, _, row in found[begin:begin + CALENDAR_ROWS]]
    return rows


def news(default, searched=True):
    """A source: three items a day of each symbol; the last three months
    unless `from` says more. Without `symbols` a search finds its default."""
    def rows(request):
        names = (request.get("symbols") or default).split(",")
        names = [name for name in names if name in request.market.companies]
        first, last = request.window(default=92)
        stocks = request.all_of("stock")
        for day in every(1)(first, min(last, request.today)):
            for n, name in itertools.product(range(3), names):
                row = request.sample[n % len(request.sample)]
                if not searched:
                    number = (day.toordinal() * 3 + n) % len(stocks)
                    name = stocks[number].symbol
                new = personal(row, request.market.companies[name],
                               request.market, day)
                if row["symbol"]:
                    new["title"] = row["title"].replace(row["symbol"], name)
                new["publishedDate"] = f"{day} {21 - 4 * n}:05:14"
                new["url"] += f"-{day}-{n}"
                yield new
    return rows


def filings(request):
    """sec-filings-search: a 10-Q or 10-K and an 8-K each quarter."""
    found = [request.company] if request.company else []
    if "formType" in request.endpoint["required"]:
        found = request.all_of("stock")[:40]
    rows = []
    for company in found:
        for quarter in request.market.quarters(company.symbol):
            day = request.market.filed(company.symbol, quarter)
            rows.append((day, "10-K" if quarter % 4 == 3 else "10-Q",
                         company))
            rows.append((day - DAY, "8-K", company))
    for day, form, company in sorted(rows, key=lambda row: row[0],
                                     reverse=True):
        if request.start <= day <= request.end and request.get(
                "formType") in ("", form):
            yield personal(request.sample[0], company, request.market,
                           formType=form, filingDate=f"{day} 00:00:00",
                           acceptedDate=f"{day} 06:01:27")


def is_traded(request, row):
    """insider-trading/search: by person, company and kind of trade."""
    return all(request.get(name) in ("", row[name], row[name].lstrip("0"))
               for name in ("reportingCik", "companyCik", "transactionType"))


def transcript(request):
    day = quarter_of(request)
    if day and request.company and request.company.revenue:
        yield personal(request.sample[0], request.company, request.market,
                       day + DAY * 30, year=day.year,
                       period=f"Q{day.month // 3}")

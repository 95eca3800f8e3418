"""Statements, and what follows from them: ratios, growth, estimates."""

import collections
import itertools

from .market import sample, work_out
from .request import personal


def periods(request, per=None):
    """(quarter, how many quarters, head) of each period, newest first."""
    company, market = request.company, request.market
    if company is None:
        return
    period = per or request.get("period")
    quarterly = period == "quarter" or period.startswith("Q")
    for quarter in market.quarters(company.symbol):
        number = quarter % 4 + 1
        if not quarterly and number != 4:
            continue
        if period.startswith("Q") and period != f"Q{number}":
            continue
        filed = market.filed(company.symbol, quarter)
        yield quarter, 1 if quarterly else 4, {
            "date": market.quarter_end(company.symbol, quarter).isoformat(),
            "symbol": company.symbol, "reportedCurrency": company.currency,
            "cik": company.cik, "filingDate": filed.isoformat(),
            "acceptedDate": f"{filed} 06:01:36",
            "fiscalYear": str(quarter // 4),
            "period": f"Q{number}" if quarterly else "FY"}


def ordered(request, *parts):
    """A row with the sample's fields in their order; the first part that
    knows a field counts, and 0 where none does."""
    known = collections.ChainMap(*parts)
    return {name: known.get(name, 0) for name in request.sample[0]}


def statements(kind, per=None, count=None):
    """A source: a statement of each period, or of so many quarters."""
    def rows(request):
        for quarter, quarters, head in periods(request, per):
            row = request.market.statement(
                request.company.symbol, kind, quarter, count or quarters)
            row = ordered(request, head, row)
            if count and kind == "balance":
                del row["capitalLeaseObligationsNonCurrent"]
            yield row
    return rows


def worked_out(name, per=None):
    """A source: what formulas make of each period's statements."""
    def rows(request):
        for quarter, count, head in periods(request, per):
            yield ordered(request, head, work_out(
                name, {}, **request.market.valued(request.company.symbol,
                                                  quarter, count)))
    return rows


def trailing(name):
    """A source: the last four quarters at today's price, in one row."""
    def rows(request):
        for quarter, _, _ in itertools.islice(periods(request, "quarter"), 1):
            facts = request.market.facts(request.company.symbol)
            row = work_out(name, {}, **request.market.valued(
                request.company.symbol, quarter, 4, facts["price"]))
            yield ordered(request, {"symbol": facts["symbol"]}, row,
                          {field + "TTM": value for field, value in
                           row.items()})
    return rows


def scores(request):
    for quarter, _, head in itertools.islice(periods(request, "quarter"), 1):
        names = request.market.valued(
            request.company.symbol, quarter, 4,
            request.market.facts(request.company.symbol)["price"])
        yield ordered(request, work_out("scores", {}, **names), head,
                      request.sample[0])


def growth(*kinds):
    """A source: change against the period before, as a fraction."""
    odd = sample("_formulas")["growth"]

    def rows(request):
        for quarter, count, head in periods(request):
            now, was = ({name.lower(): value for kind in kinds
                         for name, value in request.market.statement(
                             request.company.symbol, kind, at, count).items()}
                        for at in (quarter, quarter - count))
            row = {}
            for name, value in request.sample[0].items():
                word = name.lower().replace("growth", "")
                word = odd.get(word, word).lower()
                if value is not None and word in now:
                    row[name] = round((now[word] - was[word])
                                      / abs(was[word]), 6) if was[word] else 0
            yield ordered(request, head, row, request.sample[0])
    return rows


def reported(name):
    """A source: {"data": {...}} of each period, told of its revenue."""
    def rows(request):
        for quarter, count, head in periods(request):
            company, market = request.company, request.market
            income = market.statement(company.symbol, "income", quarter,
                                      count)
            data = request.sample[0]["data"]
            if name == "reported":
                data = work_out(name, {}, **market.context(
                    company.symbol, quarter, count))
            else:
                if name == "product" and company.symbol != "AAPL":
                    data = {"Product": 7, "Service": 3}
                whole = sum(data.values())
                data = {segment: income["revenue"] * part // whole
                        for segment, part in data.items()}
                data[min(data)] += income["revenue"] - sum(data.values())
            yield ordered(request, {"reportedCurrency": None, "data": data,
                                    "fiscalYear": quarter // 4}, head)
    return rows


def report_dates(request):
    for per in ("annual", "quarter"):
        for quarter, _, head in periods(request, per):
            link = (f"https://financialmodelingprep.com/stable/financial-"
                    f"reports-{{}}?symbol={request.company.symbol}&year="
                    f"{quarter // 4}&period={head['period']}")
            yield {"symbol": request.company.symbol,
                   "fiscalYear": quarter // 4, "period": head["period"],
                   "linkXlsx": link.format("xlsx"),
                   "linkJson": link.format("json")}


def estimates(request):
    """analyst-estimates: the furthest future first."""
    company, market = request.company, request.market
    if company is None or not market.quarters(company.symbol):
        return
    quarterly = request.get("period") == "quarter"
    last = market.quarters(company.symbol)[0]
    step = 1 if quarterly else 4
    row = request.sample[0]
    for quarter in range(last + 20 if not quarterly else last + 8,
                         last - 60, -1):
        if not quarterly and quarter % 4 != 3:
            continue
        ratio = market.level(company.symbol, quarter) * step / row[
            "revenueAvg"]
        end = market.quarter_end(company.symbol, quarter).isoformat()
        new = {"symbol": company.symbol, "date": end}
        for name, value in row.items():
            if name.startswith("eps"):
                value = round(value / 9.2 * ratio * row["netIncomeAvg"]
                              / company.shares, 4)
            elif name not in new and not name.startswith("num"):
                value = round(value * ratio)
            new.setdefault(name, value)
        yield new


def valuation(request):
    """custom-discounted-cash-flow: five years ahead, five behind."""
    if request.company is None or not request.company.revenue:
        return
    for n in range(10):
        year = request.today.year + 5 - n
        row = personal(request.sample[0], request.company, request.market,
                       year=str(year))
        trend = (1 + request.company.revenue_growth) ** -n
        yield {name: round(value * trend) if isinstance(value, int) and
               abs(value) >= 1e7 else value for name, value in row.items()}

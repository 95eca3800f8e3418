"""A made-up market, the same on every machine and on every day it is asked.

None of this is market data. A symbol's daily prices are a random walk seeded
by its name; it passes through the price that _symbols.tsv gives for ANCHOR
and never depends on today's date, which only says how far it is told. Splits
are real for the known companies. Statements are the sample's shares of a
made-up revenue, put together by the formulas of _formulas.json, so that they
balance: years are the sums of their quarters, cash joins up between balance
sheets, ratios follow from the rest.

Besides the known symbols there are SMP001 .. SMP480, invented companies that
fill the long lists (S&P 500, calendars, screener).
"""

import bisect
import csv
import datetime
import functools
import itertools
import json
import math
import pathlib
import random
import types

DATA = pathlib.Path(__file__).resolve().parent.parent
START = datetime.date(1995, 1, 3)
ANCHOR = datetime.date(2025, 2, 4)
FIRST_FISCAL_YEAR = 1985
INVENTED = 480
DAY = datetime.timedelta(1)
SEASON = (1.12, 0.95, 0.94, 0.99)       # of a fiscal year's four quarters
DIVIDEND_GROWTH = 1.06
WEEKDAYS = {"sat": 5, "sun": 6}

# The random shapes of days: of open, high, low and volume.
SHAPES = [tuple(random.Random(n).random() for _ in range(4))
          for n in range(2003)]

# Code: name, country, its code, what its symbols end in.
US = "United States of America", "US", "N/A"
EXCHANGES = {
    "NASDAQ": ("NASDAQ Global Select", *US),
    "NYSE": ("New York Stock Exchange", *US),
    "AMEX": ("New York Stock Exchange Arca", *US),
    "CBOE": ("Chicago Board Options Exchange", *US),
    "SNP": ("SNP", *US), "DJI": ("Dow Jones Industrial", *US),
    "TSX": ("Toronto Stock Exchange", "Canada", "CA", ".TO"),
    "LSE": ("London Stock Exchange", "United Kingdom", "GB", ".L"),
    "JPX": ("Tokyo Stock Exchange", "Japan", "JP", ".T"),
    "FOREX": ("Forex", "N/A", "N/A", "N/A"),
    "CRYPTO": ("Cryptocurrency", "N/A", "N/A", "N/A"),
    "COMMODITY": ("Commodity", "N/A", "N/A", "N/A")}

# Class: how many trading days a year has, the minute of the day at which a
# session begins, how many it lasts, how much of a move is the whole market's.
CLASSES = {"stock": (252, 570, 390, 0.55), "etf": (252, 570, 390, 1),
           "index": (252, 570, 390, 1), "commodity": (252, 570, 390, 0.1),
           "forex": (261, 0, 1440, 0), "crypto": (365, 0, 1440, 0.3)}


@functools.cache
def sample(name):
    """A body out of tests/fmp, or one of the tables there."""
    return json.loads((DATA / f"{name}.json").read_text())


@functools.cache
def formulas(name):
    """Field to compiled expression, in the order to evaluate them in."""
    return {field: compile(text, field, "eval")
            for field, text in sample("_formulas")[name].items()}


def work_out(name, row, **known):
    """Set the fields of a row that formulas give, from the row's other
    fields and what else is known. What cannot be divided is 0, as at FMP."""
    known |= row
    for field, code in formulas(name).items():
        try:
            value = eval(code, {}, known)
        except ZeroDivisionError:
            value = 0
        if isinstance(value, float):
            value = round(value, 6)
        row[field] = known[field] = value
    return row


# The calendar

def nth(year, month, weekday, n):
    """The n-th Monday (0) .. Sunday of a month; -1 is the last."""
    if n > 0:
        first = datetime.date(year, month, 1)
        return first + DAY * ((weekday - first.weekday()) % 7 + 7 * (n - 1))
    last = datetime.date(year + month // 12, month % 12 + 1, 1) - DAY
    return last - DAY * ((last.weekday() - weekday) % 7)


def easter(year):
    """Gregorian Easter Sunday, by Butcher's rule."""
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    month, day = divmod(h + k - 7 * m + 114, 31)
    return datetime.date(year, month, day + 1)


@functools.cache
def holidays(year):
    """Dates on which New York's exchanges are closed, with their names."""
    def observed(month, day):
        date = datetime.date(year, month, day)
        return date + DAY * {5: -1, 6: 1}.get(date.weekday(), 0)
    days = {observed(1, 1): "New Year's Day",
            nth(year, 1, 0, 3): "Martin Luther King, Jr. Day",
            nth(year, 2, 0, 3): "Washington's Birthday",
            easter(year) - 2 * DAY: "Good Friday",
            nth(year, 5, 0, -1): "Memorial Day",
            observed(7, 4): "Independence Day",
            nth(year, 9, 0, 1): "Labor Day",
            nth(year, 11, 3, 4): "Thanksgiving Day",
            observed(12, 25): "Christmas"}
    if year >= 2022:
        days[observed(6, 19)] = "Juneteenth"
    return {date: name for date, name in days.items() if date.year == year}


def is_session(date):
    return date.weekday() < 5 and date not in holidays(date.year)


def eastern_offset(date):
    """Hours that New York is behind UTC."""
    summer = nth(date.year, 3, 6, 2) <= date < nth(date.year, 11, 6, 1)
    return 4 if summer else 5


@functools.cache
def days_of(year_days, first, last):
    """The days from first to last on which such a class trades, as text."""
    trades = {252: is_session, 261: lambda date: date.weekday() < 5,
              365: lambda date: True}[year_days]
    every = (first + DAY * n for n in range((last - first).days + 1))
    return [date.isoformat() for date in every if trades(date)]


# The companies

def known_companies():
    """The lines of _symbols.tsv. Shares, volume and revenue are in millions;
    growth and volatility are fractions a year; a fiscal year ends in a month,
    maybe on its last Saturday; a dividend is the year's and since when; a
    split is its date, the new shares and the old ones."""
    with open(DATA / "_symbols.tsv", encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            for name in ("price", "growth", "volatility", "revenue_growth"):
                line[name] = float(line[name] or 0)
            for name in ("volume", "shares", "revenue"):
                line[name] = round(float(line[name] or 0) * 1e6)
            yield types.SimpleNamespace(**line)


def invented_company(number, models):
    rng = random.Random(f"SMP{number}")
    like = rng.choice(models)
    price = round(rng.uniform(8, 300), 2)
    revenue = round(rng.uniform(3e8, 2e10), -6)
    splits = [(ANCHOR + DAY * (rng.randrange(1200) + 600 * n)).isoformat()
              + rng.choice((":2:1", ":3:1", ":1:10"))
              for n in (3, 1, -1)]
    return types.SimpleNamespace(
        symbol=f"SMP{number:03}", cls="stock", country="US", currency="USD",
        exchange=rng.choice(("NASDAQ", "NASDAQ", "NYSE", "NYSE", "AMEX")),
        price=price, growth=rng.uniform(-0.05, 0.2), flags="",
        volatility=rng.uniform(0.2, 0.7), volume=rng.randrange(10**5, 10**7),
        shares=int(revenue * rng.uniform(1, 6) / price), revenue=revenue,
        revenue_growth=rng.uniform(-0.03, 0.15), listed="2023-01-03",
        cik=f"{2000000 + number:010}", year_end="12", sector=like.sector,
        dividend=f"{price * 0.02:.2f}@2023" if number % 3 else "",
        industry=like.industry, name=f"Sample Company {number} Inc.",
        splits=" ".join(splits))


@functools.cache
def companies():
    """Symbol to company, the known ones first."""
    every = list(known_companies())
    models = [company for company in every if company.sector]
    every += [invented_company(n + 1, models) for n in range(INVENTED)]
    for company in every:
        rng = random.Random(company.symbol)
        company.splits = [
            (date, int(new), int(old)) for date, new, old in
            (split.split(":") for split in company.splits.split())]
        company.cusip = f"{rng.randrange(10**8):08}{rng.randrange(10)}"
        company.isin = f"{company.country or 'US'}{company.cusip}5"
        company.lag = rng.randrange(24, 44)     # days until a filing
        company.ex_day = rng.randrange(3), rng.randrange(3, 26)
        # The sample's cost of revenue, times what makes the price so many
        # times the earnings.
        worth = company.price * company.shares / (company.revenue or 1)
        margin = min(max(worth / rng.uniform(18, 38), 0.03), 0.45)
        company.cost = (0.853 - margin / 0.84) / 0.54
        company.beta = round(rng.uniform(0.4, 1.8), 3)
    apple = every[0]
    apple.cusip, apple.isin, apple.lag = "037833100", "US0378331005", 34
    apple.ex_day = 1, 10        # the tenth of February, May, ...
    return {company.symbol: company for company in every}


def split_factor(company, date, today):
    """How many of today's shares one share of a date has become."""
    return math.prod(new / old for day, new, old in company.splits
                     if date < day <= today)


# Prices

@functools.cache
def market_move(date):
    return random.Random(date).gauss(0, 1)


class Series:
    """Daily bars of a symbol, oldest first, adjusted for splits."""

    def __init__(self, company, today):
        year_days, _, _, common = CLASSES[company.cls]
        own = (1 - common ** 2) ** 0.5
        first = max(START, datetime.date.fromisoformat(company.listed))
        dates = days_of(year_days, first, max(today, ANCHOR))
        rng = random.Random(company.symbol)
        self.company = company
        sigma = company.volatility / year_days ** 0.5
        self.sigma = abs(sigma)     # below 0: it moves against the market
        self.shift = rng.randrange(len(SHAPES))
        # Until the anchor a bridge between two fixed ends, then free.
        anchor = bisect.bisect_left(dates, ANCHOR.isoformat())
        walk = list(itertools.accumulate(
            (sigma * (common * market_move(date) + own * rng.gauss(0, 1))
             for date in dates[1:]), initial=0.0))
        pull, trend = walk[anchor] / anchor, company.growth / year_days
        count = bisect.bisect_right(dates, today.isoformat())
        self.dates = dates[:count]
        self.close = [
            sensible(company.price * math.exp(
                walk[i] - pull * min(i, anchor) + trend * (i - anchor)))
            for i in range(count)]

    def bar(self, i):
        """(open, high, low, close, volume) of a day."""
        close = self.close[i]
        a, b, c, d = SHAPES[(i + self.shift) % len(SHAPES)]
        start = self.close[max(i - 1, 0)] * (1 + (a - 0.5) * self.sigma)
        high = max(start, close) * (1 + b * self.sigma / 2)
        low = min(start, close) * (1 - c * self.sigma / 2)
        return (sensible(start), sensible(high), sensible(low), close,
                int(self.company.volume * math.exp(d - 0.5)))

    def at(self, date):
        """The index of the last bar on or before a date; -1: none."""
        return bisect.bisect_right(self.dates, date) - 1

    def between(self, first, last):
        """Indexes of the bars from first to last, newest first."""
        return range(self.at(last), bisect.bisect_left(self.dates, first) - 1,
                     -1)


def sensible(price):
    """A price with as many digits as FMP gives."""
    return round(price, 2 if price >= 10 else 4)


class Market:
    """The market as it stands after the close of one day."""

    def __init__(self, today):
        self.today = today
        self.companies = {
            symbol: company for symbol, company in companies().items()
            if company.listed < (today - 7 * DAY).isoformat()}

    @functools.cache
    def series(self, symbol):
        return Series(self.companies[symbol], self.today)

    @functools.lru_cache(500)
    def minutes(self, symbol, i):
        """A day's path from its open to its close within its range: one
        price a minute, with one more at the end."""
        series = self.series(symbol)
        rng = random.Random(f"{symbol} {series.dates[i]}")
        count = CLASSES[series.company.cls][2]
        first, high, low, last, _ = series.bar(i)
        walk = [0.0]
        for _ in range(count):
            walk.append(walk[-1] + rng.gauss(0, (high - low) / count ** 0.5))
        path = [first + step + (last - first - walk[-1]) * n / count
                for n, step in enumerate(walk)]
        return [round(min(max(price, low), high), 4) for price in path]

    @functools.cache
    def dividends(self, symbol):
        """(date, adjusted dividend, as paid) of each ex-day, oldest first,
        up to a month ahead: what is declared is known."""
        company = self.companies[symbol]
        if not company.dividend:
            return []
        annual, first = company.dividend.split("@")
        rows = []
        for year in range(int(first), self.today.year + 2):
            for month in range(1 + company.ex_day[0], 13, 3):
                date = datetime.date(year, month, company.ex_day[1])
                while not is_session(date):
                    date += DAY
                if (date - self.today).days > 30:
                    break
                adjusted = round(float(annual) / 4
                                 * DIVIDEND_GROWTH ** (year - 2025), 4)
                paid = adjusted * split_factor(
                    company, date.isoformat(), self.today.isoformat())
                rows.append((date.isoformat(), adjusted, round(paid, 4)))
        return rows

    @functools.cache
    def dividend_factors(self, symbol):
        """What to multiply each day's prices with for later dividends."""
        series = self.series(symbol)
        amounts = {date: paid for date, paid, _ in self.dividends(symbol)}
        factors, factor = [], 1.0
        for i in range(len(series.dates) - 1, -1, -1):
            factors.append(factor)
            if i and series.dates[i] in amounts:
                factor *= 1 - amounts[series.dates[i]] / series.close[i - 1]
        return factors[::-1]

    @functools.cache
    def facts(self, symbol):
        """What a quote, a profile or a screener row tells of a symbol."""
        company, series = self.companies[symbol], self.series(symbol)
        bars = [series.bar(i) for i in range(len(series.close))[-252:]]
        start, high, low, price, volume = bars[-1]
        before = series.close[-2] if len(bars) > 1 else price
        year_low, year_high = min(b[2] for b in bars), max(b[1] for b in bars)
        change = round(price - before, 4)
        cap = {"forex": None, "commodity": None, "index": 0}.get(
            company.cls, round(price * company.shares))
        paid = [adjusted for date, adjusted, _ in self.dividends(symbol)
                if date <= series.dates[-1]]
        annual = round(math.fsum(paid[-4:]), 2)
        average = round(mean([bar[4] for bar in bars[-60:]]))
        closed = datetime.datetime.fromisoformat(
            f"{series.dates[-1]} 16:00:01+00:00").timestamp()
        closed += 3600 * eastern_offset(self.today)
        percent = round(change / before * 100, 5)
        is_etf = company.cls == "etf"
        return {
            "symbol": symbol, "name": company.name, "price": price,
            "companyName": company.name, "change": change, "volume": volume,
            "changePercentage": percent, "changesPercentage": percent,
            "dayLow": low, "dayHigh": high,
            "yearLow": year_low, "yearHigh": year_high, "marketCap": cap,
            "mktCap": cap, "range": f"{year_low}-{year_high}",
            "priceAvg50": mean(series.close[-50:]), "beta": company.beta,
            "priceAvg200": mean(series.close[-200:]), "open": start,
            "previousClose": before, "timestamp": int(closed),
            "exchange": company.exchange, "currency": company.currency,
            "exchangeFullName": EXCHANGES[company.exchange][0],
            "averageVolume": average, "avgVolume": average,
            "lastDividend": annual, "lastAnnualDividend": annual,
            "ipoDate": company.listed, "Stock Price": before,
            "sector": company.sector, "industry": company.industry,
            "subSector": company.industry, "country": company.country or "US",
            "cik": company.cik, "isin": company.isin,
            "cusip": company.cusip, "securityCusip": company.cusip,
            "isEtf": is_etf, "assetsUnderManagement": cap, "nav": price,
            "outstandingShares": 0 if is_etf else company.shares,
            "floatShares": 0 if is_etf else company.shares * 998 // 1000}

    # Statements. A quarter is a number: fiscal year * 4 + 0 .. 3.

    @functools.cache
    def quarter_end(self, symbol, quarter):
        month, _, weekday = self.companies[symbol].year_end.partition(":")
        months = (quarter // 4) * 12 + int(month) - 3 * (3 - quarter % 4) - 1
        year, month = months // 12, months % 12 + 1
        if weekday:
            return nth(year, month, WEEKDAYS[weekday], -1)
        return datetime.date(year + month // 12, month % 12 + 1, 1) - DAY

    def filed(self, symbol, quarter):
        """The day of a quarter's report: never a weekend or a Monday."""
        date = self.quarter_end(symbol, quarter)
        date += DAY * self.companies[symbol].lag
        return date + DAY * {5: 3, 6: 2, 0: 1}.get(date.weekday(), 0)

    @functools.cache
    def quarters(self, symbol):
        """The quarters reported until today, newest first."""
        company = self.companies[symbol]
        if not company.revenue:
            return []
        first = max(FIRST_FISCAL_YEAR, int(company.listed[:4]) - 2)
        return [quarter for quarter in
                range(self.today.year * 4 + 7, first * 4 - 1, -1)
                if self.filed(symbol, quarter) <= self.today]

    def level(self, symbol, quarter):
        """A quarter's revenue by the trend alone."""
        company = self.companies[symbol]
        years = (quarter - (2024 * 4 + 1.5)) / 4
        return company.revenue / 4 * (1 + company.revenue_growth) ** years

    @functools.lru_cache(10000)
    def leaves(self, symbol, kind, quarter):
        """What no formula gives: the sample's shares of a revenue."""
        name = {"income": "income_statement_annual", "cash":
                "cash_flow_statement_annual", "balance":
                "balance_sheet_statement_annual"}[kind]
        revenue = sample("income_statement_annual")[0]["revenue"]
        rng = random.Random(f"{symbol} {kind} {quarter}")
        amount = self.level(symbol, quarter) * (1 + rng.gauss(0, 0.02))
        amount *= 4 if kind == "balance" else SEASON[quarter % 4]
        unit = 10 ** 6 if self.companies[symbol].revenue >= 1e9 else 1000
        row = {}
        for field, value in sample(name)[0].items():
            if not isinstance(value, str) and field not in formulas(kind):
                share = value / revenue * (1 + rng.uniform(-0.03, 0.03))
                if field == "costOfRevenue":
                    share *= self.companies[symbol].cost
                row[field] = round(amount * share / unit) * unit
        if kind == "income":
            row["revenue"] = round(amount / unit) * unit
        return row

    @functools.lru_cache(5000)
    def statement(self, symbol, kind, quarter, count=1):
        """A statement of the quarters that end with one: 1, or 4 of them.
        Flows are summed; a balance sheet is that of the last day."""
        if kind == "balance":
            return work_out(kind, dict(self.leaves(symbol, kind, quarter)))
        rows = [self.leaves(symbol, kind, quarter - n) for n in range(count)]
        row = {field: sum(other[field] for other in rows)
               for field in rows[0]}
        if kind == "income":
            return work_out(kind, row, shares=self.companies[symbol].shares)
        return work_out(kind, row, **self.context(symbol, quarter, count,
                                                  ("income", "balance")))

    def context(self, symbol, quarter, count,
                kinds=("income", "balance", "cash")):
        """The names that formulas use: i, b, c are this period's statements,
        `was` the balance sheet before it."""
        names = {kind[0]: types.SimpleNamespace(
            **self.statement(symbol, kind, quarter, count)) for kind in kinds}
        was = self.statement(symbol, "balance", quarter - count)
        return names | {"was": types.SimpleNamespace(**was)}

    def valued(self, symbol, quarter, count, price=None):
        """The names that ratios use: price and market value besides."""
        company, series = self.companies[symbol], self.series(symbol)
        if price is None:
            i = series.at(self.quarter_end(symbol, quarter).isoformat())
            price = series.close[max(i, 0)]
        now = self.statement(symbol, "income", quarter, count)["netIncome"]
        old = self.statement(symbol, "income", quarter - count,
                             count)["netIncome"]
        return self.context(symbol, quarter, count) | {
            "price": price, "cap": round(price * company.shares),
            "shares": company.shares, "days": 91 * count,
            "growth": (now - old) / abs(old) if old else 0}


def mean(values):
    # Not sum(), whose last digits changed with Python 3.12.
    return round(math.fsum(values) / len(values), 4)

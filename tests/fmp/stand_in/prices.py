"""Quotes, prices, technical indicators, and lists of companies."""

import itertools
import math
import operator
import re

from .market import CLASSES, DAY, sample, sensible, split_factor
from .request import ALL, is_number, personal

EOD_ROWS = 5000
LOOKBACK = {"1min": 3, "5min": 10, "15min": 45, "30min": 30, "1hour": 90,
            "4hour": 180}       # days
MINUTES = {"1min": 1, "5min": 5, "15min": 15, "30min": 30, "1hour": 60,
           "4hour": 240}
QUOTE_FIELDS = list(sample("quote")[0])


def picked(companies_of, keep=None):
    """A source: one row of facts for each of some companies."""
    def rows(request):
        fields = [field["name"] for field in request.endpoint["fields"]]
        if request.get("short") == "false":
            fields = QUOTE_FIELDS
        for company in companies_of(request):
            facts = {"date": request.today.isoformat(),
                     **request.market.facts(company.symbol)}
            if keep is None or keep(request, facts):
                yield {name: facts[name] for name in fields}
    return rows


def of_class(*classes):
    return lambda request: request.all_of(*classes)


def on_exchange(request):
    return [company for company in request.all_of("stock", "etf")
            if company.exchange == request.get("exchange").upper()]


def peers(request):
    if one := request.company:
        return [company for company in request.all_of("stock")
                if company.sector == one.sector and company is not one][:8]
    return []


def found(*names):
    """A filter: the query, cik, isin or cusip is in one of these facts."""
    def keep(request, facts):
        wanted = request.get(request.endpoint["required"][0]).lower()
        exchange = request.get("exchange").upper() or facts["exchange"]
        if names[0] in ("cik", "isin", "cusip"):
            return facts[names[0]].lower().lstrip("0") == wanted.lstrip("0")
        return exchange == facts["exchange"] and any(
            wanted in facts[name].lower() for name in names)
    return keep


def screened(request):
    """company-screener: unknown names are ignored, unknown values match
    nothing, bounds are inclusive."""
    words = ("sector", "industry", "exchange", "country", "isEtf", "isFund",
             "isActivelyTrading")
    for company in request.all_of("stock", "etf"):
        facts = request.market.facts(company.symbol) | {
            "isFund": False, "isActivelyTrading": True,
            "exchangeShortName": company.exchange}
        row = {name: facts[name] for name in request.sample[0]}
        row["exchange"] = facts["exchangeFullName"]
        for name, wanted in request.params.items():
            if bound := re.fullmatch("(.+)(More|Lower)Than", name):
                value = facts.get(bound[1].replace("dividend", "lastDividend"))
                sign = 1 if bound[2] == "More" else -1
                if value is not None and is_number(wanted) and (
                        value - float(wanted)) * sign < 0:
                    break
            elif name in words and str(facts[name]).lower() not in (
                    wanted.lower().split(",")):
                break
        else:
            yield row


def moved(key):
    """A source: the 50 stocks that moved most, by a key of their facts."""
    def rows(request):
        facts = [request.market.facts(company.symbol)
                 for company in request.all_of("stock")]
        for fact in sorted(facts, key=key)[:50]:
            yield {name: fact[name] for name in request.sample[0]}
    return rows


def constituents(count, flag=None, exchange=None):
    """A source: the members of an index, as many as it has."""
    def rows(request):
        stocks = [company for company in request.all_of("stock")
                  if company.country == "US" and flag in (None, *(
                      company.flags.split())) and exchange in (
                          None, company.exchange)]
        for company in stocks[:count]:
            row = {"subSector": company.industry, "sector": company.sector,
                   "founded": company.listed}
            if company.symbol != "AAPL":
                row["headQuarter"] = "Sampletown, ST"
            yield personal(request.sample[0], company, request.market, **row)
    return rows


def change_since(request):
    """stock-price-change: percent since so many days or bars ago."""
    if request.company is None:
        return
    series = request.market.series(request.company.symbol)
    now, first = series.close[-1], series.close[0]
    row = {"symbol": request.company.symbol}
    for name in list(request.sample[0])[1:]:
        if name == "ytd":
            i = series.at(f"{request.today.year - 1}-12-31")
        elif name[-1] == "D":
            i = len(series.close) - 1 - int(name[:-1])
        else:
            months = {"M": 1, "Y": 12}.get(name[-1], ALL) * (
                int(name[:-1]) if name != "max" else 1)
            day = request.today - DAY * min(round(months * 30.4375), 20000)
            i = series.at(day.isoformat())
        then = series.close[i] if i >= 0 else first
        row[name] = round((now / then - 1) * 100, 5)
    yield row


# Prices

def daily(form):
    """A source: end-of-day rows, 5 years of them, at most 5,000."""
    def rows(request):
        if request.company is None:
            return
        market, company = request.market, request.company
        series = market.series(company.symbol)
        first, last = request.window(default=5 * 365)
        factors = (market.dividend_factors(company.symbol)
                   if form == "adjusted" else None)
        for i in series.between(str(first), str(last))[:EOD_ROWS]:
            date, bar = series.dates[i], series.bar(i)
            start, high, low, close, volume = bar
            head = {"symbol": company.symbol, "date": date}
            if form == "light":
                yield head | {"price": close, "volume": volume}
            elif form == "full":
                yield head | {
                    "open": start, "high": high, "low": low, "close": close,
                    "volume": volume, "change": round(close - start, 4),
                    "changePercent": round((close / start - 1) * 100, 5),
                    "vwap": round(math.fsum(bar[:4]) / 4, 4)}
            else:
                factor = factors[i] if factors else split_factor(
                    company, date, request.today.isoformat())
                if form == "raw":
                    volume = round(volume / factor)
                names = ("adjOpen", "adjHigh", "adjLow", "adjClose")
                yield head | {name: sensible(price * factor)
                              for name, price in zip(names, bar)
                              } | {"volume": volume}
    return rows


def bars(request, interval, first, last):
    """Intraday (time, open, high, low, close, volume), newest first."""
    market, series = request.market, request.market.series(
        request.company.symbol)
    step = MINUTES[interval]
    _, opens, count, _ = CLASSES[request.company.cls]
    for i in series.between(str(first), str(last)):
        path = market.minutes(request.company.symbol, i)
        volume = series.bar(i)[4] * step / count
        begin, end = 0, count
        if request.get("extended") == "true" and count < 1440:
            begin, end = -330 // step * step, count + 240
        for n in range(begin, end, step)[::-1]:
            part = path[max(n, 0):max(n + step, 0) + 1] or path[-1:]
            hour, minute = divmod(opens + n, 60)
            # The first bar of a day has a fractional volume.
            yield (f"{series.dates[i]} {hour:02}:{minute:02}:00", part[0],
                   max(part), min(part), part[-1],
                   int(volume) + (0 if n else 0.875))


def intraday(request):
    if request.company is None:
        return
    oldest = request.today - DAY * (LOOKBACK[request.segment] - 1)
    first, last = request.window()
    if first > last:        # FMP answers a day that nobody asked for
        first = last
    for time, start, high, low, close, volume in bars(
            request, request.segment, max(first, oldest), last):
        yield {"date": time, "open": start, "low": low, "high": high,
               "close": close, "volume": volume}


def caps(request):
    """historical-market-capitalization: 3 months unless asked for more."""
    if request.company is None:
        return
    company, series = request.company, request.market.series(
        request.company.symbol)
    first, last = request.window(default=91)
    for i in series.between(str(first), str(last))[:EOD_ROWS]:
        yield {"symbol": company.symbol, "date": series.dates[i],
               "marketCap": round(series.close[i] * company.shares)}


# Technical indicators, from bars oldest first. Those of a window see what
# lies before the range asked for; the recursive ones begin with it.

def smoothed(values, weight):
    """Exponential: each value takes a weight of the distance to the next."""
    return list(itertools.accumulate(
        values, lambda old, new: old + weight * (new - old)))


def rolling(function):
    def indicator(closes, highs, lows, length, skip):
        return [function(closes[max(i - length + 1, 0):i + 1],
                         highs[max(i - length + 1, 0):i + 1],
                         lows[max(i - length + 1, 0):i + 1])
                for i in range(skip, len(closes))]
    return indicator


def repeated_ema(*signs):
    """Sum of signed EMAs of EMAs: dema is 2 e - e(e), tema 3, -3, 1."""
    def indicator(closes, highs, lows, length, skip):
        total, values = [0.0] * len(closes[skip:]), closes[skip:]
        for sign in signs:
            values = smoothed(values, 2 / (length + 1))
            total = [a + sign * b for a, b in zip(total, values)]
        return total
    return indicator


def rsi(closes, highs, lows, length, skip):
    moves = [b - a for a, b in itertools.pairwise(closes[skip:])]
    up = smoothed([max(move, 0.0) for move in moves], 1 / length)
    down = smoothed([max(-move, 0.0) for move in moves], 1 / length)
    return [50.0] + [100 * a / (a + b) if a + b else 50.0
                     for a, b in zip(up, down)]


def adx(closes, highs, lows, length, skip):
    ups, downs, ranges = [], [], []
    for i in range(skip + 1, len(closes)):
        up, down = highs[i] - highs[i - 1], lows[i - 1] - lows[i]
        ups.append(up if up > max(down, 0) else 0.0)
        downs.append(down if down > max(up, 0) else 0.0)
        ranges.append(max(highs[i], closes[i - 1])
                      - min(lows[i], closes[i - 1]))
    plus, minus, true = (smoothed(values, 1 / length)
                         for values in (ups, downs, ranges))
    moves = [100 * abs(a - b) / (a + b) if a + b else 0.0
             for a, b in zip(plus, minus)]
    return [0.0] + smoothed(moves, 1 / length)


def deviation(closes, highs, lows):
    average = math.fsum(closes) / len(closes)
    squares = math.fsum((close - average) ** 2 for close in closes)
    return (squares / len(closes)) ** 0.5


def weighted(closes, *_):
    weights = range(1, len(closes) + 1)
    return math.fsum(map(operator.mul, weights, closes)) / sum(weights)


INDICATORS = {
    "sma": rolling(lambda closes, *_: math.fsum(closes) / len(closes)),
    "wma": rolling(weighted), "standarddeviation": rolling(deviation),
    "williams": rolling(lambda closes, highs, lows: -100 * (
        max(highs) - closes[-1]) / ((max(highs) - min(lows)) or 1)),
    "ema": repeated_ema(1), "dema": repeated_ema(2, -1),
    "tema": repeated_ema(3, -3, 1), "rsi": rsi, "adx": adx}


def technical(request):
    length = request.number("periodLength", 0)
    if request.company is None or length < 1:
        return []
    frame = request.get("timeframe")
    series = request.market.series(request.company.symbol)
    first, last = request.window(default=1823, widest=1823)
    if first > last or first > request.today:   # as if nothing was asked
        request.start = None
        request.end = last if first > last else None
        first, last = request.window(default=1823)
    if frame == "1day":
        begin = series.at(str(first - DAY)) + 1
        skip = min(length, begin)
        table = [(f"{series.dates[i]} 00:00:00", *series.bar(i))
                 for i in range(begin - skip, series.at(str(last)) + 1)]
    else:
        first = max(first, request.today - DAY * (LOOKBACK[frame] - 1))
        table, skip = [*bars(request, frame, first, last)][::-1], 0
    if len(table) <= skip:
        return []
    times, opens, highs, lows, closes, volumes = zip(*table)
    values = INDICATORS[request.segment](closes, highs, lows, length, skip)
    name = {"standarddeviation": "standardDeviation"}.get(request.segment,
                                                          request.segment)
    return [{"date": times[skip + n], "open": opens[skip + n],
             "high": highs[skip + n], "low": lows[skip + n],
             "close": closes[skip + n], "volume": volumes[skip + n],
             name: round(values[n], 6)}
            for n in range(len(values) - 1, -1, -1)]

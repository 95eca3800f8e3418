"""Economics, sectors, exchanges, and the lists of what is traded."""

import datetime
import functools
import random

from .market import (DAY, EXCHANGES, companies, eastern_offset, holidays,
                     is_session, nth, sample)
from .request import Refused, every, month_firsts, parse_date, sessions

COUNTRIES = (("US", "USD"), ("JP", "JPY"), ("DE", "EUR"), ("GB", "GBP"),
             ("CN", "CNY"), ("FR", "EUR"))
GROUPED = ("NASDAQ", "NYSE", "AMEX")    # exchanges that have sectors


def indicator(request):
    """economic-indicators: by default three months that begin a year ago,
    never more than the newest three of a range; a quarterly series has
    nothing to tell of a year or more."""
    if request.get("name") not in sample("_economy"):
        raise Refused("bad_indicator_name")
    pace, value, trend, digits = sample("_economy")[request.get("name")]
    if not request.start and not request.end:
        request.start = request.today - DAY * 365
        request.end = request.start + DAY * 90
    first, last = request.window(default=90)
    if pace == "never" or pace == "quarter" and (last - first).days > 364:
        return
    dates = {"day": sessions, "week": every(7, 6), "month": month_firsts,
             "quarter": lambda a, b: (day for day in month_firsts(a, b)
                                      if day.month % 3 == 1)}[pace]
    known = request.today - DAY * {"quarter": 30, "month": 14}.get(pace, 1)
    for day in dates(max(first, last - DAY * 92), min(last, known)):
        rng = random.Random(f"{request.get('name')} {day}")
        years = (day.toordinal() - 739000) / 365.25
        yield {"name": request.get("name"), "date": day.isoformat(),
               "value": round(value * (1 + trend) ** years
                              * (1 + rng.uniform(-.002, .002)), digits + 1)}


def treasury(request):
    """treasury-rates: about three months, the newest of a range."""
    first, last = request.window(default=92, widest=92)
    for day in sessions(first, min(last, request.today)):
        rng = random.Random(f"treasury {day}")
        move = 0.4 * ((day.toordinal() // 30 * 7) % 11 / 5 - 1)
        yield {name: day.isoformat() if name == "date" else
               round(rate + move + rng.uniform(-.03, .03), 2)
               for name, rate in request.sample[0].items()}


def economic_calendar(request):
    """About 60 rows a weekday; a window of more than a month loses rows
    without a cap, and one of 15 months has none."""
    first, last = request.window(default=30)
    width = (last - first).days
    if width >= 450:
        return
    events = [(day, n) for day in every(1)(first, last)
              if day.weekday() < 5 for n in range(84)]
    for day, n in events[::1 if width <= 31 else len(events) // 535 or 1]:
        row = dict(request.sample[n % 2])
        country, currency = COUNTRIES[(n + day.day) % len(COUNTRIES)]
        row |= {"date": f"{day} {23 - n // 4:02}:{45 - n % 4 * 15:02}:00",
                "country": country, "currency": currency}
        if day > request.today:
            row |= {"actual": None, "change": None}
        if request.get("country") in ("", country):
            yield row


@functools.cache
def words(kind):
    """The names of the sectors, or of the 159 industries."""
    names = [row[kind] for row in sample(
        {"sector": "available_sectors", "industry": "available_industries"}[
            kind])]
    names += sorted({vars(company)[kind] for company in companies().values()}
                    - {*names, ""})
    if kind == "industry":
        names += [f"Sample Industry {n}" for n in range(159 - len(names))]
    return names


def group_value(kind, name, exchange, day, field):
    rng = random.Random(f"{field} {name} {exchange} {day}")
    value = rng.gauss(0, 1.2) if field == "averageChange" else (
        0 if rng.random() < 0.05 else rng.uniform(8, 60))
    return {"date": str(day), kind: name, "exchange": exchange,
            field: round(value, 6)}


def snapshot(kind, field):
    """A source: all sectors or industries on one day; of NASDAQ unless told.
    In the future their last days, which are not the same."""
    def rows(request):
        wanted = day = parse_date(request.get("date"))
        exchange = request.get("exchange").upper() or "NASDAQ"
        if day.weekday() > 4 or day.year < 2000 or exchange not in GROUPED:
            return
        for n, name in enumerate(words(kind)[:126]):
            if wanted > request.today:
                day = request.today - DAY * (3 * (n % 4 == 1) + (n % 4 == 2))
                day -= DAY * max(day.weekday() - 4, 0)
            if request.get(kind).lower() in ("", name.lower()):
                yield group_value(kind, name, exchange, day, field)
    return rows


def sector_history(request):
    """historical-sector-performance: February 2024 unless told."""
    first = request.start or datetime.date(2024, 2, 1)
    last = min(request.end or datetime.date(2024, 3, 1), request.today)
    exchange = request.get("exchange").upper() or "NASDAQ"
    names = {name.lower(): name for name in words("sector")}
    name = names.get(request.get("sector").lower())
    if name and exchange in GROUPED:
        for day in sessions(max(first, datetime.date(2000, 1, 3)), last):
            yield group_value("sector", name, exchange, day, "averageChange")


def hours(request):
    row = dict(sample("exchange_market_hours" if is_session(request.today)
                      else "exchange_market_hours_closed")[0])
    exchange = request.get("exchange").upper()
    if row["openingHour"] != "CLOSED":
        offset = f"-0{eastern_offset(request.today)}:00"
        row |= {name: row[name].replace("-05:00", offset)
                for name in ("openingHour", "closingHour")}
    yield row | {"exchange": exchange, "name": short_name(exchange)}


def short_name(exchange):
    return EXCHANGES[exchange][0].removesuffix(" Global Select")


def closures(request):
    """holidays-by-exchange: the last year; `from` itself is left out."""
    first, last = request.window(default=365)
    full, early = request.sample
    exchange = request.get("exchange").upper()
    rows = []
    for year in range(first.year, last.year + 1):
        rows += [(day, full | {"name": name})
                 for day, name in holidays(year).items()]
        eve = datetime.date(year, 12, 24)
        rows += [(nth(year, 11, 3, 4) + DAY, early | {
            "name": "Day After Thanksgiving"})]
        rows += [(eve, early)] if is_session(eve) else []
    for day, row in sorted(rows, key=lambda row: row[0], reverse=True):
        if first < day <= last:
            yield row | {"date": day.isoformat(), "exchange": exchange}


def exchanges(request):
    for code, (_, country, short, suffix) in EXCHANGES.items():
        yield {"exchange": code, "name": short_name(code),
               "countryName": country, "countryCode": short,
               "symbolSuffix": suffix,
               "delay": "Real-time" if short == "US" else "15 min"}


def coins(request):
    for company in request.all_of("crypto"):
        yield request.sample[0] | {
            "symbol": company.symbol, "name": company.name,
            "icoDate": company.listed, "circulatingSupply": company.shares}
    yield request.sample[1]


def pairs(request):
    names = {"EUR": "Euro", "USD": "US Dollar", "GBP": "British Pound",
             "JPY": "Japanese Yen"}
    for company in request.all_of("forex"):
        one, other = company.symbol[:3], company.symbol[3:]
        yield {"symbol": company.symbol, "fromCurrency": one,
               "toCurrency": other, "fromName": names[one],
               "toName": names[other]}


def goods(request):
    for company in request.all_of("commodity"):
        yield request.sample[0] | {
            "symbol": company.symbol, "name": company.name,
            "currency": company.currency}


def traders(request):
    """commitment-of-traders-analysis: early 2024 unless told, and never
    more than 13 weeks of a contract."""
    if not request.start and not request.end:
        request.start = datetime.date(2024, 1, 2)
        request.end = datetime.date(2024, 2, 27)
    first, last = request.window(default=90, widest=90)
    contracts = {"NG": "Natural Gas", "GC": "Gold", "CL": "Crude Oil"}
    for day in every(7, 2)(first, min(last, request.today)):
        for symbol, name in contracts.items():
            if request.get("symbol") in ("", symbol):
                yield request.sample[0] | {
                    "symbol": symbol, "date": f"{day} 00:00:00",
                    "name": f"{name} ({symbol})"}

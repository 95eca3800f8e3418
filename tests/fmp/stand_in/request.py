"""A request for the rows of one endpoint, and rows made from its sample."""

import datetime
import itertools
import re

from .market import DAY, companies, is_session, sample, sensible

ALL = 10 ** 9
EPOCH = datetime.date(1962, 1, 1)
FIXED_DATES = {"inceptionDate", "ipoDate", "dateFirstAdded", "founded",
               "firstAdded"}
PRICE_LIKE = re.compile("target|AvgPriceT|dcf|^bidP|^askP|eps|PerShare|"
                        "rPrice$|ePaid", re.IGNORECASE)


class Refused(Exception):
    """An error answer: its id in _errors.json, and a name that its text has
    in place of the captured one."""

    def __init__(self, error, old="", new=""):
        super().__init__(error)
        self.error, self.old, self.new = error, old, new


def parse_date(text):
    """A date, or None: FMP drops a malformed one without a word."""
    try:
        return datetime.date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def is_number(text):
    return bool(re.fullmatch(r"-?\d+(\.\d+)?", text))


class Request:
    """A request for the rows of one endpoint."""

    def __init__(self, market, endpoint, segment, params):
        self.market, self.endpoint, self.params = market, endpoint, params
        self.segment = segment      # which one of a path's {one|or|another}
        self.method = endpoint["method"]
        self.today = market.today
        self.start = parse_date(params.get("from", ""))
        self.end = parse_date(params.get("to", ""))
        name = endpoint["sample"]
        self.sample = sample(name) if name else []

    def get(self, name):
        return self.params.get(name, "")

    def number(self, name, default):
        text = self.get(name)
        return int(float(text)) if is_number(text) else default

    @property
    def company(self):
        """The company asked for: exactly as written, but in etf/*."""
        symbol = self.get("symbol")
        if self.endpoint["stable"].startswith("etf/"):
            symbol = symbol.upper()
        return self.market.companies.get(symbol)

    def asked(self):
        """The companies asked for, one or several; others are dropped."""
        names = (self.get("symbols").split(",") if "symbols" in
                 self.endpoint["required"] else [self.get("symbol")])
        return [self.market.companies[name] for name in names
                if name in self.market.companies]

    def all_of(self, *classes):
        return [company for company in self.market.companies.values()
                if company.cls in classes]

    def window(self, default=ALL, widest=ALL, ahead=0):
        """(first, last) date: from and to, or the default days until today;
        never wider than `widest` days, of which the newest are kept."""
        last = self.end or self.today + DAY * ahead
        days = (last - self.start).days if self.start else default
        return last - DAY * min(days, widest, (last - EPOCH).days), last


def quarter_of(request):
    """The last day of the year and quarter asked for, or None."""
    year, quarter = request.number("year", 0), request.number("quarter", 0)
    if not 2010 <= year <= request.today.year or quarter not in range(1, 5):
        return None
    day = datetime.date(year + quarter // 4, quarter * 3 % 12 + 1, 1) - DAY
    return day if day < request.today else None


# Rows from samples

def personal(row, company, market, date=None, **known):
    """A sample's row, told of another company and another day. What the
    market knows takes the place of what the sample says, identities are
    replaced wherever they stand in a text, amounts go with the company's
    size, targets with its price, and dates keep their distance."""
    old = companies().get(row.get("symbol")) or companies()["AAPL"]
    facts = market.facts(company.symbol)
    known = facts | {"symbol": company.symbol} | known
    size = company.revenue / old.revenue if old.revenue else 1
    days = (date - main_date(row)).days if date and main_date(row) else 0
    new = {}
    for name, value in row.items():
        if name in known and value is not None:
            value = known[name]
        elif isinstance(value, str):
            if days and name not in FIXED_DATES:
                value = later(value, days)
            for a, b in zip(identity(old), identity(company)):
                value = value.replace(a, b)
        elif type(value) in (int, float):
            if PRICE_LIKE.search(name):
                value = sensible(value * facts["price"] / old.price)
            elif abs(value) >= 1e8:
                value = round(value * size)
        new[name] = value
    return new


def identity(company):
    """The words by which a sample's texts name its company."""
    short = company.name.rstrip(".")
    cik = company.cik or company.symbol
    return (company.name, short, short.upper(), company.symbol, company.isin,
            cik, cik.lstrip("0"), company.cusip)


def main_date(row):
    for name in ("date", "updatedAt", "publishedDate", "acceptedDate",
                 "filingDate", "disclosureDate", "delistedDate"):
        if row.get(name):
            return parse_date(row[name][:10])
    return None


def later(text, days):
    """A text's date, if it begins with one, moved by so many days."""
    date = parse_date(text[:10])
    return (date + DAY * days).isoformat() + text[10:] if date else text


def told(request):
    """The sample's rows, told of the company asked for; or as they are."""
    if "symbol" not in request.endpoint["required"]:
        return request.sample
    if request.company is None:
        return []
    known = {}
    if request.method.startswith("aftermarket"):    # in milliseconds
        closed = request.market.facts(request.company.symbol)["timestamp"]
        known = {"timestamp": closed * 1000 + 3600311}
    return [personal(row, request.company, request.market, request.today,
                     **known) for row in request.sample]


# Dates, newest first

def every(days, phase=0):
    """Dates back from a day on, so many days apart, the same for any day."""
    def dates(first, last):
        day = last - DAY * ((last.toordinal() - phase) % days)
        while day >= first:
            yield day
            day -= DAY * days
    return dates


def sessions(first, last):
    return filter(is_session, every(1)(first, last))


def quarter_ends(first, last):
    return (day for day in every(1)(first, last)
            if (day + DAY).day == 1 and day.month % 3 == 0)


def month_firsts(first, last):
    return (day for day in every(1)(first, last) if day.day == 1)


def again(dates, default=ALL, widest=ALL, ahead=0, ranged=False, since=2000,
          each=1, keep=None, invent=False):
    """A source: the sample's rows again and again, back in time, `each` of
    them a date; of the company asked for, of one after another, or of
    companies that are nowhere else."""
    def rows(request):
        if request.get("symbol") and request.company is None:
            return
        if not ranged:
            request.start = request.end = None
        first, last = request.window(default, widest, ahead)
        first = max(first, datetime.date(since, 1, 1))
        one, stocks = request.company, request.all_of("stock")
        if one and one.revenue == 0:
            return
        days = itertools.chain.from_iterable(
            itertools.repeat(day, each) for day in dates(first, last))
        for n, day in enumerate(days):
            company = one or stocks[(n + day.toordinal()) % len(stocks)]
            row = request.sample[n % len(request.sample)]
            known = {"year": day.year, "quarter": (day.month + 2) // 3}
            if "quarter" in row:
                known["fiscalYear"] = day.year
            if "transactionDate" in row and "price" in row:
                series = request.market.series(company.symbol)
                known["price"] = row["price"] and series.close[
                    max(series.at(day.isoformat()), 0)]
            if invent:
                known |= {"symbol": f"{row.get('symbol')}{n}"}
            row = personal(row, company, request.market, day, **known)
            if "dateAdded" in row:
                row["dateAdded"] = f"{day:%B %d, %Y}"
            if keep is None or keep(request, row):
                yield row
    return rows


def copies(count, *numbered):
    """A source: the sample's rows, and so many in all with numbered
    inventions after them."""
    def rows(request):
        yield from request.sample
        for n in range(len(request.sample), count):
            row = dict(request.sample[n % len(request.sample)])
            yield row | {name: f"Sample {name} {n}" for name in numbered}
    return rows

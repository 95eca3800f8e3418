"""A call as a program writes it, made into a Request.

Whatever is unknown is refused with what there is: the API would ignore it
and answer another question.
"""

import datetime as dt
import difflib
import math
import re

from sandbox.fmp import values
from sandbox.fmp.errors import FMPParamError
from sandbox.fmp.request import (CALENDARS, EOD, Request, accepted, has_dates,
                                 shown, valid)
from sandbox.fmp.table import table

BOOLEANS = {"extended", "nonadjusted", "short", "isEtf", "isFund",
            "isActivelyTrading", "includeAllShareClasses",
            "includeReportTimes", "invalid"}
INTEGERS = {"limit", "page", "year", "periodLength", "timestamp"}
NUMBER = re.compile("(More|Lower)Than$|Pct$|Rate$|^costOf|^beta$|Premium$")
#: What a program may call an argument, by what the API calls it. Words are
#: compared without case and underscores.
SYNONYMS = {
    "from": "start startdate fromdate datefrom begin begindate since after",
    "to": "end enddate todate dateto until before",
    "symbol": "symbols ticker tickers stock stocks sym code pair etf index "
              "company",
    "symbols": "symbol ticker tickers stock stocks sym code pair pairs",
    "query": "q name text term keyword keywords search company symbol ticker",
    "limit": "n count num number rows size top maxresults numresults",
    "page": "pagenumber",
    "period": "freq frequency periodtype timeframe reportperiod",
    "interval": "timeframe freq frequency granularity resolution barsize",
    "timeframe": "interval freq frequency granularity resolution",
    "periodLength": "period length window timeperiod n span lookback periods",
    "indicator": "type name kind indicatortype indicatorname",
    "name": "indicator series seriesid seriesname symbol",
    "formType": "form type filingtype formtypes",
    "exchange": "market exchangeshortname mic exchangename",
    "year": "fiscalyear", "quarter": "q qtr fiscalquarter period",
    "date": "day on asof", "cik": "cikcode", "country": "countries",
    "adjusted": "adjust autoadjust adj dividendadjusted",
    "transactionType": "type",
}
#: What is meant by what some other client has and this one has not.
MEANT = {"timeseries": "days", "serietype": "adjusted", "lookback": "days",
         "asset_class": "symbol", "order": "limit", "sort": "limit"}
KEY_NAMES = {"apikey", "key", "token", "accesstoken", "fmpkey", "fmpapikey"}
STATEMENT_PERIODS = ("annual", "quarter", "FY", "Q1", "Q2", "Q3", "Q4")


def read(endpoint, choice, args, kwargs):
    """The Request of a call; FMPParamError when it cannot be understood."""
    try:
        return Reader(endpoint, choice).read(args, kwargs)
    except ValueError as error:
        if isinstance(error, FMPParamError):
            raise
        text = f"{endpoint.name}(): {error}."
    raise FMPParamError(text, endpoint=endpoint.name)


class Reader:
    """Reads the arguments of one call."""

    def __init__(self, endpoint, choice):
        self.endpoint = endpoint
        self.request = Request(endpoint, choice)
        self.names = accepted(endpoint)
        self.given = {}
        self.lengths = {}
        if choice is not None:
            self.given[endpoint.choice] = choice

    def refuse(self, text, **more):
        raise FMPParamError(f"{self.endpoint.name}() {text}",
                            endpoint=self.endpoint.name, **more)

    def read(self, args, kwargs):
        for word, value in kwargs.items():
            self.take_keyword(word, value)
        self.take_positions(args)
        for name, value in self.endpoint.defaults.items():
            if name not in self.given:
                self.given[name] = value
                self.request.defaulted.add(name)
        request = self.route()
        if request is not None:
            return request
        self.convert()
        self.set_lengths()
        self.check()
        return self.request

    # Which argument is meant

    def take_keyword(self, word, value):
        plain = values.squeezed(word)
        if plain in KEY_NAMES and plain not in map(values.squeezed,
                                                   self.names):
            self.request.ignored_key = True
        elif plain == "refresh":
            self.request.refresh = bool(value)
        elif value is None:
            self.name_of(word)
        elif plain in ("days", "weeks", "months", "years", "quarterly"):
            self.take_length(plain, value)
        else:
            self.put(self.name_of(word), value)

    def take_length(self, plain, value):
        if plain == "quarterly" and "period" in self.names:
            self.put("period", "quarter" if value else "annual")
        elif plain != "quarterly" and has_dates(self.endpoint):
            self.lengths[plain] = value
        else:
            self.refuse_word(plain)

    def put(self, name, value):
        if name in self.given and (
                values.squeezed(self.given[name]) != values.squeezed(value)):
            self.refuse(f"got {shown(name)!r} twice")
        self.given[name] = value

    def name_of(self, word):
        """The API's name of the argument that a keyword means."""
        plain = values.squeezed(word)
        for name in self.names:
            if plain == values.squeezed(name):
                return name
        for name in self.names:
            if plain in SYNONYMS.get(name, "").split():
                return name
            if plain in bound_words(name):
                return name
        return self.refuse_word(word)

    def refuse_word(self, word):
        known = valid(self.endpoint)
        guess = MEANT.get(word.lower())
        if guess not in known:
            close = difflib.get_close_matches(word.lower(), known, 1, 0.5)
            guess = close[0] if close else None
        self.refuse(f"got unknown argument {word!r}. Valid: "
                    f"{', '.join(known)}."
                    + (f" Did you mean {guess}=?" if guess else ""))

    def take_positions(self, args):
        """Give each value without a name to the first argument that is free
        and of its kind."""
        for place, value in enumerate(args):
            if value is None:
                continue
            name = self.place_for(value, place)
            if name == "days":
                self.lengths[name] = value
            else:
                self.put(name, value)
        self.swap_choice()

    def place_for(self, value, place):
        free = [name for name in self.names if name not in self.given]
        if place == 0 and free[:1] == self.endpoint.required[:1] and (
                free[0] != "date" and not (isinstance(value, int)
                                           and free[0].startswith("symbol"))):
            return free[0]
        for name in free:
            if self.suits(name, value):
                return name
        if isinstance(value, str) and self.endpoint.choice in free:
            return self.endpoint.choice  # unknown: it is refused by name
        if (isinstance(value, int) and has_dates(self.endpoint)
                and "days" not in self.lengths):
            return "days"
        more = (f" Several symbols go into one list: fmp.{self.endpoint.name}"
                "(['AAPL', 'MSFT'])." if "symbol" in self.names else "")
        return self.refuse(f"does not know what {value!r} is for. Valid: "
                           f"{', '.join(valid(self.endpoint))}.{more}")

    def suits(self, name, value):
        """Whether a value without a name can be this argument's."""
        is_text = isinstance(value, str)
        is_number = (hasattr(value, "__index__")
                     and not isinstance(value, bool))
        if name in ("from", "to", "date"):
            return values.is_date(value) or (
                is_number and name != "date" and 1900 <= value <= 2100)
        if name == "limit":
            # Where the API has no limit, a bare number means days.
            return is_number and (name in self.endpoint.parameters
                                  or not has_dates(self.endpoint))
        if name in INTEGERS or name == "quarter":
            return is_number or (name == "quarter" and is_text)
        if name in BOOLEANS or name == "adjusted":
            return isinstance(value, bool)
        if NUMBER.search(name):
            return False
        if name == "period":
            word = values.squeezed(value)
            return is_text and (word in values.PERIODS
                                or values.span(value) is not None)
        if name in ("interval", "timeframe"):
            return is_text and values.squeezed(value) in values.INTERVALS
        if name == "indicator":
            return is_text and values.squeezed(value) in self.choices()
        if name in ("symbol", "symbols"):
            return not is_number and not values.is_date(value)
        return is_text and not values.is_date(value)

    def choices(self):
        return self.endpoint.values.get(self.endpoint.choice, ())

    def swap_choice(self):
        """fmp.technical_indicator('rsi', 'AAPL') is meant the other way."""
        choice = self.endpoint.choice
        first, second = self.given.get("symbol"), self.given.get(choice)
        if (isinstance(first, str) and isinstance(second, str)
                and values.squeezed(first) in self.choices()
                and values.squeezed(second) not in self.choices()):
            self.given.update({"symbol": second, choice: first})

    # Other endpoints that are meant

    def route(self):
        """The Request of another endpoint that this call is about."""
        given, other = self.given, None
        if self.endpoint.name in EOD:
            other = self.route_prices()
        elif self.endpoint.name == "intraday" and values.INTERVALS.get(
                values.squeezed(given["interval"])) == "1day":
            other = "historical_prices"
            given = {name: value for name, value in given.items() if name
                     not in ("interval", "extended", "nonadjusted")}
        elif "ttm" in self.endpoint.data and values.PERIODS.get(
                values.squeezed(given.get("period"))) == "ttm":
            other = self.endpoint.data["ttm"]
            del given["period"]
        elif self.endpoint.name == "stock_news" and "symbols" not in given:
            other = "stock_news_latest"
        if other is None:
            return None
        endpoint = table()[other]
        if endpoint.is_record:  # one row, the latest
            given = {name: value for name, value in given.items()
                     if name not in ("limit", "from", "to")}
            self.lengths.clear()
        request = read(endpoint, None, (), {**given, **self.lengths,
                                            "refresh": self.request.refresh})
        request.ignored_key = self.request.ignored_key
        return request

    def route_prices(self):
        """intraday, or adjusted prices; None when it is these prices."""
        given = self.given
        if "interval" in given:
            found = values.interval(given["interval"], "interval",
                                    tuple(values.WORDS_OF_INTERVAL))
            del given["interval"]
            if found != "1day":
                given["interval"] = found
                given.pop("adjusted", None)
                return "intraday"
        wants = given.pop("adjusted", None)
        if (wants is not None and values.boolean(wants, "adjusted") == "true"
                and self.endpoint.name == "historical_prices"):
            return "historical_prices_adjusted"
        return None

    # What the values are

    def convert(self):
        for name, value in self.given.items():
            if name in ("symbol", "symbols") and name in self.names:
                self.take_symbols(name, value)
            elif name == "from":
                self.request.start = values.date(value, "start")
            elif name == "to":
                self.request.end = values.date(value, "end", last=True)
            elif name == "limit":
                self.request.limit = values.integer(value, name)
            elif name == "page":
                self.request.page = values.integer(value, name, 0)
            elif name == "period" and self.endpoint.name in EOD:
                self.take_span(value)
            elif name == self.endpoint.choice:
                self.request.choice = self.chosen(name, value)
            elif name in self.endpoint.filters:
                self.request.filters[self.endpoint.filters[name]] = (
                    one_or_more(value))
            else:
                self.request.values[name] = self.converted(name, value)

    def take_symbols(self, name, value):
        symbols, many = values.symbols(value)
        if name in self.endpoint.filters:
            self.request.filters[self.endpoint.filters[name]] = symbols
        else:
            self.request.symbols, self.request.many = symbols, many

    def converted(self, name, value):
        """The text that the API is sent for it."""
        if name == "date":
            return values.date(value, name).isoformat()
        if name == "period":
            return values.period(value, name, self.periods())
        if name == "timeframe":
            return values.interval(value, name,
                                   tuple(values.WORDS_OF_INTERVAL))
        if name == "quarter":
            return values.quarter(value, name)
        if name in INTEGERS:
            return values.integer(value, shown(name))
        if name in BOOLEANS:
            return values.boolean(value, shown(name))
        if NUMBER.search(name):
            return values.number(value, shown(name))
        if name.lower().endswith("cik"):
            return values.text(value, shown(name)).zfill(10)
        if name in self.endpoint.values:
            return self.one_of(name, value)
        if name == "exchange":
            return values.text(value, name).upper()
        return values.text(value, shown(name))

    def periods(self):
        """What an endpoint knows; others it takes for annual, silently."""
        if self.endpoint.name in ("analyst_estimates", "revenue_by_product",
                                  "revenue_by_region"):
            return ("annual", "quarter")
        return STATEMENT_PERIODS

    def chosen(self, name, value):
        if name == "interval":
            return values.interval(value, name, tuple(self.choices()))
        return self.one_of(name, value)

    def one_of(self, name, value):
        """One of the names that the endpoint knows, whatever its case."""
        known = {values.squeezed(one): one
                 for one in self.endpoint.values[name]}
        word = values.squeezed(value)
        if word in known:
            return known[word]
        close = difflib.get_close_matches(word, known, 1, 0.6)
        guess = f" Did you mean {known[close[0]]!r}?" if close else ""
        if name == "indicator":
            guess += (" Others are computed from fmp.historical_prices(), "
                      "as df['close'].ewm(span=12).mean().")
        raise FMPParamError(
            f"{self.endpoint.name}({str(value)!r}): unknown {shown(name)}. "
            f"Valid: {', '.join(known.values())}.{guess}",
            endpoint=self.endpoint.name)

    # From when to when

    def take_span(self, value):
        """period='1y' of daily prices, as yfinance has it."""
        found = values.span(value)
        if found is None:
            raise ValueError(f"period={value!r}: of daily prices it is a "
                             "length such as '1mo', '1y', '5y', 'ytd' or "
                             "'max'")
        today = dt.date.today()
        if found == "ytd":
            self.request.start = dt.date(today.year, 1, 1)
        elif found == "max":
            self.request.start = dt.date(1950, 1, 1)
        else:
            self.lengths["days"] = found

    def set_lengths(self):
        """days=, weeks=, months= and years= as a start, or as an end where
        what is asked for lies ahead."""
        request, total = self.request, 0
        for unit, value in self.lengths.items():
            count = float(values.number(value, unit))
            if count <= 0:
                raise ValueError(f"{unit}={value!r} must be more than 0")
            if unit == "years" and "period" in self.endpoint.parameters:
                self.count_reports(count)
            else:
                total += count * values.DAYS_OF_SPAN[unit[0]]
        if not total:
            return
        try:
            span = dt.timedelta(round(total))
            if request.start is not None and request.end is None:
                request.end = request.start + span
            elif request.start is not None:
                raise ValueError("start, end and a length are one too many")
            elif self.endpoint.name in CALENDARS and request.end is None:
                request.start = dt.date.today()
                request.end = request.start + span
            else:
                request.start = (request.end or dt.date.today()) - span
        except OverflowError:
            raise ValueError("that is too long") from None

    def count_reports(self, years):
        """Of statements, years are reports rather than days."""
        if self.request.limit is None:
            yearly = 4 if self.request.values.get("period") == "quarter" else 1
            self.request.limit = math.ceil(years * yearly)

    # Whether it all fits

    def check(self):
        request = self.request
        if request.start and request.end and request.start > request.end:
            raise ValueError(f"start {request.start} is after end "
                             f"{request.end}")
        missing = [shown(name) for name in self.endpoint.required
                   if name not in self.given and name not in OPEN]
        missing = [name for name in missing
                   if name not in self.filled_later()]
        if missing:
            self.refuse(f"needs {' and '.join(missing)}: {example(self)}",
                        hint=f"fmp.help({self.endpoint.name!r})")

    def filled_later(self):
        """What repairs supply when it is not given."""
        if self.endpoint.name in ("institutional_holders", "form_13f",
                                  "institutional_summary"):
            return {"year", "quarter"}
        return {"period_length", "date"}


#: Dates are never required here: a range is supplied.
OPEN = {"from", "to"}


def bound_words(name):
    """marketCapMoreThan is also min_market_cap, market_cap_min, ..."""
    found = re.fullmatch("(.*)(More|Lower)Than", name)
    if not found:
        return ()
    base = found[1].lower()
    signs = (("min", "gt", "gte", "above", "over", "from", "greaterthan",
              "morethan") if found[2] == "More" else
             ("max", "lt", "lte", "below", "under", "to", "lessthan",
              "lowerthan"))
    return {text for sign in signs for text in (sign + base, base + sign)}


def one_or_more(value):
    """A list of what rows are picked by."""
    is_several = isinstance(value, (list, tuple, set)) or (
        hasattr(value, "tolist"))
    several = list(value) if is_several else [value]
    return [values.text(one, "value") for one in several]


def example(reader):
    """A call that would be complete."""
    samples = {"symbol": "'AAPL'", "symbols": "['AAPL', 'MSFT']",
               "query": "'Apple'", "name": "'GDP'", "cik": "'0001067983'",
               "isin": "'US0378331005'", "cusip": "'037833100'",
               "exchange": "'NASDAQ'", "sector": "'Technology'",
               "formType": "'10-K'", "year": "2024", "quarter": "3"}
    texts = [samples[name] for name in reader.endpoint.required
             if name in samples and name not in reader.endpoint.defaults]
    call = f"fmp.{reader.endpoint.name}({', '.join(texts)})"
    if reader.endpoint.name == "transcript":
        call += "; fmp.transcript_dates('AAPL') lists those that there are"
    return call

"""Values as programs write them, made into what the API understands.

Each function takes what was given and the argument's name, and returns the
value or raises ValueError with what would do. The API drops what it does
not understand without a word, so nothing doubtful may pass.
"""

import datetime as dt
import math
import numbers
import operator
import re

WORDS_OF_PERIOD = {
    "annual": "annual annually yearly year years y a 12m 1y fiscal",
    "quarter": "quarter quarterly quarters q qtr 3m",
    "ttm": "ttm ltm trailing trailingtwelvemonths lasttwelvemonths",
    "FY": "fy fullyear", "Q1": "q1", "Q2": "q2", "Q3": "q3", "Q4": "q4",
}
WORDS_OF_INTERVAL = {
    "1min": "1min 1m 1minute min minute 1t",
    "5min": "5min 5m 5minute 5minutes 5t",
    "15min": "15min 15m 15minute 15minutes 15t",
    "30min": "30min 30m 30minute 30minutes 30t",
    "1hour": "1hour 1h 60m 60min 60minute 60minutes hour hourly h",
    "4hour": "4hour 4hours 4h 240m 240min",
    "1day": "1day 1d day daily d days eod",
}
PERIODS = {word: name for name, words in WORDS_OF_PERIOD.items()
           for word in words.split()}
INTERVALS = {word: name for name, words in WORDS_OF_INTERVAL.items()
             for word in words.split()}
SYMBOL = re.compile(r"[A-Z0-9^][A-Z0-9.\-=/&_^]{0,29}")
SPAN = re.compile(r"(\d+) ?(d|day|w|wk|week|m|mo|mon|month|y|yr|year)s?")
DAYS_OF_SPAN = {"d": 1, "w": 7, "m": 30.4375, "y": 365.25}


def squeezed(word):
    """A word without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", str(word).lower())


def date(value, name="date", last=False):
    """A datetime.date; of a month or year its first day, or its last."""
    if hasattr(value, "to_pydatetime"):  # pandas' Timestamp
        value = value.to_pydatetime()
    elif hasattr(value, "astype"):  # numpy's datetime64
        value = str(value)
    found = None
    if isinstance(value, dt.datetime):
        found = value.date()
    elif isinstance(value, dt.date):
        found = value
    elif isinstance(value, numbers.Integral) and not isinstance(value, bool):
        found = date_of_text(str(value), last)
    elif isinstance(value, str):
        found = date_of_text(value.strip(), last)
    if found is None or not 1900 <= found.year <= 2200:
        raise ValueError(f"{name}={value!r} is no date; write it as "
                         "YYYY-MM-DD")
    return found


def date_of_text(text, last):
    """The date that a text says beyond doubt, or None."""
    words = {"today": 0, "now": 0, "yesterday": 1}
    if text.lower() in words:
        return dt.date.today() - dt.timedelta(words[text.lower()])
    found = re.fullmatch(
        r"(\d{4})(?:([-/.]?)(\d\d?)(?:\2(\d\d?))?)?(?:[T ][\d:.]+.*)?", text)
    try:
        if found:
            year, month, day = (found[n] and int(found[n]) for n in (1, 3, 4))
            return whole(year, month, day, last)
        if re.search("[A-Za-z]{3}", text) and re.search(r"\d{4}", text):
            from dateutil import parser
            return parser.parse(text).date()
    except (ValueError, OverflowError):
        pass
    return None


def whole(year, month, day, last):
    if day:
        return dt.date(year, month, day)
    if not last:
        return dt.date(year, month or 1, 1)
    month = month or 12
    return dt.date(year + month // 12, month % 12 + 1, 1) - dt.timedelta(1)


def is_date(value):
    """Whether it can only be meant as a date; a bare number is none."""
    if isinstance(value, numbers.Number):
        return False
    try:
        date(value)
    except ValueError:
        return False
    return True


def integer(value, name="limit", least=1):
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    elif isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        value = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} is no whole number") from None
    if value < least:
        raise ValueError(f"{name}={value!r} must be at least {least}")
    return value


def number(value, name):
    """A number as text, without an exponent."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if isinstance(value, bool) or not math.isfinite(found):
        raise ValueError(f"{name}={value!r} is no number")
    if found.is_integer():
        return str(int(found))
    return format(found, ".12f").rstrip("0")


def boolean(value, name):
    words = {"true": "true", "yes": "true", "1": "true",
             "false": "false", "no": "false", "0": "false"}
    found = words.get(squeezed(value))
    if found is None:
        raise ValueError(f"{name}={value!r} is neither True nor False")
    return found


def text(value, name):
    value = str(value).strip()
    if (not value or not value.isprintable()
            or len(value.encode("utf-8", "replace")) > 2048):
        raise ValueError(f"{name}={value[:40]!r} is no text to look for")
    return value


def period(value, name, allowed):
    found = PERIODS.get(squeezed(value))
    if found == "FY" and "FY" not in allowed:
        found = "annual"
    if found not in allowed:
        raise ValueError(f"{name}={value!r}: it can be "
                         + ", ".join(map(repr, allowed)))
    return found


def interval(value, name, allowed):
    """A length of bars; pandas' and yfinance's spellings are known too."""
    word = squeezed(value)
    # 1M is a month to pandas and others, never a minute.
    found = None if str(value).strip() == "1M" else INTERVALS.get(word)
    if found not in allowed:
        raise ValueError(
            f"{name}={value!r}: it can be {', '.join(map(repr, allowed))}. "
            "For weeks and months: fmp.historical_prices(...)"
            ".resample('W').last()")
    return found


def quarter(value, name):
    found = re.fullmatch("q?([1-4])", squeezed(value))
    if not found:
        raise ValueError(f"{name}={value!r} must be 1, 2, 3 or 4")
    return int(found[1])


def span(value):
    """The days of '1y', '6mo', '5d' (as yfinance has them), or None; 'ytd'
    and 'max' are themselves."""
    word = str(value).strip().lower()
    if word in ("ytd", "max"):
        return word
    found = SPAN.fullmatch(word)
    return (round(int(found[1]) * DAYS_OF_SPAN[found[2][0]]) if found
            else None)


def symbol(value):
    """One symbol, in the API's spelling."""
    if isinstance(value, str):
        found = value.strip().upper().removeprefix("$")
        if SYMBOL.fullmatch(found):
            return found
    raise ValueError(f"{value!r} is no symbol; symbols look like 'AAPL', "
                     "'BRK-B', '^GSPC', 'EURUSD', 'BTCUSD', 'RY.TO'")


def symbols(value):
    """(list of symbols, whether several were asked for)."""
    many = not isinstance(value, str)
    if not many:
        many = "," in value
        value = value.split(",") if many else [value]
    try:
        parts = [part for one in value for part in
                 (one.split(",") if isinstance(one, str) else [one])]
    except TypeError:
        parts = [value]
    found = list(dict.fromkeys(
        symbol(part) for part in parts
        if not (isinstance(part, str) and not part.strip())))
    if not found:
        raise ValueError(f"{value!r} holds no symbol")
    return found, many


def respellings(name):
    """Other ways in which the API may write a symbol it does not know."""
    if re.fullmatch(r"[A-Z]{1,5}\.[A-Z]", name):
        yield name.replace(".", "-")  # class shares: BRK-B
    elif re.fullmatch(r"[A-Z]{1,5}/[A-Z]", name):
        yield name.replace("/", "-")
    elif re.fullmatch(r"[A-Z]{2,6}[-/][A-Z]{3}", name):
        yield re.sub("[-/]", "", name)  # BTC-USD, EUR/USD
    elif re.fullmatch(r"[A-Z]{6}=X", name):
        yield name.removesuffix("=X")
    elif re.fullmatch(r"[A-Z]{2}=F", name):
        yield name.replace("=F", "USD")  # futures: GC=F

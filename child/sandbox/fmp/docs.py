"""What is said about each method: docstrings and fmp.help()."""

import functools
import inspect
import json
import textwrap

from sandbox.fmp import request
from sandbox.fmp.repairs import LOOKBACK
from sandbox.fmp.table import table

ABOUT = {
    "symbol": "'AAPL', or a list of symbols",
    "symbols": "'AAPL', or a list of symbols",
    "start": "first day: 'YYYY-MM-DD', date, datetime, Timestamp",
    "end": "last day, included",
    "days": "instead of start: so many days back",
    "years": "instead of start: so many years back",
    "limit": "at most so many rows (the newest)",
    "page": "the API's page, from 0",
    "date": "the day; default: the last session",
    "refresh": "True: not from the cache",
    "cik": "the number, with or without leading zeros",
    "adjusted": "True: for dividends too (adjOpen .. adjClose)",
    "period_length": "bars that a value is made of",
    "quarter": "1 to 4",
}
DATED = "oldest to newest, index and column `date` as datetime64"
TYPES = {"date": "datetime", "int": "int", "percent": "float",
         "json": "list", "bool": "bool"}


def about(endpoint, name):
    """One argument, in a few words."""
    if name == "period":
        if endpoint.name in request.EOD:
            return "instead of start: '1mo', '1y', '5y', 'ytd', 'max'"
        return "'annual', 'quarter'" + (
            ", 'Q1'..'Q4'" if "instead" not in endpoint.data and
            endpoint.name != "analyst_estimates" else "") + (
            ", 'ttm'" if "ttm" in endpoint.data else "")
    if name == "interval" and endpoint.choice != "interval":
        return "'1day', or that of fmp.intraday()"
    if name == "timeframe":
        return "'1day', '1min', '5min', ... '4hour'"
    if name == "years" and "period" in endpoint.parameters:
        return "instead of limit: so many years"
    if name == "days" and endpoint.name in request.CALENDARS:
        return "instead of start and end: the coming days"
    words = endpoint.values.get(api_name(endpoint, name))
    if words:
        return ", ".join(map(repr, words))
    if name in endpoint.filters.values() or name == "form_type":
        return "only rows with this one, or one of a list"
    return ABOUT.get(name, "")


def api_name(endpoint, name):
    return next((one for one in request.accepted(endpoint)
                 if request.shown(one) == name), name)


@functools.cache
def signature(endpoint):
    """The arguments in order, as inspect and help() show them."""
    kind = inspect.Parameter
    required, optional = [], []
    for name in request.valid(endpoint):
        one = api_name(endpoint, name)
        if one in endpoint.required and one not in endpoint.defaults and (
                name not in ("start", "end", "period_length", "date")):
            required.append(kind(name, kind.POSITIONAL_OR_KEYWORD))
        else:
            default = endpoint.defaults.get(one)
            if name == "refresh":
                default = False
            optional.append(kind(name, kind.POSITIONAL_OR_KEYWORD,
                                 default=default))
    return inspect.Signature(required + optional)


def returned(endpoint):
    if endpoint.is_record:
        return ("FMPRecord: a dict (record['price'] or record.price); for a "
                "list of symbols a DataFrame, one row each")
    if endpoint.is_dated:
        return f"DataFrame, {DATED}"
    if endpoint.time:
        return f"DataFrame, oldest to newest by {', '.join(endpoint.time)}"
    return "DataFrame"


def default(endpoint):
    """What comes when neither a range nor a limit is given."""
    days, limits = endpoint.limits.get("default_days"), endpoint.limits
    if endpoint.name in request.EOD:
        return "5 years"
    if endpoint.name == "intraday":
        return "as far back as bars reach, " + ", ".join(
            f"{name} {days}" for name, days in LOOKBACK.items()) + " days"
    if endpoint.name == "holidays":
        return "this year"
    if days and "symbols" not in endpoint.parameters:
        return f"the last {days} days" + (
            "; with form_type= and limit= as many years" if endpoint.filters
            else "")
    if "default_limit" in limits:
        return f"the newest {limits['default_limit']} rows"
    if "period" in endpoint.parameters and "limit" in endpoint.parameters:
        return "the newest 5" if "page" not in endpoint.parameters else (
            "10 years, the furthest ahead")
    if endpoint.name in ("treasury_rates", "historical_market_cap"):
        return "3 months"
    if "period_length" in request.valid(endpoint):
        return "period_length 14 for rsi, adx, williams, else 20; 5 years"
    return ""


def columns(endpoint):
    """The fields with their types."""
    listed = []
    for name, kind in endpoint.kinds.items():
        type_ = endpoint.types[name]
        plain = ("float" if "number" in type_ else
                 "bool" if "boolean" in type_ else
                 "str" if "string" in type_ else type_)
        if name == "data":
            listed.append("and one float for each entry")
        elif endpoint.is_record and kind == "date":
            listed.append(f"{name} str")
        else:
            listed.append(f"{name} {TYPES.get(kind, plain)}")
    return ", ".join(listed)


@functools.cache
def docstring(endpoint):
    parts = [f"{endpoint.about[0].upper()}{endpoint.about[1:]}.", ""]
    lines = [f"{name}: {about(endpoint, name)}".rstrip(": ")
             for name in request.valid(endpoint)]
    parts += ["Parameters:", *(f"    {line}" for line in lines), ""]
    wrapped = [("Default", default(endpoint)),
               ("Returns", returned(endpoint)),
               ("Columns", columns(endpoint)), ("Units", endpoint.units),
               ("Example row", json.dumps(endpoint.data["example"],
                                          ensure_ascii=False))]
    parts += [textwrap.fill(f"{title}: {text}", 79, subsequent_indent="    ",
                            break_long_words=False, break_on_hyphens=False)
              for title, text in wrapped if text]
    parts.append(f"Path: /stable/{endpoint.path}. Also: "
                 + ", ".join(endpoint.data["aliases"][:6])
                 if endpoint.data["aliases"] else
                 f"Path: /stable/{endpoint.path}")
    return "\n".join(parts)


def line(endpoint):
    """A method in one line."""
    first = ", ".join(str(one) for one in signature(endpoint).parameters
                      .values() if one.default is one.empty)
    return f"fmp.{endpoint.name}({first}): {endpoint.about}"


OVERVIEW = """\
fmp: market data by Financial Modeling Prep. Frames run from the oldest row
to the newest (latest = df.iloc[-1]); single rows are dicts.
fmp.get(path, **params) is the raw JSON of any /stable path, newest first;
fmp.df(path, **params) the same as a DataFrame.
fmp.help('word') searches; fmp.help('quote') tells all about one method.
Errors are fmp.FMPError: """


def help_text(text, names):
    """What fmp.help(text) prints."""
    if not text:
        groups = {}
        for endpoint in table().endpoints.values():
            groups.setdefault(endpoint.data["category"], []).append(
                endpoint.name)
        return OVERVIEW + ", ".join(names) + ".\n\n" + "\n".join(
            textwrap.fill(f"{group}: {', '.join(members)}", 79,
                          subsequent_indent="    ")
            for group, members in groups.items())
    exact = table().resolve(text.strip().removeprefix("fmp.").partition(
        "(")[0].replace(" ", "_").replace("-", "_"))
    found = table().search(text)
    if exact is not None:
        endpoint = exact[0]
        others = [line(one) for one in found if one is not endpoint][:8]
        return (f"fmp.{endpoint.name}{signature(endpoint)}\n\n"
                f"{docstring(endpoint)}"
                + ("\n\nSee also:\n" + "\n".join(others) if others else ""))
    if found:
        more = len(found) - 20
        return "\n".join([line(one) for one in found[:20]]
                         + ([f"... and {more} more"] if more > 0 else []))
    near = table().near(text.replace(" ", "_"))
    return (f"Nothing about {text!r}."
            + (f" Close: {', '.join(near)}." if near else "")
            + " fmp.help() lists all methods.")

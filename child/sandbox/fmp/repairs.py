"""How each endpoint must be asked so that nothing is missing or wrong.

The API cuts long ranges, ignores what it does not know, and answers an empty
list to most mistakes, always with HTTP 200. A Plan is what it takes to get
the truth: generators that yield Calls, are sent their answers, and return
rows. drive.py drives any number of them side by side.
"""

import collections
import datetime as dt
import difflib
import json

from sandbox.fmp import values
from sandbox.fmp.request import CALENDARS, EOD, shown
from sandbox.fmp.errors import (FMPError, FMPParamError, FMPPlanError, data_of,
                                warn)

DAY = dt.timedelta(1)
DAY_ONE = dt.date.min
#: How far back bars reach, in days.
LOOKBACK = {"1min": 3, "5min": 10, "15min": 45, "30min": 30, "1hour": 90,
            "4hour": 180}
#: Each value depends on the one before it, and so on where a range begins;
#: after this many lengths of history it no longer does.
RECURSIVE = {"ema", "dema", "tema", "rsi", "adx"}
SETTLED = 27
LENGTHS = {"rsi": 14, "adx": 14, "williams": 14}
TECHNICAL_SPAN = 1800  # days that one answer covers
LONGEST = 100 * 365  # days of prices that there can be
BATCH = 100  # symbols in one call
PAGES = 20  # that are walked through for a range of dates
CALLS = 200  # that one question may take
VOCABULARIES = {"sector": ("available-sectors", "sector"),
                "industry": ("available-industries", "industry"),
                "exchange": ("available-exchanges", "exchange"),
                "country": ("available-countries", "country")}

Call = collections.namedtuple("Call", "path params refresh")


def today():
    return dt.date.today()


class Plan:
    """One request's way to its rows, about at most one symbol."""

    def __init__(self, request):
        self.request = request
        self.endpoint = request.endpoint
        self.cached = True
        self.truncated = False
        self.params = {}
        #: Ceilings that the key's plan sets: {parameter: most}.
        self.ceilings = {}
        self.day_asked = request.values.get("date")

    # Asking

    def call(self, **more):
        params = self.request.params(**more)
        for name, most in self.ceilings.items():
            if int(params.get(name, most + 1)) > most:
                params[name] = str(most)
        path = self.endpoint.path
        if self.endpoint.choice:
            path = self.endpoint.path_for(self.request.choice)
        return Call(path, params, self.request.refresh)

    def ask(self, *calls):
        """The rows of each call, asked side by side."""
        answers = yield calls
        self.params = self.params or calls[0].params
        return [self.rows_of(call, answer)
                for call, answer in zip(calls, answers)]

    def ask_one(self, **more):
        rows = yield from self.ask(self.call(**more))
        return rows[0]

    def rows_of(self, call, answer):
        self.cached = self.cached and answer.cached
        if answer.stale:
            self.warn("FMP's limit of calls is reached; these are older "
                      "data from the cache")
        data = data_of(answer, self.request.subject,
                       self.endpoint.data.get("instead", ()),
                       endpoint=self.endpoint.name, params=call.params)
        return rows_in(data)

    def warn(self, text):
        warn(f"{self.request.subject}: {text}")

    # The whole of it

    def run(self):
        rows = yield from self.within_ceilings()
        if not rows and self.endpoint.name == "search":
            # It looks among symbols alone, and a name is what people know.
            by_name = Call("search-name", self.params, self.request.refresh)
            rows = (yield from self.ask(by_name))[0]
        if not rows and self.request.symbols:
            rows = yield from self.respelt()
        if not rows:
            rows = yield from self.with_known_words()
        return rows

    def within_ceilings(self):
        """Ask again with what the key's plan allows, and say so."""
        try:
            return (yield from self.rows())
        except FMPPlanError as error:
            if error.ceiling is None or self.ceilings:
                raise
            name, most = error.parameter, error.ceiling
        self.ceilings[name] = most
        rows = yield from self.rows()
        self.params[name] = str(most)
        self.truncated = True
        self.warn(f"the FMP plan allows {name} up to {most}: these are the "
                  f"newest {len(rows)} rows")
        return rows

    def respelt(self):
        """Other spellings of a symbol that there is nothing about."""
        asked = self.request.symbols[0]
        for name in values.respellings(asked):
            self.request.symbols = [name]
            rows = yield from self.within_ceilings()
            if rows:
                warn(f"{self.endpoint.name}: {asked!r} is {name!r} to FMP")
                return rows
        self.request.symbols = [asked]
        return []

    def with_known_words(self):
        """Nothing came: is a sector, industry, exchange or country one that
        there is? Put its case right, or refuse it."""
        changed = False
        for name, (path, field) in VOCABULARIES.items():
            word = self.request.values.get(name)
            if word is None or name in self.request.defaulted:
                continue
            known = yield from self.vocabulary(path, field)
            if not known or word in known:
                continue
            by_case = {one.lower(): one for one in known}
            right = by_case.get(word.lower())
            if right is None:
                self.refuse_word(name, word, known)
            self.request.values[name] = right
            changed = True
        return (yield from self.rows()) if changed else []

    def vocabulary(self, path, field):
        answers = yield (Call(path, {}, False),)
        try:
            rows = rows_in(data_of(answers[0], path))
        except FMPError:
            return []  # not in the plan: then nothing can be said
        return [str(row.get(field, "")) for row in rows]

    def refuse_word(self, name, word, known):
        close = difflib.get_close_matches(word, known, 1, 0.5)
        listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        raise FMPParamError(
            f"{self.endpoint.name}(): unknown {shown(name)} {word!r}. Valid: "
            f"{listed}." + (f" Did you mean {close[0]!r}?" if close else ""),
            endpoint=self.endpoint.name)

    def rows(self):
        """The rows, in the way that this endpoint needs."""
        request, limits = self.request, self.endpoint.limits
        self.set_defaults()
        if self.endpoint.choice == "indicator":
            return (yield from self.technical())
        if self.endpoint.name == "intraday":
            return (yield from self.intraday())
        if "date" in self.endpoint.required:
            return (yield from self.snapshot())
        if "rows" in limits and request.start:
            return (yield from self.walked_back())
        if "days" in limits and request.start:
            return (yield from self.in_pieces())
        if self.is_paged():
            return (yield from self.paged())
        return (yield from self.ask_one(**self.range(),
                                        limit=self.limit_sent()))

    # What is sent when the program did not say

    def set_defaults(self):
        """Dates that are needed and missing; the API's own are years old on
        some endpoints, and three months on others."""
        request, limits = self.request, self.endpoint.limits
        name = self.endpoint.name
        if "from" not in self.endpoint.parameters:
            self.set_quarter()
            return
        if name in CALENDARS:
            self.set_calendar()
        elif name == "holidays" and not (request.start or request.end):
            request.start = dt.date(today().year, 1, 1)
            request.end = dt.date(today().year, 12, 31)
        elif name in EOD or name == "historical_market_cap":
            if request.limit and not request.start:
                days = min(request.limit * 7 // 5 + 14, LONGEST)
                request.start = (request.end or today()) - days * DAY
        elif "default_days" in limits and not request.start and (
                request.end or "symbols" not in self.endpoint.parameters):
            days = limits["default_days"]
            if request.filters and request.limit:  # five 10-Ks: five years
                days *= min(request.limit + 1, 20)
            request.start = (request.end or today()) - days * DAY
        elif "days" in limits and request.end and not request.start:
            request.start = request.end - (limits["days"] - 1) * DAY
        if request.start and not request.end and (
                "days" in limits or "from" in self.endpoint.required
                or "default_days" in limits):
            request.end = max(today(), request.start)

    def set_calendar(self):
        """A range with one end gets the other: a month lies ahead."""
        request = self.request
        if request.start and not request.end:
            request.end = max(today(), request.start) + 30 * DAY
        elif request.end and not request.start:
            request.start = request.end - 30 * DAY

    def set_quarter(self):
        """Institutions report 45 days after a quarter's end: the newest
        whole quarter, where none was asked for."""
        sent = self.request.values
        if "quarter" not in self.endpoint.required or (
                "year" in sent and "quarter" in sent
                or self.endpoint.name == "transcript"):
            return
        day = today() - 45 * DAY
        year, quarter = day.year, (day.month - 1) // 3
        if quarter == 0:
            year, quarter = year - 1, 4
        if "year" in sent and int(sent["year"]) < year:
            quarter = 4
        sent.setdefault("year", year)
        sent.setdefault("quarter", quarter)
        warn(f"{self.endpoint.name}: year={sent['year']}, quarter="
             f"{sent['quarter']} is taken, the newest that is complete")

    def range(self):
        """from and to, where the API knows them."""
        request = self.request
        if "from" not in self.endpoint.parameters:
            return {}
        start = request.start
        if start and self.endpoint.name == "holidays":
            start -= DAY  # from is exclusive here
        return {"from_": start, "to": request.end}

    def limit_sent(self):
        """The limit for the API: as asked, or enough for what is picked
        here from its answer."""
        request, limits = self.request, self.endpoint.limits
        if "limit" not in self.endpoint.parameters:
            return None
        if request.start and "from" not in self.endpoint.parameters:
            return self.limit_for_range()
        if request.limit is None:
            return limits.get("default_limit")
        return min(request.limit, limits.get("limit", request.limit))

    def limit_for_range(self):
        """Enough rows to reach back to start; the default is 5 of them."""
        if "period" not in self.endpoint.parameters:
            return 1000
        yearly = 4 if self.request.values.get("period") == "quarter" else 1
        years = (today() - self.request.start).days / 365.25
        return max(1, int((years + 1) * yearly) + 1)

    # Ranges that the API would cut

    def walked_back(self):
        """Up to a number of rows come, the newest: ask again for what is
        older, until the start is reached."""
        request, most = self.request, self.endpoint.limits["rows"]
        daily = self.endpoint.name not in CALENDARS
        rows, end = [], request.end
        while True:
            part = yield from self.ask_one(from_=request.start, to=end)
            rows += part
            if len(part) < most:
                break
            oldest = min(filter(None, map(day_of, part)))
            if not daily and oldest == end:
                rows += yield from self.more_of_day(oldest)
                oldest -= DAY
            elif daily:
                oldest -= DAY
            end = oldest
            if end < request.start:
                break
        return rows if daily else unique(rows)

    def more_of_day(self, day):
        """The further pages of a day that fills more than one."""
        rows, most = [], self.endpoint.limits["rows"]
        for page in range(1, PAGES):
            part = yield from self.ask_one(from_=day, to=day, page=page)
            rows += part
            if len(part) < most:
                break
        return rows

    def in_pieces(self):
        """A few weeks come, the newest: ask for each few weeks by itself."""
        pieces = pieces_of(self.request.start, self.request.end,
                           self.endpoint.limits["days"])
        self.check_count(len(pieces))
        parts = yield from self.ask(*(self.call(from_=first, to=last)
                                      for first, last in pieces))
        return unique(row for part in parts for row in part)

    def check_count(self, count):
        if count > CALLS:
            raise FMPParamError(
                f"{self.request.subject}: FMP gives this out in small pieces, "
                f"and the range would take {count} calls; {CALLS} are "
                "allowed. Ask for a shorter one.",
                endpoint=self.endpoint.name)

    def is_paged(self):
        """Whether more than one page is needed, and nobody asked for one."""
        request, limits = self.request, self.endpoint.limits
        if "page" not in self.endpoint.parameters or (
                request.page is not None):
            return False
        if "from" not in self.endpoint.parameters and request.start:
            return True
        return "limit" in limits and bool(
            request.filters or request.limit
            and request.limit > limits["limit"])

    def paged(self):
        """Pages, newest first, until there are enough."""
        rows = []
        size = self.endpoint.limits.get("limit", 100)
        most = min(PAGES, self.endpoint.limits.get("pages", PAGES))
        for page in range(most):
            part = yield from self.ask_one(**self.range(), limit=size,
                                           page=page)
            rows += part
            if not part or self.is_enough(rows):
                return unique(rows)
            # What ignores `limit` has pages of its own size.
            if len(part) < size and "limit" in self.endpoint.limits:
                return unique(rows)
        self.truncated = True
        self.warn(f"stopped after {most} pages; older rows are missing")
        return unique(rows)

    def is_enough(self, rows):
        request = self.request
        if request.limit and len(rows) >= request.limit:
            if not request.filters:
                return True
        name = self.endpoint.time[0] if self.endpoint.time else None
        if request.start and "from" not in self.endpoint.parameters:
            days = [day for day in (day_of(row, name) for row in rows[-5:])
                    if day is not None]
            return bool(days) and min(days) < request.start
        return False

    # Endpoints with ways of their own

    def intraday(self):
        """Bars reach back a few days; what was asked beyond is said."""
        rows = yield from self.ask_one(**self.range())
        self.check_reach(rows, self.request.choice)
        return rows

    def check_reach(self, rows, interval):
        start = self.request.start
        days = LOOKBACK.get(interval)
        if start is None or days is None or (
                start >= today() - days * DAY):
            return
        first = min((row["date"] for row in rows), default=None)
        if first is None or first[:10] > str(start + 4 * DAY):
            self.truncated = True
            self.warn(f"{interval} bars reach back {days} days; " + (
                f"the first bar is of {first}" if first else
                "there is none in this range"))

    def technical(self):
        """An indicator over a range: from before its start, so that it has
        settled when the range begins."""
        request = self.request
        length = request.values.setdefault(
            "periodLength", LENGTHS.get(request.choice, 20))
        if request.start is None:
            return (yield from self.ask_one(to=request.end))
        frame = request.values["timeframe"]
        if frame != "1day":
            rows = yield from self.ask_one(to=request.end)
            self.check_reach(rows, frame)
            return rows
        before = 10
        if request.choice in RECURSIVE:
            before = min(before + length * SETTLED * 7 // 5,
                         TECHNICAL_SPAN - 300)
        pieces = pieces_of(request.start, request.end or today(),
                           TECHNICAL_SPAN - before)
        self.check_count(len(pieces))
        parts = yield from self.ask(*(
            self.call(from_=first - before * DAY, to=last)
            for first, last in pieces))
        return [row for (first, last), part in zip(pieces, parts)
                for row in part if first <= (day_of(row) or DAY_ONE) <= last]

    def snapshot(self):
        """One day's averages: of the last day with a session, up to five
        days back."""
        request, asked = self.request, self.day_asked
        day = dt.date.fromisoformat(asked) if asked else today()
        if day > today():
            raise FMPParamError(f"{self.endpoint.name}(): date={asked!r} lies "
                                "in the future; FMP would mix old days.",
                                endpoint=self.endpoint.name)
        rows = []
        for back in range(6):
            found = day - back * DAY
            if found.weekday() > 4:
                continue  # never a session
            request.values["date"] = found.isoformat()
            rows = [row for row in (yield from self.ask_one())
                    if day_of(row) == found]
            if rows:
                break
        if rows and asked and found != day:
            warn(f"{self.endpoint.name}: no session on {asked}; these are of "
                 f"{found}")
        if rows and "exchange" in request.defaulted:
            warn(f"{self.endpoint.name}: {request.values['exchange']} alone; "
                 "exchange='NYSE' gives the other")
        return rows


class BatchPlan(Plan):
    """Many symbols in few calls; one call each where the key's plan has no
    batches."""

    def __init__(self, request, batch):
        super().__init__(request)
        self.single, self.endpoint = request.endpoint, batch

    def run(self):
        symbols = self.request.symbols
        calls = [Call(self.endpoint.path,
                      {"symbols": ",".join(symbols[at:at + BATCH])},
                      self.request.refresh)
                 for at in range(0, len(symbols), BATCH)]
        parts = yield from self.ask(*calls)
        rows = [row for part in parts for row in part]
        there = {row.get("symbol"): row for row in rows}
        for name in symbols:
            if name not in there:
                found = yield from self.respell_one(name)
                there.update({name: found} if found else {})
        return [there[name] for name in symbols if name in there]

    def respell_one(self, name):
        for other in values.respellings(name):
            rows = yield from self.ask(Call(
                self.endpoint.path, {"symbols": other}, False))
            if rows[0]:
                warn(f"{self.single.name}: {name!r} is {other!r} to FMP")
                return rows[0][0]
        return None


def rows_in(data):
    """The rows of an answer, whatever they are wrapped in."""
    if isinstance(data, dict):
        inner = data.get("historical")
        data = inner if isinstance(inner, list) else [data] if data else []
    if not isinstance(data, list):
        return []
    return [row if isinstance(row, dict) else {"value": row} for row in data]


def day_of(row, name="date"):
    """The day that a row is of, or None."""
    try:
        return dt.date.fromisoformat(str(row.get(name))[:10])
    except ValueError:
        return None


def unique(rows):
    """Each row once, in the order of the first; pages overlap."""
    return list({json.dumps(row): row for row in rows}.values())


def pieces_of(start, end, days):
    """[(first, last)] that cover start to end, newest first, each of at most
    so many days."""
    pieces, last = [], end
    while last >= start:
        first = max(start, last - (days - 1) * DAY)
        pieces.append((first, last))
        last = first - DAY
    return pieces

"""What is wanted of an endpoint, and what its method accepts."""

import re

EOD = {"historical_prices", "historical_prices_light",
       "historical_prices_adjusted", "historical_prices_unadjusted"}
#: Their ranges lie ahead of today, not behind it.
CALENDARS = {"earnings_calendar", "dividends_calendar", "splits_calendar",
             "ipos_calendar", "economic_calendar"}
#: The endpoint that has many symbols in one call.
BATCHES = {"quote": "batch_quote", "quote_short": "batch_quote_short",
           "market_cap": "market_caps"}


class Request:
    """What is wanted: an endpoint, and everything about it."""

    def __init__(self, endpoint, choice=None):
        self.endpoint = endpoint
        self.choice = choice
        self.symbols = []
        self.many = False
        #: What goes to the API beside symbols, dates, limit: all text.
        self.values = {}
        self.start = self.end = None
        self.limit = self.page = None
        #: Columns whose values pick rows here.
        self.filters = {}
        #: Arguments that the program left to us.
        self.defaulted = set()
        self.refresh = False
        self.ignored_key = False

    @property
    def subject(self):
        """How the call reads, for messages."""
        shown = []
        if self.many and len(self.symbols) > 3:
            shown.append(f"[{self.symbols[0]!r}, ... {len(self.symbols)}]")
        elif self.many:
            shown.append(repr(self.symbols))
        else:
            shown += [repr(one) for one in self.symbols]
        shown += [repr(value) for name, value in self.values.items()
                  if name in self.endpoint.required and name not in
                  self.endpoint.defaults]
        if self.start or self.end:
            shown.append(f"{self.start or ''}..{self.end or ''}")
        return f"{self.endpoint.name}({', '.join(shown)})"

    def with_symbol(self, symbol):
        """The same about one of its symbols."""
        other = Request(self.endpoint, self.choice)
        other.__dict__.update(self.__dict__, symbols=[symbol], many=False,
                              values=dict(self.values))
        return other

    def takes(self, name):
        return name in self.endpoint.parameters

    def params(self, **more):
        """What is sent: the request's own values, and more of its API names
        (from_ for from); dates and numbers become text."""
        sent = dict(self.values)
        if self.takes("symbol") and self.symbols:
            sent["symbol"] = self.symbols[0]
        if self.takes("symbols") and self.symbols:
            sent["symbols"] = ",".join(self.symbols)
        if self.page is not None:
            sent["page"] = self.page
        sent.update((name.rstrip("_"), value) for name, value in more.items())
        return {name: str(value) for name, value in sent.items()
                if value is not None}


def accepted(endpoint):
    """The arguments of a method, by the API's names, in order; `page`, and
    what is done on this side, come last."""
    names = [name for name in endpoint.parameters if name != "page"]
    if has_dates(endpoint) and "from" not in names:
        names += ["from", "to"]
    if not endpoint.is_record and "limit" not in names:
        names.append("limit")
    names += endpoint.filters
    if endpoint.name in EOD:
        names += ["interval", "period", "adjusted"]
    if "page" in endpoint.parameters:
        names.append("page")
    return names


def has_dates(endpoint):
    """Whether start and end make sense: rows outside are left out here when
    the API does not do it."""
    if "from" in endpoint.parameters:
        return True
    return (not endpoint.is_record and "date" not in endpoint.parameters
            and bool(endpoint.time)
            and endpoint.kinds.get(endpoint.time[0]) == "date")


def shown(name):
    """An argument's name as the documentation writes it."""
    name = {"from": "start", "to": "end"}.get(name, name)
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def valid(endpoint):
    """All that a method accepts, as it is documented."""
    names = [shown(name) for name in accepted(endpoint)]
    if has_dates(endpoint):
        names += ["days", "years"]
    return names + ["refresh"]

"""What plans came to, as what a method returns."""

from sandbox.fmp import repairs, shape
from sandbox.fmp.errors import FMPNotFoundError, warn
from sandbox.fmp.request import BATCHES, CALENDARS


def only_row(running, request):
    """The row of a record; FMPNotFoundError when there is none."""
    if running.rows:
        return running.rows[0]
    what = ", ".join([*map(repr, request.symbols), *(
        f"{name}={value}" for name, value in request.values.items())])
    raise FMPNotFoundError(
        f"{request.endpoint.name}: no data for {what}. {why_none(request)}",
        status=200, endpoint=request.endpoint.name,
        params=running.plan.params)


def why_none(request):
    """What may be the reason that there are no data, to go on with."""
    category = request.endpoint.data["category"]
    today = repairs.today()
    if request.start and request.start > today and (
            request.endpoint.name not in CALENDARS):
        return "range in the future?"
    if request.endpoint.name == "transcript":
        return "fmp.transcript_dates(symbol) lists those that there are."
    if category == "etf":
        return "Is it a fund? fmp.etf_list() lists them."
    if request.symbols and not request.start:
        company = ("" if category in ("quote", "chart", "news", "technical")
                   else "Funds, indexes, currencies and companies abroad may "
                   "have none. ")
        return f"{company}fmp.search('name') lists symbols."
    if request.symbols:
        return ("No such symbol, or nothing in this range? "
                "fmp.search('name') lists symbols.")
    return "Nothing fits."


def frame_of(request, running):
    """The rows of all plans as one DataFrame."""
    endpoint = request.endpoint
    rows = [row for one in running for row in rows_of(one, request)]
    report_missing(request, running)
    by_symbol = request.many or endpoint.name in BATCHES.values()
    found = shape.frame(endpoint, rows, by_symbol)
    found = shape.between(found, endpoint, request.start, request.end)
    found = shape.picked(found, request.filters)
    found = shape.newest(found, endpoint, request.limit)
    if not endpoint.is_dated and not (by_symbol and not endpoint.time):
        found = found.reset_index(drop=True)
    if not len(found):
        if endpoint.is_record:
            raise FMPNotFoundError(
                f"{request.subject}: no data. {why_none(request)}",
                status=200, endpoint=endpoint.name,
                params=running[0].plan.params)
        if not running[0].plan.truncated:  # else it was said why
            warn(f"{request.subject}: 0 rows ({why_none(request)})")
    plans = [one.plan for one in running]
    found.attrs = {
        "endpoint": endpoint.name, "params": params_of(request, plans[0]),
        "order": "oldest_first" if endpoint.time else "as_ranked",
        "truncated": any(plan.truncated for plan in plans),
        "cached": all(plan.cached for plan in plans)}
    return found


def params_of(request, plan):
    """The parameters of all calls taken together."""
    params = {name: value for name, value in plan.params.items()
              if name != "page"}
    if request.takes("from") and (request.start or request.end):
        params.update({name: str(value) for name, value in (
            ("from", request.start), ("to", request.end)) if value})
    if request.many and "symbol" in params:
        params["symbol"] = ",".join(request.symbols)
    return params


def rows_of(running, request):
    """A plan's rows, with the symbol that they are about."""
    rows = running.rows or []
    if not request.takes("symbol") or not running.plan.request.symbols:
        return rows
    name = running.plan.request.symbols[0]
    if rows and "symbol" not in rows[0]:
        return [{"symbol": name, **row} for row in rows]
    if request.many and any(row.get("symbol") not in (name, None)
                            for row in rows):
        return [{"requested": name, **row} for row in rows]  # peers
    return rows


def report_missing(request, running):
    """Say which of several symbols there is nothing of."""
    if not request.many:
        return
    if len(running) > 1 or not isinstance(running[0].plan,
                                          repairs.BatchPlan):
        empty = [one.plan.request.symbols[0] for one in running
                 if not one.rows and one.error is None]
    else:
        there = {row.get("symbol") for row in running[0].rows}
        empty = [name for name in request.symbols if name not in there]
    if empty and len(empty) < len(request.symbols):
        warn(f"{request.endpoint.name}: no data for "
                    f"{', '.join(map(repr, empty))}; left out")
    for one in running:
        if one.error is not None:
            warn(f"{one.error} Left out.")

"""What the API sends, as a program wants it: records and DataFrames.

Frames run from the oldest row to the newest. Their index has no name, and
what it holds is a column too: of all layouts only this one lets every usual
idiom work (sort_values("date"), merge(on="date"), .loc["2025"], resample).
pandas is imported where it is used: a cold start may never need it.
"""

import difflib
import json
import re

from sandbox.fmp.errors import warn
from sandbox.fmp.table import table

#: How the API spells that there is nothing.
ABSENT = {None, "", "N/A", "NULL", "None", "null"}
PERIOD_ORDER = {"Q1": 1, "Q2": 2, "Q3": 3, "Q4": 4, "FY": 5}


# Single values

def is_absent(value):
    return value is None or (isinstance(value, str) and value in ABSENT)


def to_float(value):
    """A number, of text too; NaN when it is none."""
    if isinstance(value, str):
        value = value.strip().removesuffix("%").replace(",", "")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def to_number(value):
    """An int where it is one, else a float, else None."""
    found = to_float(value)
    if found != found:
        return None
    return int(found) if found.is_integer() else found


def to_json(value):
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def to_boolean(value):
    return {"true": True, "false": False}.get(str(value).lower())


CONVERTERS = {"int": to_number, "percent": to_float, "json": to_json,
              "bool": to_boolean}


# Records

class FMPRecord(dict):
    """One row: a dict, whose fields are attributes too.

    record["price"], record.get("price") and record.price are the same;
    record[0] and record.iloc[0] are the record itself, so that code for a
    list of rows or a DataFrame works; to_frame() is a DataFrame.
    """

    def __init__(self, fields=(), endpoint=None):
        super().__init__(fields)
        self.__dict__["_endpoint"] = endpoint

    def __missing__(self, name):
        if isinstance(name, int) and -1 <= name <= 0:
            return self
        renamed = self._renamed(name)
        if renamed is None:
            raise KeyError(name)
        return self[renamed]

    def _renamed(self, name):
        """The field's new name, if it is one of the former API's."""
        if self._endpoint is None:
            return None
        new = self._endpoint.data.get("renamed", {}).get(name)
        return new if new in self else None

    def get(self, name, default=None):
        if name in self:
            return self[name]
        renamed = self._renamed(name)
        if renamed is None and self._endpoint is not None:
            self._warn(name)
        return default if renamed is None else self[renamed]

    def _warn(self, name):
        """get() is silent about what is gone, which a program would take
        for missing data."""
        moved = self._endpoint.data.get("moved", {}).get(name)
        if moved:
            warn(f"{self._endpoint.name}: there is no {name!r}; use {moved}")

    def __getattr__(self, name):
        if not name.startswith("_"):
            try:
                return self[name]
            except KeyError:
                pass
            hint = table().known_field(name, self._endpoint)
            raise AttributeError(
                f"the record has no field {name!r}. "
                + (f"{hint} " if hint else "") + fields_of(self, name),
                name="", obj=self)
        raise AttributeError(name)

    def __dir__(self):
        return [*super().__dir__(), *(name for name in self
                                      if str(name).isidentifier())]

    def __reduce__(self):
        # As a plain record: what reads it elsewhere has no endpoint.
        return FMPRecord, (dict(self),)

    def copy(self):
        return FMPRecord(self, self._endpoint)

    @property
    def iloc(self):
        return self

    @property
    def empty(self):
        return False

    def to_dict(self, *_):
        return dict(self)

    def to_frame(self):
        import pandas
        index = [self["symbol"]] if self.get("symbol") else None
        return pandas.DataFrame([dict(self)], index=index)


def fields_of(record, asked):
    """The fields there are, and the one that may have been meant."""
    near = difflib.get_close_matches(str(asked), map(str, record), 1)
    return (f"The record has {', '.join(map(str, record))}."
            + (f" Did you mean {near[0]!r}?" if near else ""))


def record(endpoint, row):
    """A row of the API as FMPRecord; what is absent is None."""
    fields = {}
    for name, value in row.items():
        convert = CONVERTERS.get(endpoint.kinds.get(name))
        if is_absent(value):
            value = None
        elif convert is not None:
            value = convert(value)
        fields[name] = value
    return FMPRecord(fields, endpoint)


# Frames

def frame(endpoint, rows, by_symbol=False):
    """Rows as a DataFrame, oldest first; `endpoint` may be None.

    by_symbol puts the rows of one symbol together, and makes the symbols
    the index where rows have no date of their own.
    """
    import pandas
    rows = [expanded(row) for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not rows and endpoint is not None:
        names = known_columns(endpoint)
    columns = {name: column(endpoint, name, [row.get(name) for row in rows])
               for name in names}
    time = time_fields(endpoint, columns)
    dated = bool(time) and (endpoint.is_dated if endpoint is not None
                            else time == ["date"])
    if dated and "date" not in columns:
        columns["date"] = columns[time[0]]
    order = ordered(columns, time, len(rows), by_symbol)
    found = pandas.DataFrame(columns, index=range(len(rows)))
    found = found.iloc[order].reset_index(drop=True)
    if dated:
        found.index = pandas.DatetimeIndex(found["date"].to_numpy())
    elif by_symbol and "symbol" in found and not time:
        found.index = pandas.Index(found["symbol"].to_numpy(), dtype=object)
    return found


def known_columns(endpoint):
    """The columns of a frame without rows."""
    names = [name for name in endpoint.fields if name != "data"]
    if "symbol" in endpoint.parameters and "symbol" not in names:
        names.insert(0, "symbol")
    return names


def expanded(row):
    """A row whose nested `data` (segments, XBRL tags) are columns."""
    if not isinstance(row, dict):
        return {"value": row}
    if isinstance(row.get("data"), dict):
        row = {**row, **row["data"]}
        del row["data"]
    return row


def column(endpoint, name, items):
    """One column's values, as numpy arrays where they are numbers, dates or
    truth values."""
    import numpy
    kind = endpoint.kinds.get(name) if endpoint is not None else None
    type_ = endpoint.types.get(name) if endpoint is not None else None
    items = [None if is_absent(item) else item for item in items]
    if kind == "date" or (name == "date" and kind is None):
        return dates(items)
    if kind == "int":
        return whole_numbers(items)
    if kind in CONVERTERS:
        items = [item if item is None else CONVERTERS[kind](item)
                 for item in items]
        type_ = {"percent": "number", "bool": "boolean"}.get(kind)
    if type_ is not None and "number" in type_ or (
            type_ is None and are_numbers(items)):
        return numpy.array([to_float(item) for item in items], dtype=float)
    if all(isinstance(item, bool) for item in items) and items:
        return numpy.array(items, dtype=bool)
    if not items and type_ == "boolean":
        return numpy.array([], dtype=bool)
    return texts(items)


def texts(items):
    import numpy
    found = numpy.empty(len(items), dtype=object)
    for place, item in enumerate(items):  # at once, lists would be unpacked
        found[place] = numpy.nan if item is None else item
    return found


def are_numbers(items):
    present = [item for item in items if item is not None]
    return bool(present) and all(
        isinstance(item, (int, float)) and not isinstance(item, bool)
        for item in present)


def whole_numbers(items):
    """int64 where all are there and whole, else float64."""
    import numpy
    found = numpy.array([to_float(item) for item in items], dtype=float)
    if numpy.all(numpy.isfinite(found)) and numpy.all(
            (found == numpy.floor(found)) & (abs(found) < 2 ** 53)):
        return found.astype("int64")
    return found


def dates(items):
    """datetime64[ns]: as they are sent, without a time zone."""
    import numpy
    items = ["NaT" if item is None else str(item).removesuffix("Z")
             for item in items]
    try:
        found = numpy.array(items, dtype="datetime64[us]")
    except ValueError:
        found = numpy.array([one_date(item) for item in items],
                            dtype="datetime64[us]")
    # Years that nanoseconds do not reach would come out as others.
    first, last = numpy.datetime64("1678"), numpy.datetime64("2262")
    found[~((found >= first) & (found < last))] = numpy.datetime64("NaT")
    return found.astype("datetime64[ns]")


def one_date(item):
    import numpy
    try:
        return numpy.datetime64(item, "us")
    except ValueError:
        return numpy.datetime64("NaT", "us")


def time_fields(endpoint, columns):
    if endpoint is None:
        return ["date"] if "date" in columns else []
    return [name for name in endpoint.time if name in columns]


def ordered(columns, time, count, by_symbol):
    """The places of rows from the oldest to the newest; rows of one moment
    in the reverse of the API's order, which is newest first."""
    import numpy
    order = numpy.arange(count)
    if time:
        order = order[::-1]
        for name in reversed(time):
            keys = columns[name][order]
            if keys.dtype == object:
                keys = numpy.array([PERIOD_ORDER.get(str(key), 0)
                                    for key in keys])
            order = order[numpy.argsort(keys, kind="stable")]
    if by_symbol and time and "symbol" in columns:
        keys = numpy.array([str(key) for key in columns["symbol"][order]])
        order = order[numpy.argsort(keys, kind="stable")]
    return order


def newest(found, endpoint, limit):
    """The newest `limit` rows (of each symbol); of a ranking the first."""
    if limit is None or len(found) <= limit:
        return found
    if endpoint is None or not endpoint.time:
        return found.head(limit)
    if "symbol" in found and endpoint.parameters[:1] == ["symbol"]:
        return found.groupby(found["symbol"].to_numpy(), sort=False,
                             dropna=False).tail(limit)
    return found.tail(limit)


def between(found, endpoint, start, end):
    """The rows from start to end, both included."""
    if start is None and end is None or not len(found):
        return found
    name = "date" if endpoint.is_dated else (endpoint.time or [None])[0]
    if name not in found or found[name].dtype.kind != "M":
        return found
    days = found[name].dt.normalize()
    keep = days.notna()
    if start is not None:
        keep &= days >= str(start)
    if end is not None:
        keep &= days <= str(end)
    return found if keep.all() else found[keep.to_numpy()]


def picked(found, filters):
    """The rows whose columns have one of the values, whatever its case."""
    for name, wanted in filters.items():
        if name in found:
            wanted = {re.sub(r"\s", "", one.lower()) for one in wanted}
            found = found[[re.sub(r"\s", "", str(one).lower()) in wanted
                           for one in found[name]]]
    return found

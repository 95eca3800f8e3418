"""What save_excel and save_word share: arguments, names, text and tables.

Whatever a program hands over, the file must open without a complaint, so
everything passes through here: clean() for text, plain() for single values,
frame() and columns() for tables.  numpy, pandas and matplotlib are imported
where they are used: this module must load in milliseconds without them.
"""
import contextlib
import dataclasses
import datetime as dt
import decimal
import difflib
import inspect
import io
import math
import os
import re
import sys
import unicodedata

#: Sentences about what was changed on the way, for the run's reply.
notes = []


def note(sentence):
    """Tell the caller something that is no error."""
    notes.append(sentence)


# Arguments

ALIASES = ("path", "file_name", "name")


def arguments(function, content, filename, other):
    """The (content, file name) that were meant, or a TypeError that helps.

    function's default for filename gives the suffix; other holds keywords
    that function does not know: aliases of filename are, the rest is not,
    accepted.  A name given first and the content second are put right.
    """
    default = inspect.signature(function).parameters["filename"].default
    suffix = os.path.splitext(default)[1]
    for alias in ALIASES:
        filename = other.pop(alias, filename)
    if other:
        _refuse(function, next(iter(other)))
    filename = default if filename is None else filename
    if not _is_path(filename) or (_is_name(content, suffix)
                                  and not _is_name(filename, suffix)):
        content, filename = filename, content
    if not _is_path(filename):
        raise TypeError(f"filename must be text, not {_type(content)}; to "
                        "save several things in one file, give them as a "
                        "dict or a list")
    return content, file_name(filename, default)


def _refuse(function, option):
    known = [*inspect.signature(function).parameters][1:-1] + [*ALIASES]
    close = difflib.get_close_matches(option, known, 1, 0.5)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise TypeError(f"{function.__name__}() has no option {option!r}{hint}; "
                    f"its options are {', '.join(known)}")


def _is_path(value):
    return isinstance(value, (str, os.PathLike))


def _is_name(value, suffix):
    """Whether value can hardly be anything but a file name."""
    return _is_path(value) and re.fullmatch(
        f".*{re.escape(suffix)}", os.fspath(value), re.IGNORECASE) is not None


def _type(value):
    return type(value).__name__


# Files

# What a caller may have had in mind when the suffix is not ours.
KIN = {".xlsx": (".xls", ".xlsm", ".xlsb", ".ods", ".csv"),
       ".docx": (".doc", ".docm", ".odt", ".rtf", ".md", ".txt")}
# Text that runs backwards hides what a file is; the rest breaks the line.
_UNSEEN = re.compile("[\t\n\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                     "\ufeff]")
# Windows opens a device, not a file, under these names.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def file_name(wanted, default):
    """A name in the working directory that every system can store.

    Directories and drive letters go, characters that Windows refuses become
    "_", a missing suffix is added, and default stands in for nothing.
    """
    text = re.split(r"[/\\]", clean(os.fsdecode(wanted)))[-1]
    text = _UNSEEN.sub("", re.sub("^[A-Za-z]:", "", text))
    text = re.sub(r'[<>:"|?*]', "_", text)
    fallback, suffix = os.path.splitext(default)
    stem, given = os.path.splitext(text.strip())
    if given.lower() in KIN[suffix]:
        given = suffix
    elif given.lower() != suffix:
        stem, given = text, suffix
    # 255 bytes is what file systems allow; leave room for a copy's number.
    stem = stem.encode()[:200].decode(errors="ignore").strip(" .\xa0")
    if not stem or stem.lower() == suffix[1:] or _DEVICE.fullmatch(stem):
        stem = fallback
    return stem + given


def write(name, data):
    """Put the bytes under name in the working directory, all or nothing."""
    part = f".{name}.part"
    try:
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


# Text

# Terminal colours first, then all that XML 1.0 or a reader cannot hold.
_UNFIT = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|[^\t\n\x20-\x7e\xa0-\ud7ff"
                    "\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text):
    """The text without control characters, surrogates and non-characters."""
    if text.isprintable():
        return str.__str__(text)
    return _UNFIT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def cut(text, units):
    """At most units UTF-16 units of text: what Microsoft counts."""
    if 2 * len(text) <= units:
        return text
    return text.encode("utf-16-le")[:2 * units].decode("utf-16-le", "ignore")


def width(text):
    """How many digits wide the longest line of text is on the page."""
    return max((len(line) if line.isascii() else sum(
        1 + (unicodedata.east_asian_width(c) in "WF") for c in line)
        for line in text.split("\n")), default=0)


def text_of(value):
    """str(value), clean; for an object that cannot say, its type."""
    try:
        return clean(str(value))
    except (TimeoutError, MemoryError):
        raise
    except Exception:
        return f"<{_type(value)}>"


# Figures

def live_figures():
    """pyplot's figures in order; the run replaces this by all live ones."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    figs = helpers.Gcf.figs if helpers else {}
    return [figs[number].canvas.figure for number in sorted(figs)]


def figure_of(value):
    """The matplotlib figure that value is or belongs to, or None."""
    module = sys.modules.get("matplotlib.figure")
    if module is None:
        return None
    if isinstance(value, module.Figure):
        return value
    owner = getattr(value, "figure", None)  # an Axes, a seaborn grid
    return owner if isinstance(owner, module.Figure) else None


def wanted_figures(option):
    """The figures that figures= asks for: True is all, else one or a list."""
    if option is True:
        return list(live_figures())
    if not option:
        return []
    several = option if isinstance(option, (list, tuple)) else [option]
    figures = [figure_of(value) for value in several]
    if None in figures:
        raise TypeError("figures must be True, a matplotlib figure or a list "
                        f"of them, not {_type(several[figures.index(None)])}")
    return figures


def picture(figure):
    """(PNG at 150 dpi as a file, title), or None when it cannot be drawn.

    What sticks out of the figure, such as a legend beside it, is kept.
    """
    title = clean(_figure_title(figure))
    try:
        box = figure.get_tightbbox()
        # One stray text far outside would make a picture of gigapixels.
        tight = (box.width <= 2 * figure.get_figwidth()
                 and box.height <= 2 * figure.get_figheight())
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=150,
                       bbox_inches="tight" if tight else None)
    except (TimeoutError, MemoryError):
        raise
    except Exception as problem:
        note(f"Figure {title!r} could not be drawn and was left out: "
             f"{_type(problem)}: {text_of(problem)}")
        return None
    file.seek(0)
    return file, title


def _figure_title(figure):
    heading = getattr(figure, "_suptitle", None)
    titles = [heading.get_text()] if heading else []
    titles += [axes.get_title() for axes in figure.axes]
    return next(filter(None, titles), "Figure")


# Values

def plain(value):
    """value as None, bool, int, float, str, date, datetime, time, timedelta.

    Missing values are None, time zones are dropped and the wall time kept;
    numbers that a double would change, and everything else, become text.
    """
    kind = type(value)
    if kind is str:
        return clean(value)
    if kind is not float and kind is not int:
        value = _python(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 10**15 else text_of(int(value))
    if isinstance(value, float):
        if math.isinf(value):
            return str(float(value))
        return None if value != value else float(value)
    if isinstance(value, (dt.datetime, dt.time)):
        return value.replace(tzinfo=None)
    if isinstance(value, (dt.date, dt.timedelta)):
        return value
    return clean(value) if isinstance(value, str) else text_of(value)


def _python(value):
    """numpy's, pandas' and decimal's scalars as Python's own, else value."""
    import numpy as np
    import pandas as pd
    if isinstance(value, (np.datetime64, np.timedelta64)):
        item = value.astype(f"{value.dtype.kind}8[us]").item()
        return str(value) if isinstance(item, int) else item
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, decimal.Decimal):
        return _number(value)
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime(warn=False)  # Excel has milliseconds
    if isinstance(value, pd.Timedelta):
        return value.to_pytimedelta()
    return value


def _number(value):
    """A Decimal as float when that loses nothing, else as text."""
    if value.is_nan():
        return None
    exact = value.is_finite() and len(value.as_tuple().digits) <= 15
    return float(value) if exact and abs(value) < 1e300 else str(value)


# Tables

# Numbers under such headings are names, not amounts: no thousands comma.
_IDENTITY = re.compile(
    r"\b(year|yr|id|code|no|nr|number|zip|postcode|phone|jahr|plz|año|année)"
    r"\b|_id$|Id$|年|编号|代码|番号", re.IGNORECASE)


@dataclasses.dataclass
class Column:
    """One column of a table: its label and headings, and plain values.

    heads has one entry for each level of the table's columns.  exponent,
    decimals and comma say how its numbers read best; is_number, whether all
    that is there is numbers; timed, whether its dates have a time of day.
    In a mixed column, such as one of key figures, each value stands for
    itself.
    """

    label: object
    heads: list
    values: list
    is_index: bool = False
    mixed: bool = False

    def __post_init__(self):
        self.numbers = [v for v in self.values if type(v) in (int, float)]
        self.is_number = bool(self.numbers) and all(
            v is None or type(v) in (int, float) for v in self.values)
        self.timed = any(isinstance(v, dt.datetime) and v.time() != dt.time()
                         for v in self.values)
        self._measure()

    def _measure(self):
        """Choose decimals, exponent and comma from the numbers' sizes."""
        sizes = [abs(v) for v in self.numbers]
        most = max(sizes, default=0)
        self.exponent = most >= 1e15 or 0 < most < 1e-4
        self.comma = most >= 1000
        if all(v == int(v) for v in self.numbers):
            years = sizes and all(1800 <= v < 2200 for v in sizes)
            named = _IDENTITY.search(" ".join(map(str, self.heads)))
            self.comma &= not (self.is_index or years or named)
            self.decimals = 0
        elif most >= 100 or all(math.isclose(round(v, 2), v)
                                for v in self.numbers):
            self.decimals = 2
        else:
            self.decimals = 4 if most >= 0.01 else 6

    def alone(self, value):
        """A column of the same kind with this value only."""
        return Column(self.label, self.heads, [value])

    def show(self, value):
        """value as text, the way the column's format shows it."""
        if value is None:
            return ""
        if self.mixed:
            return self.alone(value).show(value)
        if type(value) in (int, float):
            if self.exponent and value:
                return f"{value:.2E}"
            comma = "," if self.comma else ""
            return f"{value:{comma}.{self.decimals}f}"
        if isinstance(value, dt.datetime):
            if not self.timed:
                value = value.date()
            return value.isoformat(*(" ", "seconds") if self.timed else ())
        if isinstance(value, dt.time):
            return value.isoformat("seconds")
        if isinstance(value, dt.timedelta) and not value.seconds:
            return f"{value.days:,} days"
        return str(value)


def columns(table, index=None):
    """A DataFrame as a list of Column, index levels first.

    index says whether to have them; None: when they mean something.
    """
    if index is None:
        index = not (_is_row_number(table.index) or _repeats_column(table))
    depth = table.columns.nlevels
    found = []
    for level in range(table.index.nlevels if index else 0):
        name = table.index.names[level]
        values = table.index.get_level_values(level).tolist()
        found.append((name, [None] * (depth - 1) + [name], values, True))
    for place, label in enumerate(table.columns):
        heads = label if depth > 1 else [label]
        found.append((label, heads, table.iloc[:, place].tolist(), False))
    return [Column(label, [_heading(head) for head in heads],
                   [plain(value) for value in values], is_index,
                   table.attrs.get("mixed", False))
            for label, heads, values, is_index in found]


def _repeats_column(table):
    """Whether an index without a name is one of the columns over again, as
    in frames of market data."""
    import pandas as pd
    index = table.index
    return (index.nlevels == 1 and index.name is None
            and any(pd.Index(column).equals(index)
                    for _, column in table.items()
                    if column.dtype == index.dtype))


def _is_row_number(index):
    """Whether an index only counts rows, sorted another way perhaps."""
    import pandas as pd
    if index.nlevels > 1 or index.name is not None:
        return False
    return len(index) == 0 or (
        index.dtype.kind in "iu"
        and index.sort_values().equals(pd.RangeIndex(len(index))))


def _heading(label):
    value = plain(label)
    if value is None or type(value) in (bool, int, float, str):
        return "" if value is None else value
    return Column(None, [], [value]).show(value)


def frame(data):
    """Anything tabular as a DataFrame; TypeError when it is not.

    Knows DataFrame, Series, Index, what has to_pandas, arrays of one or two
    dimensions, a dict of columns or of single values, and lists of dicts, of
    records, of rows (a first row of nothing but text is the heading) or of
    values.
    """
    import numpy as np
    import pandas as pd
    if isinstance(data, pd.DataFrame):
        return data
    if hasattr(data, "to_pandas"):
        return frame(data.to_pandas())
    if isinstance(data, pd.MultiIndex):
        return data.to_frame(index=False)
    if isinstance(data, (pd.Series, pd.Index)):
        name = "Value" if data.name is None else data.name
        return (data if isinstance(data, pd.Series)
                else pd.Series(data)).to_frame(name)
    if isinstance(data, np.ndarray):
        return _from_array(data)
    if isinstance(data, dict):
        return _from_dict(data)
    if isinstance(data, (str, bytes)) or not hasattr(data, "__iter__"):
        raise TypeError(
            "a table is wanted: a DataFrame, Series, list of dicts, list of "
            f"lists, array or dict, not {_type(data)}")
    return _from_list(list(data))


def _from_array(array):
    import pandas as pd
    if array.ndim > 2:
        raise ValueError(f"the array has {array.ndim} dimensions: a table "
                         "has two, so save one slice at a time")
    if array.ndim == 0:
        return _from_list([array.item()])
    if array.ndim == 1:
        return pd.DataFrame(array if array.dtype.names
                            else {"Value": array})
    return pd.DataFrame(array, columns=_numbered(array.shape[1]))


def _from_dict(data):
    import pandas as pd
    if not data or not any(map(is_column, data.values())):
        table = pd.DataFrame({
            "Item": pd.Series(list(data), dtype=object),
            "Value": pd.Series(list(data.values()), dtype=object)})
        table.attrs["mixed"] = True
        return table
    if any(isinstance(value, pd.Series) for value in data.values()):
        return pd.DataFrame(data)
    # As Series, short columns are filled up with blanks.
    return pd.DataFrame({
        key: pd.Series(list(value), dtype=object) if is_column(value)
        else value for key, value in data.items()})


def is_column(value):
    """Whether a dict's value is a whole column rather than one value."""
    return (hasattr(value, "__iter__") and getattr(value, "ndim", 1) == 1
            and not isinstance(value, (str, bytes, dict)))


def _from_list(rows):
    import pandas as pd
    # dtype=object: else a blank turns a column of long integers into floats.
    if rows and all(is_record(row) for row in rows):
        return pd.DataFrame(rows, dtype=object)
    if not rows or not all(is_row(row) for row in rows):
        return pd.Series(rows, name="Value", dtype=object).to_frame()
    head = []
    if len(rows) > 1 and all(isinstance(v, str) and v for v in rows[0]):
        head, rows = list(rows[0]), rows[1:]
    many = max(map(len, [head, *rows]))
    rows = [[*row, *[None] * (many - len(row))] for row in rows]
    return pd.DataFrame(rows, dtype=object,
                        columns=head + _numbered(many)[len(head):])


def is_record(value):
    """Whether a list's item is a row whose cells have names."""
    return (isinstance(value, dict) or hasattr(value, "_fields")
            or dataclasses.is_dataclass(value))


def is_row(value):
    """Whether a list's item is a row of cells."""
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def _numbered(many):
    return [f"Column {number}" for number in range(1, many + 1)]

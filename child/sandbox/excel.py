"""save_excel: tables and figures as a workbook that needs no touching up."""
import datetime as dt
import functools
import io
import math
import re

from . import office

ROWS_MAX, COLUMNS_MAX, TEXT_MAX, NAME_MAX = 1048576, 16384, 32767, 31
# In characters, as Excel measures columns.
WIDTH_MIN, WIDTH_MAX, HEAD_MAX = 7, 60, 24
# Beyond this a wrapped cell is taller than the screen: cut off instead.
WRAP_MAX = 600
# What fits on a page at a size one can read, in characters.
PORTRAIT, LANDSCAPE = 90, 240
LINE_HEIGHT, HEIGHT_MAX = 15, 405  # points
FIGURE = 9.5, 6.6  # inches

INK, FILL, LINE = "#1F2933", "#E9EEF4", "#9AA5B1"

# What programs write for a number format when they mean one of Excel's.
NAMED_FORMATS = {"percent": "0.0%", "currency": "#,##0.00",
                 "integer": "#,##0", "text": "@", "date": "yyyy-mm-dd",
                 "datetime": "yyyy-mm-dd hh:mm:ss"}
_PYTHON_FORMAT = re.compile(r"%?\{?:?(,?)(?:\.(\d+))?([fdeE%])\}?%?")
# Excel offers to repair a workbook that holds a format it cannot read.
_EXCEL_FORMAT = re.compile(
    r'(General|"[^"]*"|\\.|_.|\*.|\[[^][]*\]|AM/PM|A/P|E[+-]|'
    r"[^\"\\_*\[\]A-Za-z]|[ymdhsYMDHSBbgG])*", re.DOTALL)


def save_excel(data, filename="report.xlsx", *, sheet_name=None, index=None,
               title=None, number_formats=None, column_widths=None,
               freeze=True, figures=False, **other):
    """Write data as an Excel workbook and return the file's name.

    data: a DataFrame, Series, array, list of dicts or of rows, dict of
    columns or of values; or a dict of sheet name -> any of those.

    filename: directories are dropped, a missing .xlsx is added (path=,
    file_name= and name= mean the same).
    sheet_name: the sheet's name when there is one table.
    index: True or False to write the index or not; None: when it is more
    than a count of rows.
    title: a line above the table.
    number_formats: {column: Excel format}, for example {"share": "0.0%"}.
    column_widths: {column or letter: characters}, a list, or one number.
    freeze: False, or the first cell that scrolls ("B3"); True: below the
    header.
    figures: True for all live matplotlib figures on a sheet "Figures", or
    a list of figures.

    Text stays text, also when it looks like a formula. What had to be
    changed (a sheet's name, a text too long for a cell) is said in the
    reply's notes.  Raises ValueError for a table larger than a sheet,
    TypeError for what is no table or an unknown option; then no file is
    written.
    """
    data, name = office.arguments(save_excel, data, filename, other)
    options = {"index": index, "title": title, "freeze": freeze,
               "formats": number_formats, "widths": column_widths,
               "used": set()}
    pictures = office.wanted_figures(figures)
    sheets = _sheets(data, sheet_name, pictures)
    import xlsxwriter
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True})
    taken = set()
    for wanted, content in sheets:
        sheet = book.add_worksheet(sheet_name_for(wanted, taken))
        if isinstance(content, Figures):
            _place_figures(sheet, content)
        else:
            _Table(book, sheet, content, options).write()
    _note_unused(options)
    book.close()
    office.write(name, buffer.getbuffer())
    return name


def _note_unused(options):
    for name, option in ("number_formats", "formats"), ("column_widths",
                                                        "widths"):
        option = options[option] if isinstance(options[option], dict) else {}
        for key in option:
            if key not in options["used"] and not isinstance(option[key],
                                                             dict):
                office.note(f"{name} names {key!r}, but there is no such "
                            "column.")


# Sheets

class Figures(list):
    """Figures that share a sheet."""


def _sheets(data, sheet_name, pictures):
    """What goes where: a list of (wanted name, DataFrame or Figures)."""
    if data is None and pictures:
        parts = []
    elif isinstance(data, dict) and _is_book(data):
        parts = list(data.items())
    elif isinstance(data, (list, tuple)) and data and all(
            map(_is_frame, data)):
        parts = [(None, part) for part in data]
    else:
        parts = [(sheet_name, data)]
    one = len(parts) == 1
    sheets = [(name, _content(part, one)) for name, part in parts]
    return sheets + [("Figures", Figures(pictures))] * bool(pictures)


def _content(part, alone):
    figure = office.figure_of(part)
    if figure:
        return Figures([figure])
    scalar = isinstance(part, str) or not hasattr(part, "__iter__")
    if scalar and not alone and not hasattr(part, "to_pandas"):
        part = [part]
    return office.frame(part)


def _is_frame(value):
    """Whether value can be nothing but a sheet of its own."""
    return (getattr(value, "ndim", 0) == 2 or hasattr(value, "to_frame")
            or hasattr(value, "to_pandas")
            or office.figure_of(value) is not None)


def _is_book(data):
    """Whether a dict's keys are names of sheets, not of columns or values."""
    values = list(data.values())
    if any(isinstance(value, dict) or _is_frame(value)
           and getattr(value, "ndim", 2) == 2 for value in values):
        return True
    # Series over the same index are columns of one table.
    indexes = [value.index for value in values if hasattr(value, "iloc")]
    if any(not index.equals(indexes[0]) for index in indexes):
        return True
    return bool(values) and all(
        isinstance(value, list) and value
        and (all(map(office.is_record, value))
             or all(map(office.is_row, value))) for value in values)


def sheet_name_for(wanted, taken):
    """A name by Excel's rules, like wanted, and new among taken.

    taken holds the names so far as they compare, and gains the new one.
    """
    asked = "" if wanted is None else office.text_of(wanted)
    text = asked.translate(str.maketrans("/\\[]", "--()", ":*?"))
    text = _trim(" ".join(text.split()), NAME_MAX)
    text = text or f"Sheet{len(taken) + 1}"
    base, number = text, 1
    # Excel keeps "History" for itself.
    while text.casefold() in taken or text.casefold() == "history":
        number += 1
        text = _trim(base, NAME_MAX - 3 - len(str(number))) + f" ({number})"
    taken.add(text.casefold())
    if asked.strip() and asked != text:
        office.note(f"The sheet {asked!r} is called {text!r}: Excel allows "
                    "31 characters, none of []:*?/\\, and no name twice.")
    return text


def _trim(text, units):
    """text without the blanks and apostrophes that Excel refuses at ends."""
    return office.cut(text.strip(" '"), units).strip(" '")


# Tables

class _Table:
    """One table on its way to one sheet."""

    def __init__(self, book, sheet, table, options):
        self.sheet = sheet
        self.options = options
        self.title = self._option("title")
        self.top = 1 if self.title else 0
        self.depth = table.columns.nlevels
        self.body = self.top + self.depth
        self._check_size(table)
        self.columns = office.columns(table, options["index"])
        self.end = self.body + len(table) - 1
        self.lines = {}  # of text in rows that have more than one
        self.style = functools.lru_cache(None)(
            lambda **look: book.add_format({"valign": "top", **look}))

    def _option(self, name):
        """The option for this sheet, where it is given by sheet."""
        option = self.options[name]
        if isinstance(option, dict):
            own = option.get(self.sheet.name)
            if name == "title" or isinstance(own, dict):
                return own
        return option

    def _check_size(self, table):
        rows, columns = table.shape
        room = ROWS_MAX - self.body
        if rows > room:
            raise ValueError(
                f"{rows:,} rows do not fit on sheet {self.sheet.name!r}: "
                f"Excel holds {room:,} below the header. Aggregate or filter "
                "the table, split it over sheets ({'part 1': df[:1000000], "
                "...}), or write it with df.to_csv().")
        if columns + table.index.nlevels > COLUMNS_MAX:
            raise ValueError(
                f"{columns:,} columns do not fit on sheet "
                f"{self.sheet.name!r}: Excel holds {COLUMNS_MAX:,}. Select "
                "columns, transpose the table with df.T, or write it with "
                "df.to_csv().")

    def write(self):
        if self.title:
            self.sheet.set_row(0, 26)
            _write_string(self.sheet, 0, 0, office.text_of(self.title),
                          self.style(bold=True, font_size=14,
                                     font_color=INK, valign="vcenter"))
        self._write_heads()
        total = 0
        for place, column in enumerate(self.columns):
            total += self._write_column(place, column)
        for row, lines in self.lines.items():
            # Not every program that opens the file would find these itself.
            self.sheet.set_row(row, min(lines * LINE_HEIGHT + 1, HEIGHT_MAX))
        if self.columns:
            self._finish(total)

    def _write_heads(self):
        for level in range(self.depth):
            place = 0
            while place < len(self.columns):
                last = self._last_alike(place, level)
                self._write_head(level, place, last)
                place = last + 1

    def _last_alike(self, place, level):
        """Where a heading over several columns ends; the lowest never do."""
        last, column = place, self.columns[place]
        above = column.heads[:level + 1]
        while (level < self.depth - 1 and not column.is_index
               and last + 1 < len(self.columns)
               and self.columns[last + 1].heads[:level + 1] == above):
            last += 1
        return last

    def _write_head(self, level, first, last):
        column = self.columns[first]
        look = {"bold": True, "font_color": INK, "bg_color": FILL,
                "text_wrap": True, "valign": "vcenter"}
        if level == self.depth - 1:
            look.update(bottom=1, bottom_color=LINE, **self._left(first))
            if column.is_number:  # the indent clears the filter's button
                look.update(align="right", indent=2)
        elif last > first:
            look.update(align="center")
        row, head = self.top + level, column.heads[level]
        style = self.style(**look)
        if last > first:
            self.sheet.merge_range(row, first, row, last, "", style)
        if type(head) in (int, float):
            self.sheet.write_number(row, first, head, style)
        else:
            _write_string(self.sheet, row, first, str(head), style)

    def _left(self, place):
        """The look of text: it keeps clear of numbers to its left."""
        close = place > 0 and self.columns[place - 1].is_number
        return {"align": "left", "indent": 1} if close else {}

    def _write_column(self, place, column):
        """Write the cells; return the column's width in characters."""
        number, asked = self._number_format(place, column)
        width = self._width(place, column, number if asked else "")
        self.sheet.set_column(place, place, width)
        self._count_lines(self.body - 1, str(column.heads[-1]), width - 3)
        left = self._left(place)
        numeric = self.style(num_format=number)
        day = number if asked else ("yyyy-mm-dd hh:mm:ss" if column.timed
                                    else "yyyy-mm-dd")
        moment = self.style(num_format=day, **{"align": "left", **left})
        # Excel has its own words for these; others go by the format.
        logical = self.style(num_format='"TRUE";"TRUE";"FALSE"',
                             align="center")
        for row, value in enumerate(column.values, self.body):
            kind = type(value)
            if value is None or value == "":
                continue
            if kind is float or kind is int:
                if column.mixed and not asked:
                    numeric = self.style(
                        num_format=_number_format(column.alone(value)))
                self.sheet.write_number(row, place, value, numeric)
            elif kind is bool:
                self.sheet.write_boolean(row, place, value, logical)
            elif kind is str:
                self._write_text(row, place, value, width)
            elif kind is dt.timedelta:
                self._write_duration(row, place, value, column)
            elif kind is dt.time:
                self.sheet.write_datetime(
                    row, place, value,
                    self.style(num_format="hh:mm:ss", align="left"))
            elif value.year < 1900:  # before Excel's calendar
                self._write_text(row, place, column.show(value), width)
            else:
                self.sheet.write_datetime(row, place, value, moment)
        return width

    def _write_text(self, row, place, text, width):
        wrap = "\n" in text or office.width(text) > width
        look = self._left(place)
        if wrap and len(text) <= WRAP_MAX:
            look["text_wrap"] = True
            self._count_lines(row, text, width)
        _write_string(self.sheet, row, place, text, self.style(**look))

    def _count_lines(self, row, text, width):
        """Make room for a text that is wrapped to this width."""
        lines = sum(math.ceil(office.width(line) * 1.05 / max(width, 1)) or 1
                    for line in text.split("\n"))
        if lines > self.lines.get(row, 1):
            self.lines[row] = lines

    def _write_duration(self, row, place, value, column):
        """Days or hours to calculate with; text where Excel shows #####."""
        days = value / dt.timedelta(days=1)
        if days == int(days) and abs(days) < 1e15:
            look = {"num_format": '#,##0 "days"'}
        elif 0 <= days < 400:
            look = {"num_format": "[h]:mm:ss"}
        else:
            self.sheet.write_string(row, place, column.show(value),
                                    self.style(align="right"))
            return
        self.sheet.write_number(row, place, days, self.style(**look))

    def _chosen(self, name, place, column):
        """An option's word on a column: by name, letter or place, or all."""
        option = self._option(name)
        if isinstance(option, dict):
            from xlsxwriter.utility import xl_col_to_name
            keys = (column.label, column.heads[-1], xl_col_to_name(place))
            key = next((key for key in keys if key in option), None)
            self.options["used"].add(key)
            return option.get(key)
        if isinstance(option, (list, tuple)):
            return option[place] if place < len(option) else None
        return option

    def _number_format(self, place, column):
        """(the format for a column's numbers, whether it was asked for)."""
        asked = self._chosen("formats", place, column)
        if asked is not None:
            found = excel_format(str(asked))
            if found:
                return found, True
            office.note(f"{asked!r} is no number format of Excel's and was "
                        "not used; an example of one is '#,##0.00'.")
        return _number_format(column), False

    def _width(self, place, column, asked):
        wish = self._chosen("widths", place, column)
        if wish is not None:
            return min(max(float(wish), 0), 255)
        texts = [v for v in column.values if type(v) is str]
        others = {v for v in column.values
                  if v is not None and type(v) not in (str, int, float)}
        numbers = column.numbers if column.mixed else column.numbers and [
            max(column.numbers), min(column.numbers)]
        shown = [column.show(value) for value in [*numbers, *others]]
        widest = max(map(office.width, shown + texts), default=0)
        if asked and numbers:
            widest = max(widest, *(_shown_width(v, asked) for v in numbers))
        if asked and others:  # month names are longer than "mmmm"
            widest = max(widest, len(asked) + 6)
        heads = str(column.heads[-1])
        words = max((office.width(word) for head in column.heads
                     for word in str(head).split()), default=0)
        # Bold runs wider, and the filter's button needs room.
        head = max(min(office.width(heads), HEAD_MAX), words) * 1.1 + 3
        return round(min(max(widest + 2, head, WIDTH_MIN), WIDTH_MAX), 2)

    def _finish(self, total):
        """Filter, frozen panes, and a page that prints well."""
        sheet, last = self.sheet, len(self.columns) - 1
        sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{ROWS_MAX}"})
        # XlsxWriter leaves names such as 2024 or Q1 bare in the ranges
        # below, and Excel then repairs the file; a quoted name it keeps.
        name = sheet.name
        sheet.name = "'" + name.replace("'", "''") + "'"
        sheet.autofilter(self.body - 1, 0, max(self.end, self.body - 1), last)
        sheet.repeat_rows(self.top, self.body - 1)
        levels = sum(column.is_index for column in self.columns)
        if total > LANDSCAPE and levels:
            sheet.repeat_columns(0, levels - 1)
        sheet.name = name
        self._freeze(levels if total > PORTRAIT else 0)
        sheet.set_paper(9)  # A4
        sheet.set_margins(0.5, 0.5, 0.6, 0.6)
        sheet.set_footer("&L&8&A&R&8&P / &N")
        if total > PORTRAIT:
            sheet.set_landscape()
        sheet.fit_to_pages(math.ceil(total / LANDSCAPE), 0)

    def _freeze(self, levels):
        freeze = self.options["freeze"]
        if freeze is True:
            freeze = (self.body, levels)
        if isinstance(freeze, int):
            freeze = (freeze, 0)
        cell = (freeze,) if isinstance(freeze, str) else freeze or (0, 0)
        if cell != (0, 0):
            self.sheet.freeze_panes(*cell)


def _number_format(column):
    if column.exponent:
        return "0.00E+00"
    decimals = "." + "0" * column.decimals if column.decimals else ""
    return ("#,##0" if column.comma else "0") + decimals


def excel_format(text):
    """text as a format that Excel reads, or None; knows Python's too."""
    text = NAMED_FORMATS.get(text.lower(), text)
    python = _PYTHON_FORMAT.fullmatch(text)
    if python and text.strip("{}:").lower() not in ("d", "e"):
        comma, digits, kind = python.groups()
        whole = "#,##0" if comma else "0"
        digits = int(digits or 0) if kind != "d" else 0
        end = {"%": "%", "e": "E+00", "E": "E+00"}.get(kind, "")
        return whole + ("." + "0" * digits if digits else "") + end
    text = office.clean(text)
    good = _EXCEL_FORMAT.fullmatch(text) and text.count(";") < 4
    return text if good and 0 < len(text) < 200 else None


def _shown_width(value, number):
    """About how wide value is in an asked-for format."""
    first = number.split(";")[0]
    decimals = len((re.findall(r"\.([0#?]+)", first) or [""])[0])
    value = value * 100 if "%" in first else value
    signs = len(re.sub(r"\[[^]]*\]|[0#?,.\"\\]", "", first))
    return len(f"{value:,.{decimals}f}") + signs


def _write_string(sheet, row, place, text, style):
    """Write text as text, cut to what a cell holds."""
    kept = office.cut(text, TEXT_MAX)
    if not kept:
        sheet.write_blank(row, place, None, style)
    elif kept.startswith("<r>") and kept.endswith("</r>"):
        # XlsxWriter takes this for its own markup and would not escape it.
        sheet.write_rich_string(row, place, *kept[:2], kept[2:], style)
    else:
        sheet.write_string(row, place, kept, style)
    if len(kept) < len(text):
        office.note(f"A text of {len(text):,} characters was cut to "
                    f"{TEXT_MAX:,}, all that an Excel cell holds: "
                    f"{text[:40]!r}...")


# Figures

def _place_figures(sheet, figures):
    """Put the figures below each other, none broken by the page's end."""
    sheet.hide_gridlines(2)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.set_margins(0.5, 0.5, 0.5, 0.5)
    row, page, breaks = 0, 0, []
    for number, figure in enumerate(figures, 1):
        drawn = office.picture(figure)
        if drawn is None:
            continue
        file, title = drawn
        pixels = [int.from_bytes(file.getbuffer()[at:at + 4], "big")
                  for at in (16, 20)]
        wide, high = (side / 150 for side in pixels)  # inches
        scale = min(1, FIGURE[0] / wide, FIGURE[1] / high)
        rows = math.ceil(high * scale * 72 / LINE_HEIGHT) + 2
        if row + rows - page > FIGURE[1] * 72 / LINE_HEIGHT + 2:
            page = row
            breaks.append(row)
        sheet.insert_image(row, 0, f"figure {number}.png", {
            "image_data": file, "description": title,
            "x_scale": scale, "y_scale": scale})
        row += rows
    sheet.set_h_pagebreaks(breaks[1:] if breaks[:1] == [0] else breaks)

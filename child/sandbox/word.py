"""save_word: text, tables and figures as a report one can hand on."""
import io
import sys

from . import office
from .markdown import Grid, inline, markdown

COLUMNS_MAX = 60  # of a table; more is for a spreadsheet
# Centimetres: A4, its margins, and what they leave.
PAGE, MARGIN = (21.0, 29.7), 2.3
PORTRAIT, LANDSCAPE = (side - 2 * MARGIN for side in PAGE)
PICTURE_HEIGHT = 20.0
SIZES = 10, 9, 8, 7  # of a table's text, in points

INK, ACCENT, QUIET = "1F2933", "1F3A5F", "5B6770"
FILL, CODE, LINE = "E9EEF4", "F3F5F7", "C5CDD6"
FONT, CJK_FONT, MONO = "Calibri", "Microsoft YaHei", "Consolas"


def save_word(content, filename="report.docx", title=None, *, figures=False,
              max_rows=100, **other):
    """Write content as a Word document and return the file's name.

    content: text with Markdown (headings, bold, italic, code, lists, tables,
    quotes, links, rules), a DataFrame or what else makes a table, a
    matplotlib figure, a PIL image, a dict of heading -> content, or a list
    of these.

    filename: directories are dropped, a missing .docx is added (path=,
    file_name= and name= mean the same).
    title: a line above everything.
    figures: True to append all live matplotlib figures that content does
    not have, or a list of figures.
    max_rows: how many rows of a DataFrame to show; a line says how many
    were left out.

    Raises TypeError for an unknown option; then no file is written.
    """
    content, name = office.arguments(save_word, content, filename, other)
    report = _Report(max_rows)
    report.add(content)
    for figure in office.wanted_figures(figures):
        report.add_figure(figure)
    buffer = io.BytesIO()
    _Writer(title).write(report.blocks).save(buffer)
    office.write(name, buffer.getbuffer())
    return name


# What there is to write: blocks, named for the method of _Writer that
# writes them.

class _Report:
    """Whatever was handed over, as a list of (kind, arguments...)."""

    def __init__(self, max_rows):
        self.max_rows = max_rows
        self.blocks = []
        self.seen = []  # figures

    def add(self, content, level=1):
        """Add content; headings made of dict keys have this level."""
        figure = office.figure_of(content)
        if content is None:
            return
        if isinstance(content, str):
            self.blocks += markdown(content)
        elif figure:
            self.add_figure(figure)
        elif _is_image(content):
            self._add_image(content)
        elif _is_table(content):
            self._add_table(office.frame(content))
        elif isinstance(content, dict):
            for heading, part in content.items():
                text = office.text_of(heading).strip("# \n")
                self.blocks.append(("heading", min(level, 6), text))
                self.add(part, level + 1)
        elif isinstance(content, (list, tuple)):
            for part in content:
                self.add(part, level)
        else:
            self._add_object(content)

    def _add_object(self, value):
        """A number, a date, or what prints as a block of text."""
        text = office.text_of(value)
        if "\n" in text:
            self.blocks.append(("code", text.strip("\n")))
        else:
            shown = office.Column(None, [], [office.plain(value)])
            self.blocks.append(("paragraph", shown.show(shown.values[0]),
                                0, False))

    def add_figure(self, figure):
        if any(figure is other for other in self.seen):
            return
        self.seen.append(figure)
        drawn = office.picture(figure)
        if drawn:
            self.blocks.append(("picture", *drawn))

    def _add_image(self, image):
        file = io.BytesIO()
        dpi = image.info.get("dpi", (150, 150))
        image = image if image.mode in ("1", "L", "RGB") else (
            image.convert("RGBA"))
        image.save(file, "PNG", dpi=dpi if min(dpi) >= 10 else (150, 150))
        self.blocks.append(("picture", file, "Image"))

    def _add_table(self, table):
        rows, wide = table.shape
        below = []
        if rows > self.max_rows:
            below.append(f"{rows - self.max_rows:,} of {rows:,} rows")
        if wide > COLUMNS_MAX:
            below.append(f"{wide - COLUMNS_MAX:,} of {wide:,} columns")
        columns = office.columns(
            table.iloc[:self.max_rows, :COLUMNS_MAX])
        if not columns:
            return
        head = zip(*(map(str, column.heads) for column in columns))
        body = zip(*(map(column.show, column.values) for column in columns))
        self.blocks.append(("table", Grid(
            [list(row) for row in head], [list(row) for row in body],
            ["right" if c.is_number and not c.is_index else "left"
             for c in columns], sum(c.is_index for c in columns),
            below=f"Not shown: {' and '.join(below)}." if below else "")))


def _is_image(value):
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def _is_table(value):
    """Whether value is a table, rather than a list or dict of contents."""
    if isinstance(value, dict):
        values = list(value.values())
        if values and all(isinstance(v, (list, tuple)) for v in values):
            cells = [cell for column in values for cell in column]
            same = len({*map(len, values)}) == 1
        else:
            cells, same = values, True
        # With nothing but text it is a report: headings and paragraphs.
        return same and _are_cells(cells, 60) and not all(
            isinstance(cell, str) for cell in cells)
    if isinstance(value, (list, tuple)):
        return bool(value) and (
            all(map(office.is_record, value)) and all(
                _are_cells(row.values()) for row in value
                if isinstance(row, dict))
            or all(map(office.is_row, value)) and all(
                len(row) == len(value[0]) > 1 and _are_cells(row)
                for row in value))
    return (hasattr(value, "to_pandas") or hasattr(value, "to_frame")
            or getattr(value, "ndim", 0) in (1, 2))


def _are_cells(values, longest=500):
    """Whether they are all single values, and text no longer than that."""
    return all(len(v) <= longest if isinstance(v, str) else not (
        isinstance(v, (dict, list, tuple)) or getattr(v, "ndim", 0)
        or hasattr(v, "to_pandas") or office.figure_of(v) or _is_image(v))
        for v in values)


# Word

class _Writer:
    """Writes blocks into a document of its own."""

    def __init__(self, title):
        import docx
        self.document = docx.Document()
        self.title = None if title is None else (
            " ".join(office.text_of(title).split()))
        self.list_ids = {}
        _dress(self.document)
        _describe(self.document, self.title)

    def write(self, blocks):
        """Write them all; return the document."""
        grids = [block[1] for block in blocks if block[0] == "table"]
        self.room = PORTRAIT
        if any(_centimetres(sum(grid.least()), len(grid.align), 8) > PORTRAIT
               for grid in grids):
            self.room = LANDSCAPE
        _set_page(self.document, self.room == LANDSCAPE)
        if self.title:
            self.document.add_paragraph(self.title, "Title")
            if blocks and blocks[0][0] == "heading" and (
                    blocks[0][2] == self.title):
                blocks = blocks[1:]
        for kind, *rest in blocks:
            getattr(self, kind)(*rest)
        return self.document

    def heading(self, level, text):
        self._text(self.document.add_heading("", level), text)

    def paragraph(self, text, indent, quoted):
        style = "Quote" if quoted else "Normal"
        paragraph = self.document.add_paragraph(style=style)
        if indent:
            paragraph.paragraph_format.left_indent = _cm(0.63 * indent)
        self._text(paragraph, text)

    def quote(self, blocks):
        for kind, *rest in blocks:
            if kind == "paragraph":
                self.paragraph(rest[0], 0, True)
            else:
                getattr(self, kind)(*rest)

    def item(self, text, level, ordered, start):
        """A list item; start is its number when it begins a list."""
        deep = min(level, 2)
        name = "List Number" if ordered else "List Bullet"
        name += f" {deep + 1}" if deep else ""
        paragraph = self.document.add_paragraph(style=name)
        if ordered:
            if start is not None or level not in self.list_ids:
                self.list_ids[level] = _new_list(self.document, name, start)
            number = paragraph._p.get_or_add_pPr().get_or_add_numPr()
            number.get_or_add_ilvl().val = 0
            number.get_or_add_numId().val = self.list_ids[level]
        if level > deep:
            paragraph.paragraph_format.left_indent = _cm(0.63 * (level + 1))
        self._text(paragraph, text)

    def code(self, text):
        paragraph = self.document.add_paragraph(style="Code")
        longest = office.width(text)
        run = paragraph.add_run(text)
        if longest > 85:  # as small as one can read, rather than wrapped
            run.font.size = _pt(max(6.5, 9 * 85 / longest))

    def rule(self):
        paragraph = self.document.add_paragraph()
        _border(paragraph._p.get_or_add_pPr(), "bottom", LINE)

    def picture(self, file, title):
        """A picture, at most as wide as the text and 20 cm high."""
        run = self.document.add_paragraph(style="Picture").add_run()
        try:
            shape = run.add_picture(file)
        except (TimeoutError, MemoryError):
            raise
        except Exception:  # whatever a broken picture leads the reader to
            office.note(f"The picture {title!r} is in no format that Word "
                        "reads and was left out.")
            run.add_text(office.clean(title))
            return
        wide, high = shape.width.cm, shape.height.cm
        highest = PICTURE_HEIGHT if self.room == PORTRAIT else 14.0
        scale = min(1, self.room / wide, highest / high)
        shape.width, shape.height = _cm(wide * scale), _cm(high * scale)
        shape._inline.docPr.set("descr", office.clean(title))

    def table(self, grid):
        size = next((s for s in SIZES if _centimetres(
            sum(grid.least()), len(grid.align), s) <= self.room), None)
        parts = [grid] if size else _split(grid, self.room, SIZES[-1])
        for number, part in enumerate(parts):
            if number:
                self._gap()
            self._table(part, size or SIZES[-1])
        if grid.below:
            self.document.add_paragraph(grid.below, "Table Note")
        elif parts:
            self._gap()

    def _gap(self):
        # Without a paragraph between them, two tables would become one.
        gap = self.document.add_paragraph(style="Table Text")
        gap.paragraph_format.space_after = _pt(4)

    def _table(self, grid, size):
        rows = grid.rows()
        table = self.document.add_table(len(rows), len(grid.align))
        widths = _column_widths(grid, size, self.room)
        _draw_lines(table, len(grid.head), widths)
        cells = iter(table._cells)  # table.cell() is quadratic
        for number, row in enumerate(rows):
            head = number < len(grid.head)
            for place, text in enumerate(row):
                cell = next(cells)
                cell.width = _cm(widths[place])
                if head:
                    _shade(cell._tc.get_or_add_tcPr(), FILL)
                self._cell(cell.paragraphs[0], text, grid, place, size, head)
        for number, row in enumerate(grid.head[:-1]):
            self._span(table.rows[number].cells, row, grid.keep)

    def _span(self, cells, row, first):
        """Join the cells of an upper header row that say the same."""
        while first < len(row):
            last = first
            while last + 1 < len(row) and row[last + 1] == row[first]:
                last += 1
                cells[last].paragraphs[0].clear()
            if last > first:
                joined = cells[first].merge(cells[last])
                for empty in joined.paragraphs[1:]:
                    empty._p.getparent().remove(empty._p)
                joined.paragraphs[0].alignment = 1
            first = last + 1

    def _cell(self, paragraph, text, grid, place, size, head):
        paragraph.style = self.document.styles["Table Text"]
        if grid.align[place] != "left":
            paragraph.alignment = {"center": 1, "right": 2}[grid.align[place]]
        if grid.rich:
            self._text(paragraph, text, {"bold"} if head else set(), size)
        else:
            run = paragraph.add_run(text)
            run.font.size = _pt(size)
            run.bold = head or None

    def _text(self, paragraph, text, looks=frozenset(), size=None):
        """Fill a paragraph with one line of Markdown."""
        for part, own, link in inline(text, frozenset(looks)):
            run = paragraph.add_run(part)
            for look in ("bold", "italic"):
                setattr(run, look, True if look in own else None)
            run.font.strike = True if "strike" in own else None
            run.font.size = _pt(size) if size else None
            if "code" in own:
                _set_font(run.font, MONO)
                run.font.size = _pt((size or 11) - 1)
                _shade(run._r.get_or_add_rPr(), CODE)
            if link:
                _make_link(paragraph, run, link)


def _cm(length):
    import docx.shared
    return docx.shared.Cm(length)


def _pt(size):
    import docx.shared
    return docx.shared.Pt(size)


def _element(tag, **attributes):
    """A new element of WordprocessingML, such as <w:shd w:fill="...">."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    element = OxmlElement(f"w:{tag}")
    for name, value in attributes.items():
        element.set(qn(f"w:{name}"), str(value))
    return element


def _shade(properties, color):
    properties.append(_element("shd", val="clear", color="auto", fill=color))


def _border(properties, side, color, size=6, space=1):
    """Draw a line on one side of a paragraph; size in eighths of a point."""
    borders = _element("pBdr")
    borders.append(_element(side, val="single", sz=size, space=space,
                            color=color))
    # The schema wants it before these, and Word insists on the order.
    properties.insert_element_before(
        borders, "w:shd", "w:tabs", "w:suppressAutoHyphens", "w:spacing",
        "w:ind", "w:contextualSpacing", "w:jc", "w:outlineLvl", "w:rPr")


def _set_font(font, name):
    """Set a font by name, with one for Chinese, Japanese and Korean."""
    from docx.oxml.ns import qn
    font.name = name
    fonts = font.element.rPr.rFonts
    for key in list(fonts.attrib):  # the template's theme would win
        if key.endswith("Theme") or key.endswith("theme"):
            del fonts.attrib[key]
    for script, face in ("ascii", name), ("hAnsi", name), ("cs", name), (
            "eastAsia", CJK_FONT):
        fonts.set(qn(f"w:{script}"), face)


def _dress(document):
    """Turn the template's styles into those of a quiet report."""
    from docx.shared import RGBColor
    styles = document.styles
    for name, base in (("Code", "Normal"), ("Picture", "Normal"),
                       ("Table Text", "Normal"), ("Table Note", "Normal")):
        styles.add_style(name, 1).base_style = styles[base]
    looks = {  # font, size, colour, bold, italic, space before and after
        "Normal": (FONT, 11, INK, None, None, 0, 7),
        "Title": (FONT, 24, ACCENT, True, None, 0, 14),
        "Quote": (FONT, 11, QUIET, None, True, 2, 7),
        "Code": (MONO, 9, INK, None, None, 4, 10),
        "Picture": (FONT, 11, INK, None, None, 6, 10),
        "Table Text": (FONT, 10, INK, None, None, 2, 2),
        "Table Note": (FONT, 9, QUIET, None, True, 3, 12)}
    for level, size in enumerate((17, 14, 12, 11, 11, 11), 1):
        looks[f"Heading {level}"] = (FONT, size, ACCENT, True, level > 4,
                                     18 - 2 * min(level, 4), 4)
    for kind in "Bullet", "Number":
        for level in "", " 2", " 3":
            looks[f"List {kind}{level}"] = (FONT, 11, INK, None, None, 0, 3)
    for name, (face, size, color, bold, italic, *space) in looks.items():
        font, layout = styles[name].font, styles[name].paragraph_format
        _set_font(font, face)
        font.size, font.bold, font.italic = _pt(size), bold, italic
        font.color.rgb = RGBColor.from_string(color)
        layout.space_before, layout.space_after = map(_pt, space)
        layout.line_spacing = 1.15 if size == 11 else 1.0
    styles["Picture"].paragraph_format.alignment = 1
    styles["Quote"].paragraph_format.left_indent = _cm(0.6)
    properties = styles["Quote"].element.get_or_add_pPr()
    _border(properties, "left", LINE, 18, 8)
    code = styles["Code"].element.get_or_add_pPr()
    code.insert_element_before(
        _element("shd", val="clear", color="auto", fill=CODE), "w:tabs",
        "w:spacing", "w:ind", "w:jc")


def _describe(document, title):
    """Say what the file is, instead of what the template was."""
    import datetime
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    about = document.core_properties
    about.title = (title or "")[:255]
    about.author = about.comments = about.last_modified_by = ""
    about.created = about.modified = now


def _set_page(document, landscape):
    """A4 with page numbers."""
    section = document.sections[0]
    wide, high = PAGE[::-1] if landscape else PAGE
    section.orientation = int(landscape)
    section.page_width, section.page_height = _cm(wide), _cm(high)
    for side in "left", "right", "top", "bottom":
        setattr(section, f"{side}_margin", _cm(MARGIN))
    footer = section.footer.paragraphs[0]
    footer.alignment = 2
    for part in "PAGE", " / ", "NUMPAGES":
        run = footer.add_run("" if part.isalpha() else part)
        run.font.size = _pt(9)
        if part.isalpha():
            field = _element("fldSimple", instr=part)
            run._r.addprevious(field)
            field.append(run._r)
            run.text = "1"


def _new_list(document, style, start):
    """The id of a list that counts from start.

    Without one of its own, each list would carry on the numbers of the one
    before.
    """
    numbering = document.part.numbering_part.element
    used = document.styles[style].element.pPr.numPr.numId.val
    number = numbering.add_num(
        numbering.num_having_numId(used).abstractNumId.val)
    number.add_lvlOverride(0).add_startOverride(1 if start is None else start)
    return number.numId


def _make_link(paragraph, run, address):
    """Make a run of the paragraph a link."""
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml.ns import qn
    from docx.shared import RGBColor
    link = _element("hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(
        address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run.font.color.rgb, run.font.underline = RGBColor(0x1A, 0x5F, 0xB4), True
    run._r.addprevious(link)
    link.append(run._r)


# Tables in Word

def _centimetres(characters, columns, size):
    """How wide text of this size in points is, with the cells' margins."""
    return characters * size * 0.0195 + columns * 0.4


def _column_widths(grid, size, room):
    """Each column's width in cm: as wide as its text, if room allows."""
    least = [_centimetres(n, 1, size) for n in grid.least()]
    natural = [_centimetres(n, 1, size) for n in grid.natural()]
    natural = [max(pair) for pair in zip(least, natural)]
    if sum(natural) <= room:
        return natural
    spare, wish = room - sum(least), sum(natural) - sum(least)
    share = max(spare, 0) / wish if wish else 0
    return [min(low + (high - low) * share, room)
            for low, high in zip(least, natural)]


def _split(grid, room, size):
    """Parts of a grid that each fit, with its left columns repeated."""
    least = [_centimetres(n, 1, size) for n in grid.least()]
    keep = list(range(grid.keep))
    if sum(least[:grid.keep]) > room / 2:
        keep = []
    parts, places = [], list(keep)
    for place in range(len(keep), len(least)):
        full = sum(least[p] for p in places) + least[place] > room
        if full and len(places) > len(keep):
            parts.append(grid.part(places, len(keep)))
            places = list(keep)
        places.append(place)
    return [*parts, grid.part(places, len(keep))]


def _draw_lines(table, heads, widths):
    """Thin lines between rows, stronger ones around; repeat the header."""
    table.autofit = False
    properties = table._tbl.tblPr
    borders = _element("tblBorders")
    for side, size in ("top", 8), ("bottom", 8), ("insideH", 4):
        borders.append(_element(side, val="single", sz=size, space=0,
                                color=LINE))
    properties.insert_element_before(borders, "w:shd", "w:tblLayout",
                                     "w:tblCellMar", "w:tblLook")
    for column, width in zip(table.columns, widths):
        column.width = _cm(width)
    for number, row in enumerate(table._tbl.tr_lst):
        trait = row.get_or_add_trPr()
        trait.append(_element("cantSplit"))
        if number < heads:
            trait.append(_element("tblHeader"))

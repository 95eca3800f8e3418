"""Markdown, as people and models write it, read into blocks.

A block is a pair: the name of the method that writes it (word._Writer), and
what it takes. A table is a Grid of text.
"""
import dataclasses
import os
import re
import textwrap
import urllib.parse

from . import office


@dataclasses.dataclass
class Grid:
    """A table as text: head and body rows, one alignment for each column.

    keep is how many columns at the left go along when it is split; rich
    says whether cells are Markdown; below is a line to put under it.
    """

    head: list
    body: list
    align: list
    keep: int = 0
    rich: bool = False
    below: str = ""

    def least(self):
        """The narrowest that each column can be, in characters."""
        words = [max((_longest_word(row[place]) for row in self.rows()),
                     default=1) for place in range(len(self.align))]
        names = self.natural()[:self.keep]  # these read badly when broken
        return [max(word, min(name, 20)) for word, name in zip(
            words, names)] + words[self.keep:]

    def natural(self):
        """How wide each column is without a line break, in characters."""
        return [max((min(office.width(row[place]) + 1, 45)
                     for row in self.rows()), default=1)
                for place in range(len(self.align))]

    def rows(self):
        return self.head + self.body

    def part(self, places, keep):
        return Grid([[row[p] for p in places] for row in self.head],
                    [[row[p] for p in places] for row in self.body],
                    [self.align[p] for p in places], keep, self.rich)


def _longest_word(text):
    # A line of Chinese may break anywhere.
    return max((office.width(word) if word.isascii()
                else min(office.width(word), 10)
                for word in text.split()), default=1)


_FENCE = re.compile(r"(\s*)(```+|~~~+)")
_HEADING = re.compile(r"\s*(#{1,6})\s+(.*?)[\s#]*")
_RULE = re.compile(r"\s*([-*_])\s*(\1\s*){2,}")
_ITEM = re.compile(r"(\s*)([-*+•]|\d{1,9}[.)])\s+(\S.*)")
_QUOTE = re.compile(r"\s*(?:>\s*(?=>))*>\s?")  # quotes in quotes are one
_IMAGE = re.compile(r"\s*!\[([^]]*)\]\(([^()\s]+)[^()]*\)\s*")
_ALIGN = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_TASK = re.compile(r"\[([ xX])\]\s+")


def markdown(text):
    """Markdown as a list of blocks.

    As people write it, not to the letter of a standard: text that is
    indented as a whole is not code, and a short line keeps its line break.
    """
    text = textwrap.dedent(office.clean(text).expandtabs(4))
    return _Markdown(text.split("\n")).blocks


class _Markdown:
    """Reads lines into blocks; each _method takes some or says None."""

    def __init__(self, lines):
        self.lines = lines
        self.at = 0
        self.blocks = []
        self.open = []  # lists we are in: [indent, is ordered]
        self.blank = True
        while self.at < len(lines):
            self._take(lines[self.at])

    def _take(self, line):
        if not line.strip():
            self.at += 1
            self.blank = True
            return
        for reader in (self._fence, self._heading, self._rule, self._table,
                       self._quote, self._item, self._image):
            if reader(line):
                break
        else:
            self._paragraph(line)
        self.blank = False

    def _put(self, *block):
        self.blocks.append(block)
        return True

    def _line(self):
        """The next line, or None at the end."""
        return self.lines[self.at] if self.at < len(self.lines) else None

    def _fence(self, line):
        fence = _FENCE.match(line)
        if not fence:
            return False
        indent, marks = len(fence[1]), fence[2]
        code = []
        self.at += 1
        while (line := self._line()) is not None:
            self.at += 1
            if line.strip().startswith(marks) and not line.strip(" `~"):
                break
            code.append(line[min(indent, len(line) - len(line.lstrip())):])
        return self._put("code", "\n".join(code))

    def _heading(self, line):
        heading = _HEADING.fullmatch(line)
        if not heading or not heading[2]:
            return False
        self.at += 1
        self.open.clear()
        return self._put("heading", len(heading[1]), heading[2])

    def _rule(self, line):
        if not _RULE.fullmatch(line):
            return False
        self.at += 1
        self.open.clear()
        return self._put("rule")

    def _table(self, line):
        below = self.lines[self.at + 1:self.at + 2]
        if "|" not in line or not below or "-" not in below[0] or not (
                _ALIGN.fullmatch(below[0])):
            return False
        head, marks = _cells(line), _cells(below[0])
        if len(head) != len(marks):
            return False
        self.at += 2
        body = []
        while "|" in (self._line() or ""):
            row = _cells(self._line())[:len(head)]
            body.append(row + [""] * (len(head) - len(row)))
            self.at += 1
        align = [_alignment(mark, [row[place] for row in body])
                 for place, mark in enumerate(marks)]
        return self._put("table", Grid([head], body, align, rich=True))

    def _quote(self, line):
        if not _QUOTE.match(line):
            return False
        inner = []
        while (line := self._line()) and _QUOTE.match(line):
            inner.append(_QUOTE.sub("", line, 1))
            self.at += 1
        self.open.clear()
        return self._put("quote", markdown("\n".join(inner)))

    def _item(self, line):
        item = _ITEM.fullmatch(line)
        if not item:
            return False
        indent, ordered = len(item[1]), item[2][0].isdigit()
        fresh = self._open_list(indent, ordered)
        start = int(item[2][:-1]) if ordered else 0
        text = _TASK.sub(lambda box: "☐ " if box[1] == " " else "☑ ",
                         item[3], 1)
        self.at += 1
        text = self._more(text)
        return self._put("item", text, len(self.open) - 1, ordered,
                         start if fresh else None)

    def _open_list(self, indent, ordered):
        """Enter or leave lists; say whether the item begins a new one."""
        while len(self.open) > 1 and indent < self.open[-1][0]:
            self.open.pop()
        if not self.open or indent >= self.open[-1][0] + 2:
            self.open.append([indent, ordered])
            return True
        fresh = self.open[-1][1] != ordered
        self.open[-1] = [indent, ordered]
        return fresh

    def _image(self, line):
        image = _IMAGE.fullmatch(line)
        if not image or not os.path.isfile(image[2]):
            return False
        self.at += 1
        return self._put("picture", image[2], image[1])

    def _paragraph(self, line):
        indent = len(line) - len(line.lstrip())
        if self.open and self.blank and indent <= self.open[-1][0]:
            self.open.clear()
        self.at += 1
        self._put("paragraph", self._more(line), len(self.open), False)

    def _more(self, text):
        """text joined with the lines that carry it on."""
        last = text
        while (line := self._line()) and line.strip() and not (
                self._begins(line)):
            text = _join(text, last, line.strip())
            last = line
            self.at += 1
        return text.strip()

    def _begins(self, line):
        """Whether line begins a block of its own."""
        below = self.lines[self.at + 1:self.at + 2]
        return any((
            _FENCE.match(line), _HEADING.fullmatch(line),
            _RULE.fullmatch(line), _QUOTE.match(line),
            _ITEM.fullmatch(line), _IMAGE.fullmatch(line),
            "|" in line and below and _ALIGN.fullmatch(below[0])))


def _join(text, last, line):
    """Two lines of a paragraph; a short one was meant to end there."""
    if last.endswith(("  ", "\\")) or office.width(last) < 50:
        return text.rstrip(" \\") + "\n" + line
    wide = not text[-1:].isascii() and office.width(text[-1:]) == 2
    return text.rstrip() + ("" if wide else " ") + line


def _cells(line):
    line = line.strip()
    line = line[1:] if line.startswith("|") else line
    parts = re.split(r"(?<!\\)\|", line)
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return [part.strip().replace("\\|", "|") for part in parts]


def _alignment(mark, cells):
    if mark.endswith(":"):
        return "center" if mark.startswith(":") else "right"
    numbers = [re.fullmatch(r"[-+−(]?[$€£¥]?[\d.,\s]*\d[\d.,\s]*\)?"
                            r"\s?(%|[a-zA-Z]{1,3})?", cell.strip("*_ "))
               for cell in cells if cell.strip("*_- –—")]
    right = numbers and all(numbers) and not mark.startswith(":")
    return "right" if right else "left"


# Bounded, so that a text full of lonely marks is read in linear time.
_INLINE = re.compile(r"""
    \\(?P<escape>[!-/:-@[-`{-~])
  | (?P<ticks>`+)(?P<code>.{1,999}?)(?P=ticks)(?!`)
  | !?\[(?P<label>[^][]{1,999})\]\((?P<target>[^()\s]*(?:\([^()\s]*\))?
      [^()\s]*)(?:\s+"[^"]*")?\)
  | <?(?P<bare>https?://[^\s<>"]*[^\s<>".,;:!?)*_'、。，）])>?
  | (?P<br><br\s*/?>)
  | \*\*\*(?=\S)(?P<both>.{1,999}?)(?<=\S)\*\*\*
  | \*\*(?=\S)(?P<bold>.{1,999}?)(?<=\S)\*\*(?!\*)
  | (?<!\w)__(?=\S)(?P<bold2>.{1,999}?)(?<=\S)__(?!\w)
  | \*(?=[^\s*])(?P<italic>(?:\*\*[^*]{1,999}\*\*|[^*]){1,999}?)
      (?<=[^\s*])\*(?!\*)
  | (?<!\w)_(?=\S)(?P<italic2>[^_]{1,999}?)(?<=\S)_(?!\w)
  | ~~(?=\S)(?P<strike>.{1,999}?)(?<=\S)~~
""", re.VERBOSE | re.DOTALL)
_LOOKS = {"both": ("bold", "italic"), "bold": ("bold",), "bold2": ("bold",),
          "italic": ("italic",), "italic2": ("italic",),
          "strike": ("strike",)}


def inline(text, looks=frozenset()):
    """Yield (text, looks, link) for the runs of one paragraph."""
    at = 0
    for found in _INLINE.finditer(text):
        if found.start() > at:
            yield text[at:found.start()], looks, None
        at = found.end()
        kind = found.lastgroup
        if kind in _LOOKS:
            yield from inline(found[kind], looks.union(_LOOKS[kind]))
        elif found["label"] is not None:
            for part, own, _ in inline(found["label"], looks):
                yield part, own, _link(found["target"])
        elif found["bare"]:
            yield found["bare"], looks, _link(found["bare"])
        elif found["code"]:
            yield found["code"].strip() or " ", looks | {"code"}, None
        else:
            yield found["escape"] or "\n", looks, None
    if at < len(text):
        yield text[at:], looks, None


def _link(target):
    """target as an address that Word accepts, or None."""
    try:
        parts = urllib.parse.urlsplit(target)
        good = parts.scheme == "mailto" or (
            parts.scheme in ("http", "https") and parts.hostname)
    except ValueError:
        return None
    return urllib.parse.quote(target, safe="%/:?#@!$&'()*+,;=~") if (
        good) else None

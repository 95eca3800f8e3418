"""save_word, judged by what python-docx reads back."""
import datetime as dt
import os

import docx
import numpy as np
import pandas as pd
import pytest
from docx.shared import Cm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from PIL import Image

from sandbox import office
from sandbox.word import inline, markdown, save_word

FUZZ = settings(max_examples=25, deadline=None, suppress_health_check=[
    HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
TEXT = st.text(st.characters(), max_size=80)
MARKDOWN = st.lists(st.sampled_from(
    ["# ", "- ", "1. ", "  ", "\n", "\n\n", "|", "|-|\n", "```", "> ", "*",
     "**", "_", "`", "[a](http://b.c)", "---", "word ", "\\", "价", "~~",
     "![x](y.png)", ":-:", "<br>", "\x00"]), max_size=30).map("".join)


def report(*args, **options):
    return docx.Document(save_word(*args, **options))


def texts(*args, **options):
    return [p.text for p in report(*args, **options).paragraphs]


def styles(text):
    return [(p.style.name, p.text) for p in report(text).paragraphs]


def table(content, **options):
    return report(content, **options).tables[0]


def cells(made):
    return [[cell.text for cell in row.cells] for row in made.rows]


def runs(text):
    """[(text, sorted looks)] of one paragraph."""
    return [(part, sorted(looks)) for part, looks, _ in inline(text)]


# Markdown's blocks

def test_headings():
    assert styles("# One\n###### Six #") == [
        ("Heading 1", "One"), ("Heading 6", "Six")]


def test_paragraphs():
    assert texts("one\n\ntwo") == ["one", "two"]


def test_short_lines_stay_lines_and_long_ones_are_joined():
    long = "word " * 12 + "end"
    assert texts("a: 1\nb: 2") == ["a: 1\nb: 2"]
    assert texts(f"{long}\nmore") == [f"{long} more"]


def test_chinese_lines_are_joined_without_a_space():
    assert texts("价" * 30 + "\n格") == ["价" * 30 + "格"]


def test_text_that_is_indented_as_a_whole():
    assert styles("\n    # One\n    two\n") == [
        ("Heading 1", "One"), ("Normal", "two")]


def test_nested_lists():
    assert styles("- a\n  - b\n    - c\n- d") == [
        ("List Bullet", "a"), ("List Bullet 2", "b"), ("List Bullet 3", "c"),
        ("List Bullet", "d")]


def test_numbers_within_bullets():
    assert styles("* a\n  1. b\n  2. c\n") == [
        ("List Bullet", "a"), ("List Number 2", "b"), ("List Number 2", "c")]


def test_each_numbered_list_counts_for_itself():
    made = report("1. a\n2. b\n\ntext\n\n1. c\n\n## h\n3. d")
    ids = [p._p.pPr.numPr.numId.val for p in made.paragraphs
           if p.style.name == "List Number"]
    assert ids[0] == ids[1] and len(set(ids)) == 3
    numbering = made.part.numbering_part.element
    starts = [numbering.num_having_numId(n).lvlOverride_lst[0]
              .startOverride.val for n in ids]
    assert starts == [1, 1, 1, 3]


def test_item_over_two_lines():
    assert texts("- " + "word " * 12 + "end\n  more")[0].endswith("end more")


def test_tasks():
    assert texts("- [ ] open\n- [x] done") == ["☐ open", "☑ done"]


def test_code_block_is_kept_as_it_is():
    assert styles("```python\ndef f():\n    return '**'\n```") == [
        ("Code", "def f():\n    return '**'")]


def test_code_block_without_an_end():
    assert texts("~~~\ncode") == ["code"]


def test_quote():
    assert styles("> wise\n> words") == [("Quote", "wise\nwords")]


def test_quotes_in_quotes():
    assert styles("> a\n> > b\n" + ">" * 3000 + "c")[0] == (
        "Quote", "a\nb\nc")


def test_rule():
    made = report("a\n\n---\n\nb").paragraphs
    assert [p.text for p in made] == ["a", "", "b"]
    assert "w:pBdr" in made[1]._p.xml


def test_table():
    made = table("| a | b | c |\n|:--|--:|:-:|\n| x | 1 | **y** |\n| z |")
    assert cells(made) == [["a", "b", "c"], ["x", "1", "y"], ["z", "", ""]]
    assert [c.paragraphs[0].alignment for c in made.rows[1].cells] == [
        None, 2, 1]
    assert made.rows[0].cells[0].paragraphs[0].runs[0].bold


def test_numbers_in_a_table_are_aligned_unasked():
    made = table("a|b\n-|-\nx|$1,200\ny|-3.5 %")
    assert made.rows[1].cells[1].paragraphs[0].alignment == 2


def test_escaped_bar():
    assert cells(table("a|b\n-|-\nx\\|y|z"))[1] == ["x|y", "z"]


# Markdown's text

@pytest.mark.parametrize("text, read", [
    ("**a** *b*", [("a", ["bold"]), (" ", []), ("b", ["italic"])]),
    ("***a***", [("a", ["bold", "italic"])]),
    ("__a__ _b_", [("a", ["bold"]), (" ", []), ("b", ["italic"])]),
    ("**a *b***", [("a ", ["bold"]), ("b", ["bold", "italic"])]),
    ("*a **b** c*", [("a ", ["italic"]), ("b", ["bold", "italic"]),
                     (" c", ["italic"])]),
    ("`a*b*`", [("a*b*", ["code"])]), ("~~a~~", [("a", ["strike"])]),
    ("2 * 3 * 4", [("2 * 3 * 4", [])]),
    ("snake_case_name", [("snake_case_name", [])]),
    ("\\*a\\*", [("*", []), ("a", []), ("*", [])]),
    ("a<br>b", [("a", []), ("\n", []), ("b", [])])])
def test_inline(text, read):
    assert runs(text) == read


@pytest.mark.parametrize("text, address", [
    ("[x](https://a.b/c?d=1&e=2)", "https://a.b/c?d=1&e=2"),
    ("see https://a.b/c.", "https://a.b/c"), ("<https://a.b>", "https://a.b"),
    ("[x](mailto:a@b.c)", "mailto:a@b.c"),
    ("[x](https://a.b/(c))", "https://a.b/(c)"),
    ("[x](https://a.b/价)", "https://a.b/%E4%BB%B7"),
    ("[x](javascript:alert)", None), ("[x](file:///etc/passwd)", None),
    ("[x](http://[)", None)])
def test_link(text, address):
    made = report(text)
    links = [rel.target_ref for rel in made.part.rels.values()
             if rel.reltype.endswith("/hyperlink")]
    assert links == [address] * bool(address)
    assert ("w:hyperlink" in made.element.xml) == bool(address)


def test_picture_from_a_file():
    Image.new("RGB", (300, 150)).save("chart.png", dpi=(150, 150))
    made = report("![Chart](chart.png)")
    assert len(made.inline_shapes) == 1


def test_picture_that_is_not_there():
    assert texts("![Chart](none.png)") == ["Chart"]


def test_broken_picture():
    with open("bad.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\nnothing")
    assert texts("![Chart](bad.png)") == ["Chart"]
    assert "'Chart'" in office.notes[0]


# Tables

def test_dataframe():
    made = table(pd.DataFrame({"n": ["x", "y"], "v": [1234.5, None]}))
    assert cells(made) == [["n", "v"], ["x", "1,234.50"], ["y", ""]]
    assert made.rows[1].cells[1].paragraphs[0].alignment == 2
    assert made.rows[0].cells[1].paragraphs[0].runs[0].bold


def test_header_repeats_and_rows_hold_together():
    xml = table(pd.DataFrame({"a": range(2)}))._tbl.xml
    assert xml.count("w:tblHeader") == 1 and xml.count("w:cantSplit") == 3


def test_series_with_dates():
    made = table(pd.Series([1], index=[pd.Timestamp("2024-03-01")], name="n"))
    assert cells(made) == [["", "n"], ["2024-03-01", "1"]]


def test_long_table_is_cut_and_says_so():
    made = report(pd.DataFrame({"a": range(2500)}))
    assert len(made.tables[0].rows) == 101
    assert "Not shown: 2,400 of 2,500 rows." in [
        p.text for p in made.paragraphs]


def test_max_rows():
    assert len(table(pd.DataFrame({"a": range(9)}), max_rows=4).rows) == 5


def test_multiindex_header_is_joined():
    columns = pd.MultiIndex.from_product([[2023, 2024], ["x", "y"]])
    made = table(pd.DataFrame(np.ones((1, 4)), ["EU"], columns))
    assert [c.text for c in made.rows[0].cells] == [
        "", "2023", "2023", "2024", "2024"]
    assert made._tbl.xml.count("w:gridSpan") == 2


def test_markdown_in_a_dataframe_is_text():
    assert cells(table(pd.DataFrame({"a": ["**x**"]})))[1] == ["**x**"]


@pytest.mark.parametrize("columns", [3, 12, 20, 60])
def test_no_table_runs_off_the_page(columns):
    made = report(pd.DataFrame(np.full((2, columns), 123456.789),
                               columns=[f"long name {n}"
                                        for n in range(columns)]))
    section = made.sections[0]
    room = section.page_width - section.left_margin - section.right_margin
    for part in made.tables:
        assert sum(c.width for c in part.rows[0].cells) <= room + Cm(0.05)
    assert sum(len(part.columns) for part in made.tables) == columns


def test_tables_stay_apart():
    frame = pd.DataFrame({"a": [1]})
    made = report([frame, frame])
    assert len(made.tables) == 2
    assert made.tables[0]._tbl.getnext().tag.endswith("}p")


# Other contents

def test_list_of_everything():
    figure = plt.figure()
    made = report(["# Title", "text", pd.DataFrame({"a": [1]}), figure,
                   Image.new("CMYK", (40, 40)), 5, dt.date(2024, 1, 2), None])
    assert len(made.tables) == 1 and len(made.inline_shapes) == 2
    assert [p.text for p in made.paragraphs if p.text] == [
        "Title", "text", "5", "2024-01-02"]


def test_dict_of_sections():
    assert styles("") == []
    made = report({"One": "text", "Two": {"Deep": ["a", "b"]}}).paragraphs
    assert [(p.style.name, p.text) for p in made] == [
        ("Heading 1", "One"), ("Normal", "text"), ("Heading 1", "Two"),
        ("Heading 2", "Deep"), ("Normal", "a"), ("Normal", "b")]


def test_dict_of_figures_is_a_table():
    assert cells(table({"revenue": 4200000, "margin": 0.125})) == [
        ["Item", "Value"], ["revenue", "4,200,000"], ["margin", "0.1250"]]


def test_dict_of_numpy_values_is_a_table():
    made = table({"mean": np.float64(0.5), "best": "EU", "none": None})
    assert cells(made)[1:] == [["mean", "0.50"], ["best", "EU"],
                               ["none", ""]]


def test_dict_of_columns_is_a_table():
    assert cells(table({"a": ["x", "y"], "b": [1, 2]})) == [
        ["a", "b"], ["x", "1"], ["y", "2"]]


def test_list_of_dicts_is_a_table():
    assert cells(table([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])) == [
        ["a", "b"], ["1", "x"], ["2", "y"]]


def test_list_of_rows_is_a_table():
    assert cells(table([["a", "b"], [1, 2]])) == [["a", "b"], ["1", "2"]]


def test_what_prints_as_lines_keeps_its_columns():
    class Summary:
        def __str__(self):
            return "coef   p\n1.0    0.5"
    made = report(Summary()).paragraphs[0]
    assert (made.style.name, made.text) == ("Code", "coef   p\n1.0    0.5")


def test_control_characters():
    assert texts("one\x0c\x00 two \x1b[0m end \uffff\ud800") == [
        "one two  end"]
    assert texts(["para \x08A", "café 价格 😀"], "b") == [
        "para A", "café 价格 😀"]


# Figures

def test_figures_that_are_not_there_yet_are_added():
    figure = plt.figure()
    plt.figure()
    assert len(report(figure, figures=True).inline_shapes) == 2


def test_figures_fit_the_page():
    plt.figure(figsize=(30, 3))
    plt.figure(figsize=(3, 30))
    for shape in report(None, figures=True).inline_shapes:
        assert shape.width <= Cm(16.41) and shape.height <= Cm(20.01)


def test_figure_has_its_title_for_those_who_cannot_see_it():
    plt.title("Revenue")
    shape = report("", figures=True).inline_shapes[0]
    assert shape._inline.docPr.get("descr") == "Revenue"


def test_figure_that_cannot_be_drawn_is_noted():
    plt.title("$\\frac{$")
    assert texts("text", figures=True) == ["text"]
    assert "could not be drawn" in office.notes[0]


def test_replaced_source_of_figures(monkeypatch):
    figure = plt.figure()
    plt.close(figure)
    monkeypatch.setattr(office, "live_figures", lambda: [figure])
    assert len(report("", figures=True).inline_shapes) == 1


# The document

def test_title():
    made = report("text", title="Q3 review")
    assert made.paragraphs[0].style.name == "Title"
    assert made.core_properties.title == "Q3 review"
    assert made.core_properties.author == ""


def test_title_is_not_said_twice():
    assert texts("# Q3\n\ntext", title="Q3") == ["Q3", "text"]


def test_page():
    section = report("text").sections[0]
    assert abs(section.page_width - Cm(21)) < Cm(0.01)
    assert "NUMPAGES" in section.footer._element.xml


def test_chinese_has_a_font():
    assert 'w:eastAsia="Microsoft YaHei"' in report("价").styles["Normal"] \
        .element.xml


@pytest.mark.parametrize("given, name", [
    ("../a/b.docx", "b.docx"), ("a.doc", "a.docx"), ("noext", "noext.docx"),
    ("", "report.docx"), ("C:\\x\\y", "y.docx"), ("n.md", "n.docx")])
def test_file_name(given, name):
    assert save_word("text", given) == name
    assert os.listdir() == [name]


@pytest.mark.parametrize("arguments", [
    ("x.docx", "text"), ("x.docx", ["text"]), ("text", "x.docx")])
def test_either_order(arguments):
    assert texts(*arguments) == ["text"]
    assert os.listdir() == ["x.docx"]


def test_unknown_option():
    with pytest.raises(TypeError, match="did you mean 'figures'"):
        save_word("text", figure=True)
    assert os.listdir() == []


# Anything goes

@FUZZ
@given(TEXT)
def test_any_text(text):
    report(text)


@FUZZ
@given(MARKDOWN)
def test_any_markdown(text):
    report(text)


@FUZZ
@given(TEXT)
def test_no_word_is_lost(text):
    words = [word for word in text.split() if word.isalnum()]
    found = str(markdown(" ".join(words)))
    assert all(word in found for word in words)


@FUZZ
@given(TEXT, TEXT)
def test_any_name_and_title(name, title):
    made = save_word("x", f"a{name}", title)
    docx.Document(made)
    os.unlink(made)


@FUZZ
@given(st.dictionaries(TEXT, st.one_of(TEXT, st.integers(), st.floats(),
                                       st.lists(TEXT, max_size=3),
                                       st.dictionaries(TEXT, st.dates(),
                                                       max_size=2)),
                       max_size=4))
def test_any_dict(content):
    report(content)


@FUZZ
@given(st.lists(st.tuples(TEXT, st.integers(), st.floats()), max_size=4))
def test_any_cells(rows):
    report(pd.DataFrame(rows, columns=["a", "b", "c"]))

"""save_excel, judged by what openpyxl reads back."""
import datetime as dt
import decimal
import enum
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from sandbox import office
from sandbox.excel import excel_format, save_excel

ONE = pd.DataFrame({"a": [1]})
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[
    HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def book(*args, **options):
    return openpyxl.load_workbook(save_excel(*args, **options))


def sheet(*args, **options):
    return book(*args, **options).worksheets[0]


def rows(*args, **options):
    return [list(row) for row in sheet(*args, **options).values]


def cell(value):
    """What a cell of this value reads back as."""
    return rows([{"x": value, "y": 1}])[1][0]


# Shapes of data

def test_dataframe():
    assert rows(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})) == [
        ["a", "b"], [1, "x"], [2, "y"]]


def test_series_with_meaningful_index():
    assert rows(pd.Series([1.5], index=["EUR"], name="rate")) == [
        [None, "rate"], ["EUR", 1.5]]


def test_unnamed_series():
    assert rows(pd.Series([3, 4])) == [["Value"], [3], [4]]


def test_list_of_dicts_with_gaps():
    assert rows([{"a": 1}, {"b": 12345678901234}]) == [
        ["a", "b"], [1, None], [None, 12345678901234]]


def test_list_of_lists_with_heading():
    assert rows([["name", "age"], ["Ann", 3], ["Bo"]]) == [
        ["name", "age"], ["Ann", 3], ["Bo", None]]


def test_list_of_numbers_in_rows():
    assert rows([(1, 2), (3, 4)]) == [
        ["Column 1", "Column 2"], [1, 2], [3, 4]]


def test_dict_of_values():
    assert rows({"revenue": 5, "when": dt.date(2024, 1, 2)}) == [
        ["Item", "Value"], ["revenue", 5],
        ["when", dt.datetime(2024, 1, 2)]]


def test_dict_of_columns_of_unequal_length():
    assert rows({"a": [1, 2], "b": (3,)}) == [["a", "b"], [1, 3], [2, None]]


def test_dict_of_series_that_belong_together():
    assert rows({"a": pd.Series([1]), "b": pd.Series([2])})[1] == [1, 2]


def test_dict_of_series_that_do_not():
    made = book({"a": pd.Series([1]), "b": pd.Series([2], index=["x"])})
    assert made.sheetnames == ["a", "b"]


def test_dict_of_index_and_list():
    assert rows({"a": pd.Index([1]), "b": [2]})[1] == [1, 2]


def test_array():
    assert rows(np.eye(2)) == [["Column 1", "Column 2"], [1, 0], [0, 1]]


def test_array_of_three_dimensions_is_refused():
    with pytest.raises(ValueError, match="3 dimensions"):
        save_excel(np.zeros((2, 2, 2)))


def test_what_has_to_pandas():
    class Polars:
        def to_pandas(self):
            return ONE
    assert rows(Polars()) == [["a"], [1]]


def test_dict_of_sheets():
    made = book({"One": ONE, "Two": [{"b": 2}], "Three": {"c": 3},
                 "Four": np.eye(2), "Five": pd.Series([1])})
    assert made.sheetnames == ["One", "Two", "Three", "Four", "Five"]
    assert made["Two"]["A2"].value == 2


def test_columns_of_lists_are_no_sheets():
    assert rows({"id": [1], "tags": [["x", "y"]]}) == [
        ["id", "tags"], [1, "['x', 'y']"]]


def test_list_of_frames():
    assert book([ONE, ONE]).sheetnames == ["Sheet1", "Sheet2"]


@pytest.mark.parametrize("nothing", [{}, [], pd.DataFrame()])
def test_nothing_gives_a_sheet_without_rows(nothing):
    assert not any(map(any, sheet(nothing).iter_rows(min_row=2)))


def test_header_of_an_empty_frame():
    assert rows(pd.DataFrame({"a": [], "b": []})) == [["a", "b"]]


@pytest.mark.parametrize("wrong", ["text", 5, None])
def test_no_table(wrong):
    with pytest.raises(TypeError, match="a table is wanted"):
        save_excel(wrong)
    assert os.listdir() == []


# The index

def test_sorted_row_numbers_are_left_out():
    assert rows(pd.DataFrame({"a": [2, 1]}).sort_values("a"))[0] == ["a"]


def test_an_index_that_is_a_column_too_is_left_out():
    dates = pd.date_range("2025-01-01", periods=2)
    frame = pd.DataFrame({"date": dates, "close": [1.5, 2.5]}, index=dates)
    assert rows(frame)[0] == ["date", "close"]
    assert rows(frame.rename_axis("day"))[0] == ["day", "date", "close"]
    frame.index = frame.index + pd.Timedelta("1D")
    assert rows(frame)[0] == [None, "date", "close"]


def test_years_in_the_index_are_kept():
    made = rows(pd.DataFrame({"a": [1]}, index=range(2020, 2021)))
    assert made == [[None, "a"], [2020, 1]]


def test_index_can_be_forced_and_dropped():
    assert rows(ONE, index=True)[1] == [0, 1]
    assert rows(ONE.set_axis(["x"], axis=0), index=False)[1] == [1]


def test_multiindex_rows_and_columns():
    index = pd.MultiIndex.from_product([["EU", "US"], [1]],
                                       names=["area", "no"])
    columns = pd.MultiIndex.from_product([[2023, 2024], ["x", "y"]])
    made = sheet(pd.DataFrame(np.ones((2, 4)), index, columns))
    assert [c.value for c in made[2]] == ["area", "no", "x", "y", "x", "y"]
    assert [c.value for c in made[3]][:3] == ["EU", 1, 1]
    assert {str(r) for r in made.merged_cells.ranges} == {"C1:D1", "E1:F1"}
    assert made.freeze_panes == "A3"
    assert made.auto_filter.ref == "A2:F4"


def test_duplicate_column_names():
    assert rows(pd.DataFrame([[1, 2]], columns=["a", "a"])) == [
        ["a", "a"], [1, 2]]


# Values

def test_time_zone_is_dropped_and_the_wall_time_kept():
    times = pd.to_datetime([None, "2024-03-01 10:00"])
    made = rows(pd.DataFrame({"t": times.tz_localize("Europe/Paris")}))
    assert made[1:] == [[None], [dt.datetime(2024, 3, 1, 10)]]


@pytest.mark.parametrize("value", [
    None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT"),
    decimal.Decimal("NaN"), decimal.Decimal("sNaN")])
def test_missing(value):
    assert cell(value) is None


class Color(enum.Enum):
    RED = 1


class Mute:
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("value, read", [
    (float("inf"), "inf"), (-np.inf, "-inf"),
    (10**15 - 1, 10**15 - 1), (10**15, "1000000000000000"),
    (-12345678901234567890, "-12345678901234567890"),
    (np.uint64(2**64 - 1), "18446744073709551615"),
    (np.int8(-3), -3), (np.float32(0.5), 0.5), (np.bool_(True), True),
    (np.longdouble(2), 2), (False, False), (1 + 2j, "(1+2j)"),
    (decimal.Decimal("1.10"), 1.1),
    (decimal.Decimal("1.1234567890123456789"), "1.1234567890123456789"),
    (pd.Period("2024-01"), "2024-01"), (pd.Interval(0, 1), "(0, 1]"),
    ([1, "a"], "[1, 'a']"), ({"k": 1}, "{'k': 1}"), ({1}, "{1}"),
    (np.arange(2), "[0 1]"), (b"x", "b'x'"), (Color.RED, "Color.RED"),
    (Mute(), "<Mute>"), (dt.date(2024, 2, 29), dt.datetime(2024, 2, 29)),
    (dt.time(9, 30), dt.time(9, 30)),
    (np.datetime64("2024-01-01"), dt.datetime(2024, 1, 1)),
    (dt.datetime(1850, 5, 1), "1850-05-01"), (dt.date(1, 1, 1), "0001-01-01"),
    (pd.Timedelta("3 days"), 3),
    (pd.Timedelta("-1 h"), "-1 day, 23:00:00"),
    ("a\x16b\r\nc\ud800\uffff", "ab\nc"), ("\x1b[31mred\x1b[0m", "red"),
    ("=1+1", "=1+1"), ("@home", "@home"), ("http://x.org", "http://x.org"),
    ("<r>&</r>", "<r>&</r>"), (" pad ", " pad "), ("", None),
    ("😀", "😀")])
def test_value(value, read):
    assert cell(value) == read


def test_durations_can_be_added_up():
    made = sheet([{"t": pd.Timedelta("26 h")}])["A2"]
    assert made.number_format == "[h]:mm:ss"
    assert made.data_type in "nd"


def test_categories():
    assert rows(pd.DataFrame({"c": pd.Categorical([None, "x"])}))[1:] == [
        [None], ["x"]]


def test_nullable_integers():
    made = pd.DataFrame({"n": pd.array([None, 1], dtype="Int64")})
    assert rows(made)[1:] == [[None], [1]]


def test_formulas_and_links_stay_text():
    made = sheet([["t"], ["=SUM(A1)"], ["http://example.com"]])
    assert [c.data_type for c in made["A"]] == ["s"] * 3
    assert made["A3"].hyperlink is None


def test_long_text_is_cut_with_a_note():
    assert len(cell("x" * 40000)) == 32767
    assert "32,767" in office.notes[0]


def test_excel_counts_utf16():
    assert cell("😀" * 20000) == "😀" * 16383


def test_no_word_lost_in_headings():
    assert rows({"a\x00\x0bb": [1]})[0] == ["ab"]


# Sheets' names

@pytest.mark.parametrize("wanted, got", [
    ("Q1/Q2: a [draft]?", "Q1-Q2 a (draft)"), ("", "Sheet1"),
    ("'quoted'", "quoted"), ("History", "History (2)"), ("***", "Sheet1"),
    ("x" * 40, "x" * 31), ("x" * 30 + "'y", "x" * 30),
    ("😀" * 20, "😀" * 15), ("a\nb", "a b"), (2024, "2024")])
def test_sheet_name(wanted, got):
    assert book({wanted: ONE}).sheetnames == [got]


def test_sheet_names_clash_without_case():
    assert book({"Data": ONE, "DATA": ONE, "data ": ONE}).sheetnames == [
        "Data", "DATA (2)", "data (3)"]


def test_changed_sheet_name_is_noted():
    save_excel({"a/b": ONE, "fine": ONE})
    assert len(office.notes) == 1 and "'a-b'" in office.notes[0]


def test_sheet_name_option():
    assert book(ONE, sheet_name="Prices").sheetnames == ["Prices"]


@pytest.mark.parametrize("name", ["2024", "Q1", "R1C1", "it's"])
def test_names_in_ranges_are_quoted(name):
    """Excel repairs a workbook that refers to 2024!$A$1."""
    with zipfile.ZipFile(save_excel({name: ONE})) as parts:
        text = parts.read("xl/workbook.xml").decode()
    ranges = re.findall(r"<definedName [^>]*>([^<]*)<", text)
    doubled = name.replace("'", "''")
    assert ranges and all(r.startswith(f"'{doubled}'!") for r in ranges)


# Looks

def test_header():
    made = sheet(ONE)
    assert made["A1"].font.b
    assert made["A1"].fill.fgColor.rgb == "FFE9EEF4"
    assert made.freeze_panes == "A2"
    assert made.auto_filter.ref == "A1:A2"


def test_title():
    made = sheet(ONE, title="Report")
    assert [c.value for c in made["A"]] == ["Report", "a", 1]
    assert made.freeze_panes == "A3"


@pytest.mark.parametrize("freeze, cell", [
    (False, None), ("B3", "B3"), ((2, 1), "B3"), (2, "A3")])
def test_freeze(freeze, cell):
    assert sheet(ONE, freeze=freeze).freeze_panes == cell


@pytest.mark.parametrize("values, shown", [
    ([1, 20], "0"), ([1000, 1], "#,##0"), ([2020, 2021], "0"),
    ([1234.5, 1], "#,##0.00"), ([0.1234, 0.5], "0.0000"),
    ([1e-9, 2e-9], "0.00E+00"), ([12.5, 1.25], "0.00"),
    ([dt.date(2024, 1, 1)], "yyyy-mm-dd"),
    ([dt.datetime(2024, 1, 1, 8)], "yyyy-mm-dd hh:mm:ss")])
def test_format(values, shown):
    assert sheet({"x": values})["A2"].number_format == shown


def test_identifiers_have_no_comma():
    assert sheet({"customer_id": [123456]})["A2"].number_format == "0"


def test_key_figures_each_have_their_format():
    made = sheet({"revenue": 4200000, "margin": 0.125})
    assert made["B2"].number_format == "#,##0"
    assert made["B3"].number_format == "0.0000"


def test_number_formats():
    made = sheet({"share": [0.5], "b": [1]},
                 number_formats={"share": "0.0%", "B": "{:,.2f}"})
    assert made["A2"].number_format == "0.0%"
    assert made["B2"].number_format == "#,##0.00"


@pytest.mark.parametrize("given, read", [
    ("percent", "0.0%"), (".1%", "0.0%"), ("%.2f", "0.00"),
    ("{:,d}", "#,##0"), ("d mmm yyyy", "d mmm yyyy"), ("0.0 Mio", None),
    ('0.0 "Mio"', '0.0 "Mio"'), ("$#,##0", "$#,##0"), ('0"', None),
    ("[Red]0", "[Red]0"), ("", None)])
def test_excel_format(given, read):
    assert excel_format(given) == read


def test_unusable_format_is_noted():
    assert sheet(ONE, number_formats={"a": "0 Mio"})["A2"].value == 1
    assert "0 Mio" in office.notes[0]


def test_format_of_no_column_is_noted():
    save_excel(ONE, number_formats={"b": "0"})
    assert "'b'" in office.notes[0]


def test_widths_follow_the_content():
    made = sheet({"a": ["x" * 30], "b": ["y" * 300], "c": [1]})
    width = {k: made.column_dimensions[k].width for k in "ABC"}
    assert 30 < width["A"] < 36 and 60 <= width["B"] < 62 and width["C"] < 9


def test_chinese_is_twice_as_wide():
    assert sheet({"a": ["价" * 20]}).column_dimensions["A"].width > 40


def test_no_number_is_too_wide_for_its_column():
    made = sheet({"n": [123456789012.5, -123456789012.5]})
    assert made.column_dimensions["A"].width > len("-123,456,789,012.50")


def test_column_widths():
    made = sheet({"a": [1], "b": [2]}, column_widths={"a": 33, "B": 44})
    assert 33 <= made.column_dimensions["A"].width < 34
    assert 44 <= made.column_dimensions["B"].width < 45


def test_wide_sheets_print_across_the_page():
    made = sheet({f"a long name {n}": [n] for n in range(12)})
    assert made.page_setup.orientation == "landscape"
    assert made.sheet_properties.pageSetUpPr.fitToPage
    assert made.page_setup.fitToWidth in (None, 1)
    assert made.print_title_rows in ("$1:$1", "1:1")


# Figures

def test_figures():
    plt.plot([1, 2])
    plt.figure()
    made = book(ONE, figures=True)
    assert made.sheetnames == ["Sheet1", "Figures"]
    assert len(made["Figures"]._images) == 2


def test_figures_alone_and_in_a_dict():
    figure, axes = plt.subplots()
    assert book(None, figures=[axes]).sheetnames == ["Figures"]
    assert book({"Data": ONE, "Chart": figure}).sheetnames == [
        "Data", "Chart"]


def test_no_live_figures_no_sheet():
    assert book(ONE, figures=True).sheetnames == ["Sheet1"]


def test_figure_that_cannot_be_drawn_is_noted():
    plt.title("$\\frac{$")
    assert book(ONE, figures=True).sheetnames == ["Sheet1", "Figures"]
    assert "could not be drawn" in office.notes[0]


# Arguments

@pytest.mark.parametrize("given, name", [
    ("../../evil.xlsx", "evil.xlsx"), ("/tmp/abs.xlsx", "abs.xlsx"),
    ("C:\\dir\\win.xlsx", "win.xlsx"), ("C:win.xlsx", "win.xlsx"),
    ("noext", "noext.xlsx"), ("bericht für März.xlsx",) * 2,
    ("v1.2", "v1.2.xlsx"), ("old.xls", "old.xlsx"), ("A.XLSX", "A.XLSX"),
    ("", "report.xlsx"), ("..", "report.xlsx"), (".xlsx", "report.xlsx"),
    ("CON.xlsx", "report.xlsx"), ("dir/", "report.xlsx"),
    ("a\u202ecod\x00.xlsx", "acod.xlsx"), ("10:30?.xlsx", "10_30_.xlsx"),
    ("x" * 300, "x" * 200 + ".xlsx")])
def test_file_name(given, name):
    assert save_excel(ONE, given) == name
    assert os.listdir() == [name]


@pytest.mark.parametrize("alias", ["path", "file_name", "name", "filename"])
def test_aliases(alias):
    assert save_excel(ONE, **{alias: "b.xlsx"}) == "b.xlsx"


def test_arguments_the_wrong_way_round():
    assert save_excel("x.xlsx", ONE) == "x.xlsx"


def test_unknown_option_names_the_nearest():
    with pytest.raises(TypeError, match="did you mean 'sheet_name'"):
        save_excel(ONE, sheetname="x")


def test_two_tables_are_refused():
    with pytest.raises(TypeError, match="dict"):
        save_excel(ONE, ONE)


def test_too_many_rows():
    table = pd.DataFrame({"a": np.zeros(1048576, dtype="i1")})
    with pytest.raises(ValueError, match="1,048,576 rows.*split"):
        save_excel(table)


def test_too_many_columns():
    with pytest.raises(ValueError, match="16,384.*df.T"):
        save_excel(np.zeros((1, 16385)))


def test_a_failing_call_leaves_the_old_file():
    save_excel(ONE, "x.xlsx")
    with pytest.raises(ValueError):
        save_excel({"a": ONE, "b": np.zeros((2, 2, 2))}, "x.xlsx")
    assert os.listdir() == ["x.xlsx"]
    assert openpyxl.load_workbook("x.xlsx").sheetnames == ["Sheet1"]


def test_import_does_not_load_the_libraries():
    code = ("import sys; from sandbox import excel, word; "
            "sys.exit(bool({'numpy', 'pandas', 'matplotlib', 'docx', "
            "'xlsxwriter'} & set(sys.modules)))")
    where = os.path.dirname(os.path.dirname(office.__file__))
    assert subprocess.run([sys.executable, "-c", code],
                          env={"PYTHONPATH": where}).returncode == 0


# Anything goes

def ordinary(text):
    """How openpyxl reads the text back."""
    return re.sub("_x005F(?=_x[0-9A-Fa-f]{4}_)", "", text)


@FUZZ
@given(st.text(st.characters(), min_size=1, max_size=60))
def test_any_text(text):
    read = sheet([{"x": text}, {"x": 1}])["A2"]
    assert read.data_type in "sn"
    assert ordinary(read.value or "") == office.clean(text)


@FUZZ
@given(st.dictionaries(st.one_of(st.text(st.characters(), max_size=50),
                                 st.integers(), st.none()),
                       st.just(ONE), min_size=1, max_size=6))
def test_any_sheet_names(data):
    names = book(data).sheetnames
    assert len({name.lower() for name in names}) == len(data)
    for name in names:
        assert 1 <= len(name.encode("utf-16-le")) // 2 <= 31
        assert not set(name) & set("[]:*?/\\")
        assert name.strip("'") == name and name.lower() != "history"


@FUZZ
@given(st.text(st.characters(), max_size=300))
def test_any_file_name(text):
    name = save_excel(ONE, text)
    assert os.path.basename(name) == name
    assert openpyxl.load_workbook(name)["Sheet1"]["A2"].value == 1
    os.unlink(name)


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.decimals(),
    st.text(max_size=9), st.dates(), st.datetimes(), st.times(),
    st.timedeltas(), st.complex_numbers(), st.binary(max_size=5),
    st.datetimes(timezones=st.timezones()), st.fractions(), st.uuids())


@FUZZ
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3))), max_size=6))
def test_any_values(data):
    assert len(list(sheet(data).values)) <= len(data) + 1


@FUZZ
@given(st.text(max_size=12))
def test_any_number_format(text):
    assert sheet(ONE, number_formats={"a": text})["A2"].value is not None

"""Programs as a language model writes them for an analyst, and what an
analyst would check in what comes back: the numbers, the tables, the pictures.

real/NAME.py is a program as it is sent; real/NAME.json, where there is one,
has its `context`, and its `files` as lists of lines.
"""

import base64
import datetime as dt
import gzip
import io
import json
import pathlib
import re
import sqlite3
import zipfile

import docx
import numpy as np
import openpyxl
import pandas as pd
import pytest
from PIL import Image
from scipy import optimize
from service import figures_of, files_of

REAL = pathlib.Path(__file__).parent / "real"


def program(name):
    return (REAL / f"{name}.py").read_text(encoding="utf-8")


def members(name):
    """What is sent beside the program."""
    path = REAL / f"{name}.json"
    if not path.exists():
        return {}
    sent = json.loads(path.read_text(encoding="utf-8"))
    if "files" in sent:
        sent["files"] = [text_file(file, "\n".join(lines) + "\n")
                         for file, lines in sent["files"].items()]
    return sent


def text_file(name, text):
    return {"name": name, "data": base64.b64encode(text.encode()).decode()}


def good(service, name):
    """Run a program that must end well, with nothing to remark on."""
    reply = service.run(program(name), **members(name))
    assert reply["error"] is None, reply["error"]
    assert reply["notes"] == []
    assert reply["output_dropped"] == 0 and reply["exit_code"] == 0
    return reply


def pictures(reply):
    return [Image.open(io.BytesIO(png)).convert("RGB")
            for png in figures_of(reply)]


def colours(picture):
    return len(picture.getcolors(1 << 24))


def has_colour(picture, rgb, share=0.001, within=12):
    """Whether at least this share of the pixels has about this colour."""
    near = np.abs(np.asarray(picture, int) - rgb).max(axis=2) <= within
    return near.mean() >= share


def workbook(reply, name):
    return openpyxl.load_workbook(io.BytesIO(files_of(reply)[name]))


def table(sheet):
    """A sheet as a list of dicts, header row first."""
    head, *rows = sheet.iter_rows(values_only=True)
    return [dict(zip(head, row)) for row in rows]


def formats(sheet):
    """The number formats of the first row below the header, by column."""
    return {head.value: cell.number_format
            for head, cell in zip(sheet[1], sheet[2])}


def number_after(label, text):
    return float(re.search(re.escape(label) + r"\s*([-+]?[\d.,]+)",
                           text)[1].replace(",", "").rstrip("."))


# Ten analyses

def test_sales_by_region(service):
    reply = good(service, "sales_by_region")
    text = base64.b64decode(
        members("sales_by_region")["files"][0]["data"]).decode()
    seen, sales, kept = set(), {}, 0
    lines = text.splitlines()[1:]
    for line in lines:
        if line in seen:
            continue
        seen.add(line)
        _, day, region, _, quantity, price = re.match(
            r'(\d+),(.*?),(.*?),(.*?),(.*?),"?(.*?)"?$', line).groups()
        price = price.replace("$", "").replace(",", "")
        if "unknown" in day or not region or not quantity or price == "N/A":
            continue
        kept += 1
        sales.setdefault(region.strip().title(), []).append(
            float(price) * int(quantity))
    output = reply["output"]
    assert f"Loaded {len(lines)} rows, 6 columns" in output
    assert (f"Dropped {len(seen) - kept} incomplete rows, {kept} remain"
            in output)
    ranked = sorted(sales, key=lambda region: -sum(sales[region]))
    shown = output.partition("=== Revenue by region ===")[2].splitlines()
    rows = [line.split() for line in shown[3:7]]
    assert [row[0] for row in rows] == ranked
    for region, orders, _, revenue, _, share in rows:
        assert int(orders) == len(sales[region])
        assert float(revenue) == pytest.approx(sum(sales[region]), abs=0.01)
        assert float(share) == pytest.approx(
            sum(sales[region]) / sum(map(sum, sales.values())), abs=0.006)
    best = sum(sales[ranked[0]])
    assert f"Best region: {ranked[0]} with ${best:,.2f}" in output
    assert reply["files"] == []  # the input is not handed back

    bars, = pictures(reply)
    assert bars.size == (1200, 750) and colours(bars) > 50
    # One bar a region, each a colour of its own and as high as its revenue.
    pixels = np.asarray(bars, int)
    heights = []
    for rgb in (65, 68, 135), (42, 120, 142), (34, 168, 132), (122, 209, 81):
        column = (np.abs(pixels - rgb).max(axis=2) <= 8).sum(axis=0)
        heights.append(np.median(column[column > 20]))
    assert np.array(heights) / heights[0] == pytest.approx(
        [sum(sales[region]) / best for region in ranked], abs=0.02)


def test_price_history(service):
    reply = good(service, "price_history")
    random = np.random.RandomState(42)
    days = pd.bdate_range("2022-01-03", periods=520)
    close = 100 * np.exp(np.cumsum(random.normal(0.0004, 0.012, 520)))
    output = reply["output"]
    assert f"{days[-1]:%Y-%m-%d}" in output
    last = output.partition("Monthly summary")[0].splitlines()[-2].split()
    assert float(last[1]) == pytest.approx(close[-1], abs=1e-3)
    assert float(last[3]) == pytest.approx(close[-20:].mean(), abs=1e-3)
    assert float(last[4]) == pytest.approx(close[-100:].mean(), abs=1e-3)
    changes = close[1:] / close[:-1] - 1
    assert float(last[5]) == pytest.approx(
        changes[-30:].std(ddof=1) * 252 ** 0.5, abs=1e-3)
    rows = re.findall(r"^(\d{4}-\d\d)-01 +([\d.]+) +([\d.]+)", output, re.M)
    months = np.array([f"{day:%Y-%m}" for day in days])
    assert [row[0] for row in rows] == sorted(set(months))
    for month, first, end in rows:
        of = close[months == month]
        assert [float(first), float(end)] == pytest.approx(
            [of[0], of[-1]], abs=0.006)
    drawdown = close / np.maximum.accumulate(close) - 1
    assert number_after("Max drawdown:", output) == pytest.approx(
        drawdown.min() * 100, abs=0.006)
    assert f"on {days[drawdown.argmin()]:%Y-%m-%d}" in output

    prices, returns = pictures(reply)
    assert prices.size == (1800, 900) and returns.size == (1800, 1200)
    assert colours(prices) > 200 and colours(returns) > 200
    for picture, colour in ((returns, (0, 128, 0)), (returns, (255, 0, 0)),
                            (returns, (255, 140, 0))):
        assert has_colour(picture, colour)


def test_demand_regression(service):
    reply = good(service, "demand_regression")
    output = reply["output"]
    random = np.random.default_rng(7)
    price = random.uniform(5, 20, 400)
    income = random.normal(50, 10, 400)
    promo = random.integers(0, 2, 400)
    demand = (120 - 3.5 * price + 0.8 * income + 12 * promo
              + random.normal(0, 5, 400))
    design = np.column_stack([np.ones(400), price, income, promo])
    found, residue, *_ = np.linalg.lstsq(design, demand, rcond=None)
    names = ["const", "price", "income", "promo"]
    assert "OLS Regression Results" in output
    summary = {line.split()[0]: line.split()[1:]
               for line in output.splitlines() if len(line.split()) == 7}
    for name, value, true, slack in zip(
            names, found, (120, -3.5, 0.8, 12), (5, 0.3, 0.1, 2)):
        coefficient, error, *_, low, high = map(float, summary[name])
        assert coefficient == pytest.approx(value, abs=1e-3)
        assert coefficient == pytest.approx(true, abs=slack)
        assert low < true < high
        assert number_after(f"{name}:", output) == pytest.approx(
            value, abs=1e-3)
        assert error > 0
    square = 1 - residue[0] / ((demand - demand.mean()) ** 2).sum()
    assert number_after("r2:", output) == pytest.approx(square, abs=1e-4)
    assert output.count("OLS Regression Results") == 1  # main() ran once
    assert reply["figures"] == [] and reply["result"] is None


def test_feature_heatmap(service):
    reply = good(service, "feature_heatmap")
    random = np.random.default_rng(3)
    shift = np.repeat([0, 2, 5], 50)
    length = 10 + shift + random.normal(0, 0.8, 150)
    width = 4 + 0.4 * shift + random.normal(0, 0.4, 150)
    weight = 30 - 2 * shift + random.normal(0, 1.5, 150)
    age = random.gamma(4, 1.2, 150)
    true = np.corrcoef([length, width, weight, age])
    rows = [line.split() for line in reply["output"].splitlines()[2:6]]
    assert [row[0] for row in rows] == ["length", "width", "weight", "age"]
    assert np.array([row[1:] for row in rows], float) == pytest.approx(
        true, abs=1e-3)
    assert re.search(r"^gamma +15\.\d+ +6\.", reply["output"], re.M)

    heat, pairs = pictures(reply)
    assert heat.size == (1050, 900)
    assert has_colour(heat, (179, 3, 38), 0.02)  # the diagonal: r = 1
    assert has_colour(heat, (82, 111, 220), 0.02, 25)  # the strongest below 0
    assert pairs.width >= 990 and pairs.height >= 990
    assert colours(pairs) > 1000


def test_classifier(service):
    reply = good(service, "classifier")
    output = reply["output"]
    assert "Samples: 569, features: 30, positives: 357" in output
    folds = re.search(r"per fold: \[([^]]+)\]", output)[1].split()
    assert len(folds) == 5 and all(float(fold) > 0.9 for fold in folds)
    assert number_after("CV accuracy:", output) == pytest.approx(
        np.mean([float(fold) for fold in folds]), abs=1e-3)
    (tn, fp), (fn, tp) = [
        map(int, row) for row in re.findall(
            r"\[\[? *(\d+) +(\d+)\]", output.partition("matrix:")[2])]
    assert (tn + fp, fn + tp) == (53, 90)
    accuracy = number_after("Test accuracy:", output)
    assert accuracy == pytest.approx((tn + tp) / 143, abs=1e-3)
    assert accuracy > 0.93
    assert re.search(r"malignant +[\d.]+ +[\d.]+ +[\d.]+ +53", output)
    matrix, = pictures(reply)
    assert matrix.size == (750, 600) and colours(matrix) > 50
    assert has_colour(matrix, (8, 48, 107), 0.1)  # the true positives


def test_portfolio(service):
    reply = good(service, "portfolio")
    sent = members("portfolio")["context"]
    returns = np.array(sent["returns"])
    mu, cov = returns.mean(axis=0) * 12, np.cov(returns.T) * 12
    wanted = sent["settings"]
    best = optimize.minimize(
        lambda w: w @ cov @ w * 100, np.full(5, 0.2), method="SLSQP",
        bounds=[(0, wanted["max_weight"])] * 5, tol=1e-12, constraints=[
            {"type": "eq", "fun": lambda w: w.sum() - 1},
            {"type": "ineq",
             "fun": lambda w: w @ mu - wanted["target_return"]}])
    book = workbook(reply, "portfolio.xlsx")
    assert book.sheetnames == ["Weights", "Statistics"]
    rows = table(book["Weights"])
    weights = {row["Asset"]: row["Weight"] for row in rows}
    assert [weights[name] for name in sent["assets"]] == pytest.approx(
        best.x, abs=2e-3)
    assert sum(weights.values()) == pytest.approx(1, abs=1e-6)
    assert max(weights.values()) <= wanted["max_weight"] + 1e-6
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    assert sum(row["Risk contribution"] for row in rows) == pytest.approx(1)
    assert formats(book["Weights"]) == {
        "Asset": "General", "Weight": "0.0%", "Expected return": "0.00%",
        "Risk contribution": "0.0%"}
    measured = {row["Metric"]: row["Value"]
                for row in table(book["Statistics"])}
    volatility = (best.x @ cov @ best.x) ** 0.5
    assert measured["Return"] == pytest.approx(
        wanted["target_return"], abs=1e-4)
    assert measured["Volatility"] == pytest.approx(volatility, rel=1e-3)
    assert measured["Sharpe"] == pytest.approx(
        (measured["Return"] - wanted["risk_free"]) / volatility, rel=1e-2)
    assert "Saved portfolio.xlsx" in reply["output"]
    shown = [line.split()[1:3] for line in
             reply["result"].splitlines()[1:6]]
    assert [name for name, _ in shown] == list(weights)
    assert [float(weight) for _, weight in shown] == pytest.approx(
        list(weights.values()), abs=1e-5)
    frontier, = pictures(reply)
    assert frontier.size == (1200, 750) and colours(frontier) > 100
    assert has_colour(frontier, (255, 0, 0), 1e-4)  # the star


def test_quarterly_workbook(service):
    reply = good(service, "quarterly_workbook")
    sent = members("quarterly_workbook")["context"]
    invoices = sent["invoices"]
    day = dt.datetime.fromisoformat
    total = sum(i["amount"] * (1 - i["discount"]) for i in invoices)

    book = workbook(reply, "quarterly.xlsx")
    assert book.sheetnames == ["Invoices", "By quarter"]
    sheet = book["Invoices"]
    assert sheet.freeze_panes is not None and sheet["A1"].font.bold
    rows = table(sheet)
    assert len(rows) == len(invoices)
    for row, sent_row in zip(rows, invoices):
        assert row["number"] == sent_row["number"]  # zeros in front kept
        assert row["customer"] == sent_row["customer"]
        assert row["issued"] == day(sent_row["issued"])
        assert row["due"] == row["issued"] + dt.timedelta(sent_row["terms"])
        assert row["paid_at"] == (
            sent_row["paid_at"] and day(sent_row["paid_at"]))
        assert row["net"] == pytest.approx(
            sent_row["amount"] * (1 - sent_row["discount"]))
        assert row["overdue"] is (row["paid_at"] is None
                                  and row["due"] < day(sent["as_of"]))
    shapes = formats(sheet)
    assert shapes["issued"] == "yyyy-mm-dd"
    assert shapes["paid_at"] == "yyyy-mm-dd hh:mm:ss"
    assert shapes["amount"] == "#,##0.00" and shapes["net"] == "#,##0.00 €"
    assert shapes["discount"] == "0.0%"
    assert not any(cell.data_type == "f" for row in sheet for cell in row)
    widths = [sheet.column_dimensions[letter].width for letter in "ABCEHI"]
    assert all(7 <= width <= 60 for width in widths)
    quarters = table(book["By quarter"])
    assert sum(row["net"] for row in quarters) == pytest.approx(total)
    assert sum(row["share"] for row in quarters) == pytest.approx(1)
    for row in quarters:
        assert row["net"] == pytest.approx(sum(
            i["amount"] * (1 - i["discount"]) for i in invoices
            if i["currency"] == row["currency"] and row["Quarter"] ==
            f"2024Q{(day(i['issued']).month + 2) // 3}"))
    assert formats(book["By quarter"])["share"] == "0.0%"

    ledger = workbook(reply, "ledger.xlsx")
    assert ledger.sheetnames == ["Ledger", "Summary"]
    sheet = ledger["Ledger"]
    assert sheet["C2"].value == day(invoices[0]["issued"])
    assert sheet["C2"].number_format == "dd/mm/yyyy"
    last = len(invoices) + 2
    assert sheet.cell(last, 4).value == f"=SUM(D2:D{last - 1})"
    assert sheet.column_dimensions["D"].width == pytest.approx(14, abs=1)
    values = openpyxl.load_workbook(
        io.BytesIO(files_of(reply)["ledger.xlsx"]), data_only=True)
    assert values["Ledger"].cell(last, 4).value == pytest.approx(total)

    overdue = [row["net"] for row in rows if row["overdue"]]
    assert (f"Overdue: {len(overdue)} of {len(rows)}, {sum(overdue):,.2f}"
            in reply["output"])
    assert "As of 31 December 2024" in reply["output"]
    assert {file["type"] for file in reply["files"]} == {
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}


def test_board_report(service):
    reply = good(service, "board_report")
    assert "Report written to annual_review.docx" in reply["output"]
    assert reply["figures"] == []  # closed by the program
    document = docx.Document(io.BytesIO(
        files_of(reply)["annual_review.docx"]))
    by_style = {}
    for paragraph in document.paragraphs:
        by_style.setdefault(paragraph.style.name, []).append(paragraph.text)
    assert by_style["Title"] == ["Board report"]
    assert by_style["Heading 1"] == ["Annual review 2024"]
    assert by_style["Heading 2"] == ["Highlights", "Monthly figures",
                                     "Charts", "Outlook"]
    assert by_style["Heading 3"] == ["Revenue and costs", "Margin"]
    assert by_style["List Bullet"][0] == "Every month closed with a profit"
    assert len(by_style["List Bullet"]) == len(by_style["List Number"]) == 3
    assert by_style["Quote"] == ["Forecasts are not guarantees."]
    text = "\n".join(paragraph.text for paragraph in document.paragraphs)
    assert "grew by 44.1% over the year and reached 1,702 k€" in text
    assert not re.search(r"[*#`>]", text)  # no Markdown is left
    bold = [run.text for paragraph in document.paragraphs
            for run in paragraph.runs if run.bold]
    assert {"44.1%", "1,702 k€"} <= set(bold)

    figures, = document.tables
    rows = [[cell.text for cell in row.cells] for row in figures.rows]
    assert rows[0] == ["Month", "Revenue", "Costs", "Profit", "Margin"]
    assert len(rows) == 13
    assert rows[1][0] == "Jan 2024" and rows[12][0] == "Dec 2024"
    for row in rows[1:]:
        revenue, costs, profit, margin = map(float, row[1:])
        assert profit == revenue - costs
        assert margin == pytest.approx(profit / revenue * 100, abs=0.06)
    assert sum(float(row[1]) for row in rows[1:]) == 1702

    shapes = document.inline_shapes
    assert len(shapes) == 2
    section = document.sections[0]
    room = section.page_width - section.left_margin - section.right_margin
    for shape, size, colour in zip(shapes, ((1200, 600), (900, 600)),
                                   ((31, 119, 180), (46, 139, 87))):
        assert shape.width <= room
        blip = shape._inline.graphic.graphicData.pic.blipFill.blip
        picture = Image.open(io.BytesIO(
            document.part.related_parts[blip.embed].blob)).convert("RGB")
        # Cut to what is on it, so not quite as large as drawn.
        assert picture.size == pytest.approx(size, rel=0.08)
        assert shape.width / shape.height == pytest.approx(
            picture.width / picture.height, rel=0.01)
        assert colours(picture) > 50
        assert has_colour(picture, colour)
    # The order in the document is the order in the list.
    body = [element.tag.rpartition("}")[2] for element in
            document.element.body]
    charts = text.index("Charts")
    assert body.index("tbl") < len(body) // 2
    assert text.index("Monthly figures") < charts < text.index("Outlook")


def test_async_orders(service):
    reply = good(service, "async_orders")
    assert reply["output"].splitlines() == [
        "9 orders, concurrent: True",
        "8 {'FILLED': 7, 'REJECTED': 2}",
        "Order(id=0, item=Stock(symbol='AAA', base=10.0), quantity=10, "
        "status=<Status.FILLED: 2>, tags=[])",
        "pickle equal: True | same class: True",
        "deepcopy independent: [] ['copy']",
        "{'symbol': 'AAA-C', 'base': 3.2, 'multiplier': 100}",
        "executor: 12586269025",
        "threads: {10: 55, 20: 6765, 30: 832040}",
        "timed out as planned",
        "total price 355.50, instruments 3"]


def test_mended_by_what_the_error_says(service):
    """A program with three mistakes, mended by nothing but the messages."""
    code, met = program("mended"), []
    while error := (reply := service.run(code))["error"]:
        met.append(error["type"])
        assert len(met) <= 3, error
        lines = code.splitlines()
        guess = re.search(r"Did you mean '(\w+)'\?", error["message"])
        assert guess, error["message"]
        wrong = re.search(r"(\w+)'(?:\. | is not defined)",
                          error["message"])[1]
        # The line at fault is named, and has the wrong word.
        place = int(re.findall(r'File "main.py", line (\d+)',
                               error["traceback"])[-1])
        assert error["line"] == place and wrong in lines[place - 1]
        assert lines[place - 1].strip() in error["traceback"]
        lines[place - 1] = lines[place - 1].replace(wrong, guess[1])
        code = "\n".join(lines) + "\n"
        # What was printed before the mistake came too.
        assert ("2024-01    200.5" in reply["output"]) == (len(met) > 1)
    assert met == ["KeyError", "ModuleNotFoundError", "NameError"]
    assert "Next report: 2024-04-01" in reply["output"]
    assert "2024-02: +49.4%" in reply["output"]
    assert "2024-03: +3.5%" in reply["output"]
    assert "Mean growth: 26.4%" in reply["output"]


# Oddities, each short: (name, program, what else is sent, what must hold)

def two_curves(reply):
    """show() ends a figure, as it does in a script with windows and in a
    notebook: the next plot is a figure of its own."""
    sine, cosine = pictures(reply)
    for picture in sine, cosine:
        assert has_colour(picture, (31, 119, 180))
        assert not has_colour(picture, (255, 127, 14), 1e-5)


def shown_then_cleared(reply):
    shown = pictures(reply)
    assert len(shown) == 2 and all(colours(one) > 20 for one in shown)


def three_in_order(reply):
    sizes = [picture.size for picture in pictures(reply)]
    assert sizes == [(900, 600), (1050, 600), (1200, 600)]


def object_oriented(reply):
    picture, = pictures(reply)
    assert picture.size == (600, 450) and colours(picture) > 50


def cjk(reply):
    """Chinese text beside mathtext: no box in place of a glyph."""
    assert reply["output"] == "" and reply["notes"] == []
    # Boxes would look the same in either title.
    one, other = map(np.asarray, pictures(reply))
    assert (one != other).any()


def written(reply):
    files = files_of(reply)
    assert list(files) == ["archive.zip", "out/log.txt", "out/results.json",
                           "out/series.csv.gz", "sales.db"]
    with zipfile.ZipFile(io.BytesIO(files["archive.zip"])) as archive:
        assert archive.read("log.txt") == "héllo\n".encode()
    assert files["out/log.txt"] == "héllo\n".encode()
    assert json.loads(files["out/results.json"]) == {"mean": 2.0, "n": 3}
    assert gzip.decompress(files["out/series.csv.gz"]).split() == [
        b"x", b"1", b"2", b"3"]
    base = sqlite3.connect(":memory:")
    base.deserialize(files["sales.db"])
    assert base.execute("select sum(x) from t").fetchone() == (6,)
    assert reply["output"] == "   total\n0      6\n"


def modules_sent_along(reply):
    """A traceback through a module that came as a file shows its frames."""
    error = reply["error"]
    assert reply["output"] == "21.0\n7 regions\n"
    assert error["type"] == "ZeroDivisionError" and error["line"] == 6
    assert "return total / count" in error["traceback"]
    assert "lib/ratios.py" in error["traceback"]
    assert "/usr/" not in error["traceback"]


def copies(reply):
    assert reply["output"] == "[1, 2, 3] [1, 2, 3, 4] [9] True\n3 5\n"
    assert reply["result"] == "{'open': '2024-01-02', 'pd': 3}"


def logged(reply):
    assert reply["output"] == (
        "INFO main: start\nloading\r 50%\r100%\nWARNING main: 2 rows bad\n"
        "done\n")


def parallel(reply):
    assert reply["output"].splitlines() == [
        "[0, 1, 4, 9, 16]", "[1.0, 2.0, 3.0]", "3 4.5", "True"]


def exit_of_main(reply):
    assert reply["error"]["kind"] == "exit" and reply["exit_code"] == 2
    assert reply["output"] == "usage: report FILE\n"
    assert "sys.exit(2)" in reply["error"]["message"]


def wide(reply):
    assert "[   0    1    2 ... 4997 4998 4999]" in reply["output"]
    assert re.search(r"^0 +ARR +-1.50 +0 +1 .* 11$", reply["output"], re.M)
    assert "[200 rows x 2 columns]" in reply["result"]
    assert "198" in reply["result"] and "150" not in reply["result"]


def words(reply):
    assert reply["output"].splitlines()[:3] == [
        "0.3 1/2", "6.28", "regex: too slow"]
    assert "main.py:15: UserWarning: watch out" in reply["output"]
    assert reply["result"] == "Größe(2.5)"


def caused(reply):
    error = reply["error"]
    assert (error["type"], error["line"]) == ("RuntimeError", 7)
    assert error["message"] == "bad table"
    cause, between, effect = error["traceback"].partition(
        "direct cause of the following exception")
    assert "ValueError: All arrays" in cause and between
    assert "main.py\", line 5" in cause and "main.py\", line 7" in effect
    assert "rows 3 to 5" in effect
    assert "/usr/" not in error["traceback"]


def grouped(reply):
    error = reply["error"]
    assert error["type"] == "ExceptionGroup"
    for part in "price < 0", "'qty'", "line 5", "line 7":
        assert part in error["traceback"]


def unclosed(reply):
    error = reply["error"]
    assert (error["type"], error["line"]) == ("SyntaxError", 3)
    assert "'(' was never closed" in error["message"]
    *_, source, caret, _ = error["traceback"].rstrip().splitlines()
    assert source.strip().startswith("totals = df.groupby(")
    assert source[caret.index("^")] == "("
    assert reply["output"] == ""  # nothing ran


def unindented(reply):
    error = reply["error"]
    assert (error["type"], error["line"]) == ("IndentationError", 2)
    assert "line 1" in error["message"]


def not_installed(reply):
    """A library that is not here: what is, and no wild guess."""
    message = reply["error"]["message"]
    assert "plotly" in message and "matplotlib" in message
    assert "Did you mean" not in message


CJK = r"""
import matplotlib.pyplot as plt

def chart(title):
    fig, ax = plt.subplots()
    ax.plot([-1, 0, 1], [1, 0, 1])
    ax.set_title(title + r" $R^2=0.98$")

chart("拟合优度")
chart("价格收益")
plt.show()
"""

FONT = """
import matplotlib.pyplot as plt
plt.rcParams["font.sans-serif"] = ["SimHei"]
plt.rcParams["axes.unicode_minus"] = False
"""

def rows_of_both(reply):
    assert reply["output"] == "[(1,), (2,)]\n", reply["output"]


ODDITIES = [
    ("a_database_of_two_processes", """import multiprocessing, sqlite3
wal = sqlite3.connect("wal.db")
wal.execute("PRAGMA locking_mode=EXCLUSIVE"), wal.execute("PRAGMA journal_mode=WAL")
wal.execute("CREATE TABLE t(x)"), wal.commit()
db = sqlite3.connect("a.db")
db.execute("CREATE TABLE t(x)"), db.execute("INSERT INTO t VALUES(1)"), db.commit()
def insert():
    other = sqlite3.connect("a.db")
    other.execute("INSERT INTO t VALUES(2)"), other.commit()
process = multiprocessing.Process(target=insert)
process.start(), process.join()
print(db.execute("SELECT x FROM t").fetchall())
""", {}, rows_of_both),
    ("shown_between", """
import numpy as np
import matplotlib.pyplot as plt
x = np.linspace(0, 6, 100)
plt.plot(x, np.sin(x))
plt.title("Sine")
plt.show()

plt.plot(x, np.cos(x))
plt.title("Cosine")
plt.show()
""", {}, two_curves),
    ("shown_then_cleared", """
import matplotlib.pyplot as plt
plt.plot([1, 3, 2], label="first")
plt.legend()
plt.show()
plt.close()

plt.bar(["a", "b"], [1, 2])
plt.show()
plt.clf()
""", {}, shown_then_cleared),
    ("figures_in_threads", """
import threading
import matplotlib.pyplot as plt

def draw(n):
    fig, ax = plt.subplots(figsize=(6 + n, 4))
    ax.plot(range(n + 2))

for n in range(3):
    t = threading.Thread(target=draw, args=(n,))
    t.start()
    t.join()
""", {}, three_in_order),
    ("object_oriented", """
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

def chart():
    fig = Figure(figsize=(4, 3), layout="constrained", dpi=72)
    FigureCanvasAgg(fig)
    ax = fig.add_subplot(projection="polar")
    ax.plot([0, 1, 2], [1, 2, 3])
    return fig

charts = [chart()]
""", {}, object_oriented),
    ("cjk_with_mathtext", CJK, {}, cjk),
    ("cjk_with_mathtext_and_its_font", FONT + CJK, {}, cjk),
    ("files_of_all_kinds", """
import gzip, json, os, shutil, sqlite3, tempfile, zipfile
from pathlib import Path
import pandas as pd

out = Path("out")
out.mkdir(exist_ok=True)
f = open(out / "log.txt", "w")
f.write("héllo\\n")
f.flush()
with zipfile.ZipFile("archive.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.write(out / "log.txt", "log.txt")
df = pd.DataFrame({"x": [1, 2, 3]})
df.to_csv(out / "series.csv.gz", index=False)
json.dump({"mean": df.x.mean(), "n": len(df)},
          open("out/results.json", "w"))
conn = sqlite3.connect("sales.db")
df.to_sql("t", conn, index=False)
print(pd.read_sql("select sum(x) as total from t", conn))
with tempfile.TemporaryDirectory() as tmp:
    Path(tmp, "scratch.bin").write_bytes(os.urandom(64))
""", {}, written),
    ("context_shadows_and_copies", """
import copy
fresh = copy.deepcopy(rows)
fresh.append(4)
rows_before = list(rows)
context["extra"] = [9]
print(rows_before, fresh, context["extra"], context["rows"] is rows)
import builtins
print(pd, builtins.max([pd, 5]))
{"open": open, "pd": pd}
""", {"context": {"rows": [1, 2, 3], "pd": 3, "open": "2024-01-02",
                  "print_": 1, "sys": "x", "json": [], "os": None}}, copies),
    ("logging_and_progress", """
import logging, sys
logging.basicConfig(level=logging.INFO,
                    format="%(levelname)s %(name)s: %(message)s")
logger = logging.getLogger("main")
logger.info("start")
sys.stdout.write("loading")
for i in (50, 100):
    print(f"\\r{i:3d}%", end="", flush=True)
print()
logger.warning("%d rows bad", 2)
logger.debug("hidden")
print("done", file=sys.stderr)
""", {}, logged),
    ("pool_and_subprocess", """
import subprocess, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool, cpu_count
import numpy as np

def square(x):
    return x * x

def root(x):
    return float(np.sqrt(x))

if __name__ == "__main__":
    with Pool(2) as pool:
        print(pool.map(square, range(5)))
    with ProcessPoolExecutor(max_workers=2) as ex:
        print(list(ex.map(root, [1, 4, 9])))
    done = subprocess.run(
        [sys.executable, "-c",
         "import numpy as np; print(np.arange(3).sum(), np.mean([4, 5]))"],
        capture_output=True, text=True, check=True)
    print(done.stdout.strip())
    print(cpu_count() >= 1)
""", {}, parallel),
    ("wide_arrays_and_frames", """
import numpy as np
import pandas as pd
np.set_printoptions(suppress=True, precision=2)
pd.set_option("display.max_columns", None, "display.width", 200)
print(np.arange(5000))
print(pd.DataFrame({"stage": ["ARR", "NRR"], "value": [-1.5, 2.25],
                    **{f"month_{i}": [i, i + 1] for i in range(12)}})
      .to_string(float_format="%8.2f"))
pd.DataFrame({"n": range(200), "sq": np.arange(200) ** 2})
""", {}, wide),
    ("words_and_numbers", """
import re, signal, warnings
from decimal import Decimal
from fractions import Fraction
print(sum([Decimal("0.1")] * 3), Fraction(1, 3) + Fraction(1, 6))
π, größe = 3.14, 2
print(f"{π * größe:.2f}")
def too_slow(*_):
    raise TimeoutError("too slow")
signal.signal(signal.SIGALRM, too_slow)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    re.match(r"(a+)+$", "a" * 50 + "b")
except TimeoutError as e:
    print("regex:", e)
warnings.warn("watch out")
class Größe:
    def __init__(self, wert): self.wert = wert
    def __repr__(self): return f"Größe({self.wert})"
Größe(2.5)
""".lstrip(), {}, words),
]

def says_exclusive(reply):
    assert "locking_mode=EXCLUSIVE" in reply["error"]["message"]


WRONG = [
    ("database_that_asks_for_locks", """import sqlite3
db = sqlite3.connect("a.db")
db.execute("PRAGMA journal_mode=WAL")
db.execute("CREATE TABLE t(x)")
""", {}, says_exclusive),
    ("exit_of_main", """
import argparse, sys

def main(argv=None) -> int:
    args = sys.argv[1:] if argv is None else argv
    if not args:
        print("usage: report FILE")
        return 2
    return 0

if __name__ == "__main__":
    sys.exit(main())
""", {}, exit_of_main),
    ("modules_sent_along", """from pathlib import Path
import pricing
from lib import ratios
print(pricing.net(25, 0.16))
print(len(Path("data/2024/regions.txt").read_text().split()), "regions")
ratios.average(5, 0)
""", {"files": [
        text_file("pricing.py", "def net(p, d):\n    return p * (1 - d)\n"),
        text_file("lib/ratios.py",
                  "def average(total, count):\n    return total / count\n"),
        text_file("data/2024/regions.txt", "a b c d e f g\n")]},
     modules_sent_along),
    ("exception_with_cause", """import pandas as pd

def load(data):
    try:
        return pd.DataFrame(data)
    except ValueError as e:
        raise RuntimeError("bad table") from e

try:
    load({"a": [1, 2], "b": [1]})
except RuntimeError as e:
    e.add_note("rows 3 to 5")
    raise
""", {}, caused),
    ("exception_group", """def check(row):
    problems = []
    for column in "price", "qty":
        try:
            row[column] > 0 or fail(column)
        except (KeyError, ValueError) as e: problems.append(e)
    if problems: raise ExceptionGroup("invalid row", problems)
def fail(column):
    raise ValueError(f"{column} < 0")
check({"price": -1})
""", {}, grouped),
    ("unclosed_bracket", """import pandas as pd
print("never printed")
totals = df.groupby(["region", "product"].sum()
print(totals)
""", {}, unclosed),
    ("missing_body", """def main():
print("hello")
""", {}, unindented),
    ("library_that_is_not_installed", """
import pandas as pd
import plotly.express as px
px.bar(x=[1], y=[2]).show()
""", {}, not_installed),
]


def parametrize(cases):
    return pytest.mark.parametrize("code, sent, holds", [
        pytest.param(*case, id=name) for name, *case in cases])


@parametrize(ODDITIES)
def test_oddity(service, code, sent, holds):
    reply = service.run(code, **sent)
    assert reply["error"] is None, reply["error"]
    holds(reply)


@parametrize(WRONG)
def test_wrong(service, code, sent, holds):
    reply = service.run(code, **sent)
    assert reply["error"] is not None
    holds(reply)

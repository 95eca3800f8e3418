"""The object `fmp`: what it understands, asks, and makes of the answers.

Where answers are needed, a thread speaks the worker's half of the wire over
a socket pair, and serves rows under the API's own limits.
"""

import contextlib
import datetime as dt
import inspect
import json
import multiprocessing
import pathlib
import pickle
import re
import socket
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "child"))

from sandbox import errors  # noqa: E402
from sandbox.fmp import channel as fmp_channel  # noqa: E402
from sandbox.fmp import errors as fmp_errors  # noqa: E402
from sandbox.fmp import shape as fmp_shape  # noqa: E402
from sandbox.fmp import values  # noqa: E402
from sandbox.fmp import FMP, hint_field  # noqa: E402
from sandbox.fmp.arguments import SYNONYMS, read  # noqa: E402
from sandbox.fmp.repairs import pieces_of  # noqa: E402
from sandbox.fmp.request import valid  # noqa: E402
from sandbox.fmp.table import table  # noqa: E402

ENDPOINTS = list(table().endpoints.values())
TODAY = dt.date.today()
DAY = dt.timedelta(1)
dates = st.dates(dt.date(1950, 1, 1), dt.date(2100, 12, 31))


def request(method, *args, **kwargs):
    endpoint, choice = table().resolve(method)
    return read(endpoint, choice, args, kwargs)


def refused(method, *args, **kwargs):
    """What is said of a call that must be refused."""
    with pytest.raises(fmp_errors.FMPParamError) as caught:
        request(method, *args, **kwargs)
    return str(caught.value)


# The worker's half of the wire

class Worker(threading.Thread):
    """Answers calls by answer(path, parameters): rows, bytes, a failure's
    name, or (status, text); None leaves a call open."""

    def __init__(self, answer):
        super().__init__(daemon=True)
        self.answer = answer
        self.socket, theirs = socket.socketpair(socket.AF_UNIX,
                                                socket.SOCK_SEQPACKET)
        self.calls = []
        self.client = FMP()
        self.client._channel = fmp_channel.Channel(theirs.detach())

    def run(self):
        with contextlib.suppress(OSError):
            while packet := self.socket.recv(fmp_channel.REQUEST_MAX + 1):
                call = json.loads(packet)
                self.calls.append((call["path"], call["parameters"]))
                answered = self.answer(call["path"], call["parameters"])
                if answered is not None:
                    self.reply(call["call"], answered)

    def reply(self, number, answered, **more):
        status, failure = 200, None
        if isinstance(answered, str):
            status, failure, answered = 0, answered, b""
        elif isinstance(answered, tuple):
            status, text = answered
            answered = text.encode()
        elif not isinstance(answered, bytes):
            answered = json.dumps(answered).encode()
        self.head(number, status, len(answered), failure=failure, **more)
        for at in range(0, len(answered), 65536):
            self.data(number, answered[at:at + 65536])

    def head(self, number, status, size, **more):
        head = {"call": number, "status": status, "size": size, "ms": 1,
                "type": "application/json; charset=utf-8", "cached": False,
                "stale": False, "retry_after": None, "failure": None,
                "message": None, **more}
        self.socket.send(json.dumps(head).encode())

    def data(self, number, part):
        self.socket.send(b"D" + number.to_bytes(4, "little") + part)


@pytest.fixture
def serve():
    """serve(answer) gives (fmp, the calls that come in)."""
    workers = []

    def start(answer):
        worker = Worker(answer)
        workers.append(worker)
        worker.start()
        return worker.client, worker.calls

    fmp_errors.warned.clear()
    yield start
    for worker in workers:
        worker.socket.shutdown(socket.SHUT_RDWR)
        worker.join(10)
        assert not worker.is_alive()


def day_rows(first, last, **more):
    """A row for each day, newest first."""
    days = (last - first).days
    return [{"symbol": "AAPL", "date": str(last - n * DAY),
             "close": 100 + days - n, **more} for n in range(days + 1)]


def within(rows, parameters):
    """What from and to leave."""
    return [row for row in rows if parameters.get("from", "0") <=
            row["date"][:10] <= parameters.get("to", "9")]


def quotes(path, parameters):
    names = parameters.get("symbols") or parameters["symbol"]
    known = {"AAPL": 1.5, "MSFT": 2.5, "BRK-B": 3.5, "BTCUSD": 4.5}
    return [{"symbol": name, "price": known[name]}
            for name in names.split(",") if name in known]


# Names

@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.name)
def test_every_name_leads_to_its_endpoint(endpoint):
    paths = [endpoint.path]
    if endpoint.choice:
        paths = [endpoint.path_for(choice)
                 for choice in endpoint.values[endpoint.choice]]
    names = [endpoint.name, *endpoint.data["aliases"],
             *(re.sub(r"\W", "_", path) for path in paths)]
    for name in names:
        for spelling in (name, "get_" + name, "fetch_" + name):
            assert table().resolve(spelling)[0] is endpoint, spelling


def test_no_name_means_two_endpoints():
    seen = {}
    for endpoint in ENDPOINTS:
        for name in {endpoint.name, *endpoint.data["aliases"]}:
            assert seen.setdefault(name, endpoint) is endpoint, name
    assert len(ENDPOINTS) == 128


@pytest.mark.parametrize("name, meant", [
    ("getHistoricalPriceFull", "historical_prices"),
    ("stock_screener", "screener"), ("sp500_constituent",
                                     "sp500_constituents"),
    ("dividend", "dividends"), ("ratio", "ratios"), ("actives",
                                                     "most_active"),
    ("get_quotes", "batch_quote"), ("balance_sheets", "balance_sheet"),
    ("company_profiles", "profile"), ("industry", "industries"),
])
def test_other_names_are_understood(name, meant):
    assert table().resolve(name)[0].name == meant


def test_an_indicator_is_a_method_of_its_own():
    assert table().resolve("get_rsi") == (table()["technical_indicator"],
                                          "rsi")
    assert table().resolve("standard_deviation")[1] == "standarddeviation"


def test_an_unknown_name_comes_with_near_ones_and_ways_out():
    with pytest.raises(AttributeError) as caught:
        FMP().histrical_prices
    text = str(caught.value)
    assert "historical_prices" in text and "fmp.get(path" in text
    assert "fmp.help('word')" in text
    assert not hasattr(FMP(), "_repr_html_")


def test_the_object_describes_itself():
    fmp = FMP()
    assert "128 methods" in repr(fmp) and "fmp.help" in repr(fmp)
    assert {"quote", "get", "df", "help", "FMPError"} <= set(dir(fmp))
    for endpoint in ENDPOINTS:
        method = getattr(fmp, endpoint.name)
        assert method is getattr(fmp, endpoint.name)
        text = inspect.getdoc(method)
        for name in inspect.signature(method).parameters:
            assert re.search(rf"(?m)^    {name}\b", text), name
        for field in endpoint.fields:
            assert field in text or field == "data"
        assert "Example row: {" in text and endpoint.units in " ".join(
            text.split())


def test_help_finds_by_word_and_by_name(capsys):
    fmp = FMP()
    fmp.help("insider trades")
    said = capsys.readouterr().out
    assert "fmp.insider_trading" in said
    fmp.help("quote")
    said = capsys.readouterr().out
    assert said.startswith("fmp.quote(symbol") and "epoch seconds" in said
    fmp.help()
    said = capsys.readouterr().out
    assert all(endpoint.name in said for endpoint in ENDPOINTS)
    fmp.help("zzzz")
    assert "fmp.help()" in capsys.readouterr().out


# Dates

@given(dates)
def test_a_date_is_understood_however_it_is_written(day):
    moment = dt.datetime(day.year, day.month, day.day, 23, 59)
    for value in (day, moment, pd.Timestamp(moment), np.datetime64(day),
                  pd.Timestamp(moment, tz="UTC"), str(day), str(moment),
                  moment.isoformat(), day.strftime("%Y/%m/%d"),
                  day.strftime("%Y%m%d"), day.strftime("%B %d, %Y"),
                  day.strftime("%d %b %Y")):
        assert values.date(value) == day, value


@given(st.integers(1950, 2100), st.integers(1, 12))
def test_a_month_or_year_is_its_first_or_last_day(year, month):
    text = f"{year}-{month:02}"
    assert values.date(text) == dt.date(year, month, 1)
    last = values.date(text, last=True)
    assert (last + DAY).day == 1 and last.month == month
    for whole_year in (year, str(year)):
        assert values.date(whole_year) == dt.date(year, 1, 1)
        assert values.date(whole_year, last=True) == dt.date(year, 12, 31)


@given(st.text(max_size=20))
def test_what_is_no_date_is_refused(text):
    try:
        found = values.date(text)
    except ValueError as error:
        assert "YYYY-MM-DD" in str(error)
    else:
        assert type(found) is dt.date


@pytest.mark.parametrize("value", [
    "01/02/2024", "2024-13-01", "2024-02-30", "last week", "", None, True,
    1.5, pd.NaT, 12, object()])
def test_a_doubtful_date_is_refused(value):
    with pytest.raises(ValueError):
        values.date(value)


@pytest.mark.parametrize("words", [
    ("start", "end"), ("from_date", "to_date"), ("start_date", "end_date"),
    ("from_", "to"), ("from", "to_"), ("fromDate", "toDate"),
    ("begin", "until")])
def test_every_spelling_of_a_range(words):
    given_ = dict(zip(words, ("2024-01-02", dt.date(2024, 6, 28))))
    found = request("historical_prices", "AAPL", **given_)
    assert (found.start, found.end) == (dt.date(2024, 1, 2),
                                        dt.date(2024, 6, 28))


def test_a_range_by_place():
    found = request("historical_prices", "AAPL", "2024-01-02",
                    pd.Timestamp("2024-06-28"))
    assert found.start == dt.date(2024, 1, 2)
    assert found.end == dt.date(2024, 6, 28)
    assert request("historical_prices", "AAPL", 2023, 2023).end == dt.date(
        2023, 12, 31)
    assert request("earnings_calendar", "2024-01-02").start == dt.date(
        2024, 1, 2)


@pytest.mark.parametrize("args, kwargs, start", [
    ((), {"days": 30}, TODAY - 30 * DAY), ((30,), {}, TODAY - 30 * DAY),
    ((), {"years": 1}, TODAY - 365 * DAY),
    ((), {"days": 30, "end": "2024-06-30"}, dt.date(2024, 5, 31)),
    ((), {"period": "5d"}, TODAY - 5 * DAY),
    ((), {"period": "1y"}, TODAY - 365 * DAY),
    ((), {"period": "ytd"}, dt.date(TODAY.year, 1, 1)),
    ((), {"period": "max"}, dt.date(1950, 1, 1)),
])
def test_lengths_of_daily_prices(args, kwargs, start):
    found = request("historical_prices", "AAPL", *args, **kwargs)
    assert found.start == start


def test_lengths_that_mean_something_else():
    ahead = request("earnings_calendar", days=7)
    assert (ahead.start, ahead.end) == (TODAY, TODAY + 7 * DAY)
    reports = request("income_statement", "AAPL", "quarter", years=3)
    assert reports.limit == 12 and reports.start is None


@pytest.mark.parametrize("kwargs, said", [
    ({"start": "2024-02-01", "end": "2024-01-01"}, "is after end"),
    ({"days": 0}, "more than 0"), ({"days": "many"}, "no number"),
    ({"start": "2024", "end": "2025", "days": 3}, "one too many"),
    ({"days": 1e12}, "too long"), ({"limit": 0}, "at least 1"),
    ({"limit": 2.5}, "no whole number"), ({"start": "soon"}, "no date"),
    ({"start": "2024", "from": "2023"}, "'start' twice"),
    ({"start": "0001-01-01"}, "no date"), ({"end": "9999-12-31"}, "no date"),
])
def test_ranges_that_make_no_sense_are_refused(kwargs, said):
    assert said in refused("historical_prices", "AAPL", **kwargs)


@given(dates, dates, st.integers(1, 400))
def test_pieces_cover_a_range_once(one, other, days):
    start, end = sorted((one, other))
    pieces = pieces_of(start, end, days)
    assert pieces[0][1] == end and pieces[-1][0] == start
    for first, last in pieces:
        assert 0 <= (last - first).days < days
    for (newer, _), (_, older) in zip(pieces, pieces[1:]):
        assert newer - older == DAY


# Other arguments

@pytest.mark.parametrize("word, meant", [
    ("annual", "annual"), ("Annually", "annual"), ("yearly", "annual"),
    ("FY", "FY"), ("quarter", "quarter"), ("Quarterly", "quarter"),
    ("Q", "quarter"), ("q3", "Q3")])
def test_every_spelling_of_a_period(word, meant):
    for found in (request("income_statement", "AAPL", period=word),
                  request("income_statement", "AAPL", word)):
        assert found.values["period"] == meant


@pytest.mark.parametrize("word, meant", [
    ("1min", "1min"), ("1m", "1min"), ("5m", "5min"), ("15 minutes", "15min"),
    ("30T", "30min"), ("60m", "1hour"), ("1H", "1hour"), ("hourly", "1hour"),
    ("4h", "4hour")])
def test_every_spelling_of_an_interval(word, meant):
    for found in (request("intraday", "AAPL", interval=word),
                  request("intraday", "AAPL", timeframe=word),
                  request("intraday", "AAPL", word),
                  request("historical_prices", "AAPL", interval=word)):
        assert found.endpoint.name == "intraday" and found.choice == meant


@pytest.mark.parametrize("method, args, kwargs, meant", [
    ("intraday", ("AAPL",), {"interval": "1d"}, "historical_prices"),
    ("intraday", ("AAPL", "daily"), {}, "historical_prices"),
    ("historical_prices", ("AAPL",), {"interval": "1d"}, "historical_prices"),
    ("historical_prices", ("AAPL",), {"adjusted": True},
     "historical_prices_adjusted"),
    ("historical_prices", ("AAPL",), {"auto_adjust": False},
     "historical_prices"),
    ("income_statement", ("AAPL", "ttm"), {"limit": 3},
     "income_statement_ttm"),
    ("ratios", ("AAPL",), {"period": "TTM", "limit": 3}, "ratios_ttm"),
    ("key_metrics", ("AAPL",), {"period": "ttm"}, "key_metrics_ttm"),
    ("stock_news", (), {"limit": 3}, "stock_news_latest"),
])
def test_a_call_that_is_about_another_endpoint(method, args, kwargs, meant):
    assert request(method, *args, **kwargs).endpoint.name == meant


def test_refresh_is_kept_on_every_way():
    for method, kwargs in (("quote", {}), ("historical_prices",
                                           {"adjusted": True}),
                           ("ratios", {"period": "ttm"})):
        assert request(method, "AAPL", refresh=True, **kwargs).refresh
        assert not request(method, "AAPL", **kwargs).refresh


@pytest.mark.parametrize("value, names", [
    ("aapl", ["AAPL"]), (" $tsla ", ["TSLA"]), ("AAPL, MSFT", ["AAPL",
                                                               "MSFT"]),
    (["aapl", "msft", "AAPL"], ["AAPL", "MSFT"]), (("^GSPC",), ["^GSPC"]),
    (pd.Series(["KO", "PEP"]), ["KO", "PEP"]), (np.array(["KO"]), ["KO"]),
    (pd.Index(["RY.TO"]), ["RY.TO"]), ({"BRK-B": 1}, ["BRK-B"]),
    ((name for name in ["EURUSD"]), ["EURUSD"])])
def test_symbols_however_they_come(value, names):
    assert values.symbols(value)[0] == names


@pytest.mark.parametrize("word", ["symbol", "ticker", "tickers", "symbols"])
def test_every_word_for_a_symbol(word):
    assert request("quote", **{word: "AAPL"}).symbols == ["AAPL"]
    assert request("stock_news", **{word: ["AAPL"]}).symbols == ["AAPL"]


@pytest.mark.parametrize("value", ["", "A" * 40, "AA PL", "AAPL\n\0", 5, [],
                                   [None], ["AAPL", 3], "Ä"])
def test_what_is_no_symbol_is_refused(value):
    assert "quote" in refused("quote", value)


@pytest.mark.parametrize("asked, other", [
    ("BRK.B", "BRK-B"), ("BRK/B", "BRK-B"), ("BTC-USD", "BTCUSD"),
    ("EUR/USD", "EURUSD"), ("EURUSD=X", "EURUSD"), ("GC=F", "GCUSD")])
def test_other_spellings_of_a_symbol(asked, other):
    assert list(values.respellings(asked)) == [other]
    assert list(values.respellings(other)) == []


def test_an_unknown_argument_is_refused_with_the_valid_ones():
    text = refused("historical_prices", "AAPL", timeseries=30)
    assert text.startswith(
        "historical_prices() got unknown argument 'timeseries'. Valid: "
        "symbol, start, end, ")
    assert text.endswith("Did you mean days=?")
    assert "Did you mean sector=?" in refused("screener", sectr="Energy")
    assert "Valid: symbol, refresh." in refused("quote", "AAPL", foo=1)
    assert "foo" in refused("quote", "AAPL", foo=None)


def test_a_value_that_fits_nowhere_is_refused():
    assert "['AAPL', 'MSFT']" in refused("historical_prices", "AAPL", "MSFT")
    assert "needs symbol: fmp.quote('AAPL')" in refused("quote")
    assert "year and quarter" in refused("transcript", "AAPL")
    assert "'5min'" in refused("intraday", "AAPL", "2min")
    assert "resample" in refused("historical_prices", "AAPL", interval="1wk")
    assert "'1M'" in refused("intraday", "AAPL", interval="1M")
    assert "'quarter'" in refused("income_statement", "AAPL", period="bogus")
    assert "ewm" in refused("technical_indicator", "AAPL", "macd")


KEYWORDS = sorted({name for endpoint in ENDPOINTS for name in valid(endpoint)}
                  | set(" ".join(SYNONYMS.values()).split()))


@given(st.dictionaries(
    st.sampled_from(KEYWORDS) | st.text(min_size=1, max_size=12),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(),
              st.lists(st.text(max_size=5), max_size=3), dates,
              st.sampled_from(["AAPL", "quarter", "ttm", "1y", "5min", "1d",
                               "2024-01-01", "GDP", "rsi"])), max_size=5),
    st.sampled_from(ENDPOINTS))
def test_whatever_is_passed_is_understood_or_refused(kwargs, endpoint):
    try:
        found = read(endpoint, None, (), kwargs)
    except fmp_errors.FMPParamError as error:
        assert endpoint.name in str(error)
    else:
        assert all(isinstance(text, str) for text in found.params().values())


@given(st.sampled_from(ENDPOINTS), st.lists(st.one_of(
    st.sampled_from(["AAPL", "annual", "5min", "2024-01-01", "GDP", "rsi"]),
    st.integers(-5, 3000), st.booleans(), st.floats(), dates), max_size=4))
def test_whatever_is_passed_by_place_is_understood_or_refused(endpoint, args):
    with contextlib.suppress(fmp_errors.FMPParamError):
        read(endpoint, None, args, {})


def test_a_key_is_not_sent_on():
    found = request("quote", "AAPL", apikey="secret", api_key="secret")
    assert found.ignored_key and "secret" not in str(found.params())


@pytest.mark.parametrize("kwargs", [
    {"market_cap_more_than": 2e11}, {"marketCapMoreThan": 200_000_000_000},
    {"min_market_cap": "2e11"}, {"market_cap_min": 2e11},
    {"market_cap_gt": np.float64(2e11)}])
def test_bounds_of_the_screener(kwargs):
    assert request("screener", **kwargs).params() == {
        "marketCapMoreThan": "200000000000"}


def test_other_kinds_of_arguments():
    found = request("screener", is_etf=False, isActivelyTrading=1,
                    beta_less_than=0.5)
    assert found.params() == {"isEtf": "false", "isActivelyTrading": "true",
                              "betaLowerThan": "0.5"}
    assert request("search_cik", 320193).params() == {"cik": "0000320193"}
    assert request("transcript", "AAPL", year=2024, quarter="Q3").params(
        ) == {"symbol": "AAPL", "year": "2024", "quarter": "3"}
    assert request("economic_indicator", "unemployment_rate").values == {
        "name": "unemploymentRate"}
    assert "Did you mean 'inflation'" in refused("economic_indicator",
                                                 "Inflaton")
    assert request("analyst_estimates", "AAPL").values == {"period": "annual"}
    for found in (request("rsi", "AAPL", period=10),
                  request("technical_indicator", "AAPL", "rsi", 10),
                  request("technical_indicator", "rsi", "AAPL", length=10),
                  request("technical_indicators", "AAPL", type="RSI",
                          time_period=10)):
        assert (found.choice, found.symbols) == ("rsi", ["AAPL"])
        assert found.values == {"periodLength": 10, "timeframe": "1day"}


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15,
                 max_value=1e15))
def test_numbers_are_sent_without_an_exponent(value):
    text = values.number(value, "x")
    assert re.fullmatch(r"-?\d+(\.\d*)?", text)
    assert abs(float(text) - value) <= 1e-11


# Shapes

def prices(*days, **more):
    return [{"symbol": "AAPL", "date": day, "open": 1, "close": n, **more}
            for n, day in enumerate(days)]


EOD = table()["historical_prices"]
FRAME = fmp_shape.frame(EOD, prices("2025-01-03", "2025-01-02", "2024-12-31"))
IDIOMS = {
    "column": lambda df: df["date"].iloc[0],
    "sort_values": lambda df: df.sort_values("date"),
    "set_index": lambda df: df.set_index("date")["close"],
    "groupby": lambda df: df.groupby("date")["close"].sum(),
    "merge": lambda df: df.merge(df, on="date"),
    "reset_index": lambda df: df.reset_index(drop=True),
    "loc year": lambda df: df.loc["2025"],
    "loc slice": lambda df: df.loc["2024-12-31":"2025-01-02"],
    "resample": lambda df: df["close"].resample("D").last(),
    "index year": lambda df: df.index[-1].year,
    "dt": lambda df: df["date"].dt.year,
    "compare": lambda df: df[df["date"] >= "2025-01-01"],
    "pivot": lambda df: df.pivot(index="date", columns="symbol",
                                 values="close"),
    "plot": lambda df: list(zip(df["date"], df["close"])),
    "melt": lambda df: df.melt(id_vars="date", value_vars=["close"]),
    "to_datetime": lambda df: pd.to_datetime(df["date"]),
    "rolling": lambda df: df["close"].rolling("2D").mean(),
}


@pytest.mark.parametrize("idiom", IDIOMS)
def test_every_usual_idiom_works_on_a_dated_frame(idiom):
    assert IDIOMS[idiom](FRAME.copy()) is not None


def test_a_dated_frame():
    assert list(FRAME["close"]) == [2, 1, 0]
    assert isinstance(FRAME.index, pd.DatetimeIndex)
    assert FRAME.index.name is None
    assert FRAME["date"].dtype.kind == "M"
    assert str(FRAME["open"].dtype) == "float64"


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.name)
def test_an_example_of_each_endpoint(endpoint):
    row = endpoint.data["example"]
    found = fmp_shape.frame(endpoint, [row, dict(row)])
    assert len(found) == 2
    for name, kind in endpoint.kinds.items():
        if name not in found:
            assert name == "data" or name not in row
            continue
        dtype = found[name].dtype
        if kind == "date":
            assert dtype.kind == "M"
        elif kind == "percent" or "number" in endpoint.types[name]:
            assert dtype.kind in "fi"
        elif kind == "int" and row[name] is not None:
            assert dtype.kind == "i"
    assert isinstance(found.index, pd.DatetimeIndex) == endpoint.is_dated
    if endpoint.is_dated:
        assert found["date"].notna().all()
    empty = fmp_shape.frame(endpoint, [])
    assert len(empty) == 0
    assert set(endpoint.fields) - {"data"} <= set(empty.columns)
    assert isinstance(empty.index, pd.DatetimeIndex) == endpoint.is_dated
    if endpoint.is_record:
        record = fmp_shape.record(endpoint, row)
        assert json.loads(json.dumps(record)) == dict(record)
        assert list(record) == list(row)


def test_what_the_api_spells_as_text():
    profile = fmp_shape.record(table()["profile"], {
        "symbol": "AAPL", "fullTimeEmployees": "164000", "phone": "",
        "isin": "N/A", "ceo": "None"})
    assert profile["fullTimeEmployees"] == 164000
    assert profile["phone"] is profile["isin"] is profile["ceo"] is None
    countries = fmp_shape.frame(table()["etf_country_weightings"], [
        {"country": "US", "weightPercentage": "97.29%"},
        {"country": "Other", "weightPercentage": "N/A"}])
    assert countries["weightPercentage"].iloc[0] == 97.29
    assert countries["weightPercentage"].isna().iloc[1]
    targets = fmp_shape.record(table()["price_target_summary"],
                               {"publishers": '["A","B"]'})
    assert targets.publishers == ["A", "B"]
    trades = fmp_shape.frame(table()["senate_trades"], [
        {"symbol": "AAPL", "capitalGainsOver200USD": "False"}])
    assert not trades["capitalGainsOver200USD"].iloc[0]


def test_numbers_too_large_for_64_bits():
    found = fmp_shape.frame(table()["crypto_list"], [
        {"symbol": "A", "circulatingSupply": 10 ** 30, "totalSupply": None},
        {"symbol": "B", "circulatingSupply": 1.5, "totalSupply": 3}])
    assert found["circulatingSupply"].tolist() == [1e30, 1.5]
    assert found["totalSupply"].isna().tolist() == [True, False]
    years = fmp_shape.frame(table()["income_statement"], [
        {"date": "2024-09-28", "fiscalYear": "2024"},
        {"date": "2023-09-30", "fiscalYear": ""}])
    assert years["fiscalYear"].isna().tolist() == [True, False]


def test_dates_that_are_none():
    found = fmp_shape.frame(table()["dividends"], [
        {"date": "2024-05-10", "paymentDate": "9999-12-31"},
        {"date": "2024-02-09", "paymentDate": "0000-00-00"},
        {"date": "2023-11-10", "paymentDate": "2023-11-16T05:00:00.000Z"}])
    assert found["paymentDate"].isna().tolist() == [False, True, True]
    assert found["paymentDate"].iloc[0] == pd.Timestamp("2023-11-16 05:00")


def test_nested_rows_become_columns():
    found = fmp_shape.frame(table()["revenue_by_product"], [
        {"symbol": "A", "date": "2024-09-28", "data": {"Mac": 3, "iPad": 4}},
        {"symbol": "A", "date": "2023-09-30", "data": {"Mac": 1}}])
    assert found["Mac"].tolist() == [1, 3]
    assert found["iPad"].isna().tolist() == [True, False]
    assert "data" not in found


@given(st.permutations(range(8)))
def test_rows_come_oldest_first_whatever_their_order(order):
    rows = prices(*(f"2025-01-{n + 1:02}" for n in range(8)))
    found = fmp_shape.frame(EOD, [rows[n] for n in order])
    assert found["close"].tolist() == list(range(8))


def test_rows_of_one_moment_keep_their_order_in_time():
    rows = [{"symbol": "AAPL", "date": "2025-01-02", "newGrade": text}
            for text in ("third", "second", "first")]
    found = fmp_shape.frame(table()["grades"], rows)
    assert found["newGrade"].tolist() == ["first", "second", "third"]
    reports = fmp_shape.frame(table()["financial_reports_dates"], [
        {"fiscalYear": year, "period": period} for year, period in
        ((2024, "FY"), (2023, "Q2"), (2024, "Q1"), (2023, "Q3"))])
    assert reports["period"].tolist() == ["Q2", "Q3", "Q1", "FY"]


rows_of_anything = st.lists(st.dictionaries(
    st.sampled_from(["symbol", "date", "close", "volume", "fiscalYear",
                     "data", "other", "publishedDate", "x y"]),
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats()
                 | st.text(max_size=8),
                 lambda inner: st.lists(inner, max_size=2)
                 | st.dictionaries(st.text(max_size=3), inner, max_size=2),
                 max_leaves=3), max_size=5), max_size=5)


@given(st.sampled_from(ENDPOINTS), rows_of_anything, st.booleans())
def test_any_json_can_be_shaped(endpoint, rows, by_symbol):
    found = fmp_shape.frame(endpoint, rows, by_symbol)
    assert len(found) == len(rows)
    for row in rows:
        assert fmp_shape.record(endpoint, row).keys() == row.keys()


def test_a_record_is_a_dict_and_more():
    quote = fmp_shape.record(table()["quote"], {
        "symbol": "AAPL", "price": 232.8, "changePercentage": 2.1})
    assert quote["price"] == quote.price == quote.get("price") == 232.8
    assert quote[0] is quote and quote[0]["price"] == 232.8
    assert quote.iloc[0]["price"] == quote[-1].price == 232.8
    assert f"{quote['price']:.1f}" == "232.8" and (quote or {}) == quote
    assert json.loads(json.dumps(quote)) == quote
    assert pickle.loads(pickle.dumps(quote)) == quote.copy() == quote
    assert quote.to_frame().loc["AAPL", "price"] == 232.8
    assert pd.DataFrame([quote])["price"].tolist() == [232.8]
    assert {"price", "to_frame"} <= set(dir(quote))
    with pytest.raises(KeyError):
        quote[1]


def test_former_names_of_fields(capsys):
    quote = fmp_shape.record(table()["quote"], {
        "symbol": "AAPL", "price": 232.8, "changePercentage": 2.1})
    assert quote["changesPercentage"] == quote.changesPercentage == 2.1
    assert quote.get("changesPercentage") == 2.1
    fmp_errors.warned.clear()
    assert quote.get("pe") is None and quote.get("nothing", 3) == 3
    assert capsys.readouterr().err == (
        "fmp.quote: there is no 'pe'; use "
        "fmp.ratios_ttm(symbol)['priceToEarningsRatioTTM']\n")
    with pytest.raises(AttributeError, match="fmp.ratios_ttm"):
        quote.pe
    for name, new in (("mktCap", "marketCap"), ("calendarYear", "fiscalYear"),
                      ("adjClose", "historical_prices_adjusted"),
                      ("peRatioTTM", "priceToEarningsRatioTTM"),
                      ("returnOnEquity", "fmp.key_metrics(symbol)")):
        assert new in table().known_field(name)
    assert table().known_field("price") is None


# Errors

def scenario(name):
    return next(one for one in SCENARIOS if one["id"] == name)


SCENARIOS = json.loads((pathlib.Path(__file__).parents[1] / "fmp"
                        / "_errors.json").read_text())
MEANING = {
    "invalid_key": ("FMPAuthError", None),
    "rate_limit": ("FMPRateLimitError", "day"),
    "bandwidth_limit": ("FMPRateLimitError", "bandwidth"),
    "plan_endpoint": ("FMPPlanError", "endpoint"),
    "plan_symbol": ("FMPPlanError", "symbol"),
    "plan_limit_value": ("FMPPlanError", "parameter"),
    "plan_param_value": ("FMPPlanError", "parameter"),
    "plan_endpoint_old": ("FMPPlanError", "endpoint"),
    "plan_endpoint_2021": ("FMPPlanError", "endpoint"),
    "legacy_endpoint": ("FMPPlanError", "legacy"),
    "account_suspended": ("FMPAuthError", None),
    "missing_param": ("FMPParamError", None),
    "page_too_big": ("FMPParamError", None),
    "bad_exchange": ("FMPParamError", None),
    "bad_timeframe": ("FMPParamError", None),
    "unknown_path": ("FMPParamError", None),
    "bad_indicator_name": ("FMPParamError", None),
    "bulk_throttled": ("FMPRateLimitError", "day"),
    "financial_report_miss": ("FMPNotFoundError", None),
    "financial_report_xlsx_miss": ("FMPNotFoundError", None),
}


@pytest.mark.parametrize("name", [one["id"] for one in SCENARIOS])
def test_every_error_of_the_api(serve, name):
    answer = scenario(name)
    fmp, _ = serve(lambda *_: (answer["status"], answer["body"]))
    if name.startswith("unknown_symbol"):
        with pytest.raises(fmp_errors.FMPNotFoundError, match="fmp.search"):
            fmp.quote("NOPE")
        return
    kind, scope = MEANING[name]
    with pytest.raises(fmp_errors.CLASSES[kind]) as caught:
        fmp.quote("AAPL")
    error = caught.value
    assert getattr(error, "scope", None) == scope
    assert error.status == answer["status"] and error.endpoint == "quote"
    assert error.params["symbol"] == "AAPL"
    assert str(error).startswith("quote('AAPL'): ")


@pytest.mark.parametrize("failure, kind, said", [
    ("no_key", "FMPAuthError", "everything else works"),
    ("calls", "FMPRateLimitError", "lists of symbols"),
    ("timeout", "FMPTimeoutError", "Ask for less"),
    ("network", "FMPServerError", "cannot be reached"),
    ("size", "FMPServerError", "32 MiB"),
    ("redirect", "FMPServerError", "redirect"),
    ("refused", "FMPParamError", "refused")])
def test_every_failure_of_a_call(serve, failure, kind, said):
    fmp, _ = serve(lambda *_: failure)
    with pytest.raises(fmp_errors.CLASSES[kind], match=said) as caught:
        fmp.quote("AAPL")
    assert caught.value.status == 0 and caught.value.hint is not (
        failure == "network")


@given(st.integers(100, 599), st.binary(max_size=200))
def test_any_answer_is_json_or_an_error(status, body):
    answer = fmp_channel.Answer()
    answer.begin({"status": status, "type": "", "size": len(body), "ms": 1,
                  "cached": False, "stale": False, "retry_after": None,
                  "failure": None, "message": None})
    answer.add(body)
    try:
        fmp_errors.data_of(answer, "quote('AAPL')")
    except fmp_errors.FMPError as error:
        assert str(error).startswith("quote('AAPL'): ") and "\n" not in str(
            error)
    else:
        assert status == 200
        json.loads(body)


def test_errors_are_what_they_are_documented_to_be():
    fmp = FMP()
    assert issubclass(fmp.FMPParamError, ValueError)
    assert issubclass(fmp.FMPNotFoundError, (LookupError, KeyError))
    for kind in fmp_errors.CLASSES.values():
        assert issubclass(kind, fmp.FMPError)
        assert getattr(fmp, kind.__name__) is kind
        assert str(kind("what. Do this.")) == "what. Do this."
        assert kind("what. Do this.").hint == "Do this."


def test_an_error_comes_without_the_frames_of_the_client(serve):
    fmp, _ = serve(quotes)
    with pytest.raises(fmp.FMPNotFoundError) as caught:
        fmp.quote("NOPE")
    error = caught.value
    assert error.__context__ is None and error.__cause__ is None
    files = {frame.filename.rpartition("/")[2]
             for frame in traceback.extract_tb(error.__traceback__)}
    assert files == {"test_client.py", "__init__.py"}


def test_a_key_error_says_what_became_of_the_field(serve):
    fmp, _ = serve(lambda path, _: quotes(path, _) if path == "quote" else
                   [{"symbol": "AAPL", "date": "2025-01-02", "close": 1}])
    quote, frame = fmp.quote("AAPL"), fmp.historical_prices("AAPL")
    for thing, name, now in (
            (quote, "pe", "fmp.ratios_ttm(symbol)"),
            (frame, "adjClose", "fmp.historical_prices_adjusted(symbol)"),
            (quote, "prise", "Did you mean 'price'?")):
        with pytest.raises(KeyError) as caught:
            thing[name]
        assert now in errors.hint_for(caught.value)
    with pytest.raises(KeyError) as caught:
        {}["nothing of ours"]
    assert hint_field(caught.value, "nothing of ours") is None


# What is asked, and what comes of it

def test_one_symbol_and_several(serve, capsys):
    fmp, calls = serve(quotes)
    assert fmp.quote("aapl").price == 1.5
    found = fmp.quote(["MSFT", "AAPL", "NOPE", "BRK.B"])
    assert found.index.tolist() == ["MSFT", "AAPL", "BRK-B"]
    assert found.loc["AAPL", "price"] == 1.5 and found.index.name is None
    assert [path for path, _ in calls] == ["quote", "batch-quote",
                                           "batch-quote"]
    said = capsys.readouterr().err
    assert "'BRK.B' is 'BRK-B'" in said and "no data for 'NOPE'" in said
    with pytest.raises(fmp.FMPNotFoundError):
        fmp.quote(["NOPE", "NADA"])


def test_no_batches_in_the_plan(serve):
    answer = scenario("plan_endpoint")
    fmp, calls = serve(lambda path, parameters: (
        quotes(path, parameters) if path == "quote"
        else (answer["status"], answer["body"])))
    assert fmp.quote(["AAPL", "MSFT"])["price"].tolist() == [1.5, 2.5]
    assert fmp.batch_quote("MSFT,AAPL")["price"].tolist() == [2.5, 1.5]
    assert [path for path, _ in calls] == [
        "batch-quote", "quote", "quote"] * 2


def test_many_symbols_take_several_batches(serve):
    fmp, calls = serve(lambda _, parameters: [
        {"symbol": name, "price": 1}
        for name in parameters["symbols"].split(",")])
    names = [f"S{n}" for n in range(250)]
    assert fmp.quote(names).index.tolist() == names
    assert len(calls) == 3


def test_another_spelling_is_tried_when_nothing_comes(serve, capsys):
    fmp, calls = serve(quotes)
    assert fmp.quote("BTC-USD")["symbol"] == "BTCUSD"
    assert [sent["symbol"] for _, sent in calls] == ["BTC-USD", "BTCUSD"]
    assert capsys.readouterr().err == (
        "fmp.quote: 'BTC-USD' is 'BTCUSD' to FMP\n")


def test_several_symbols_make_one_long_frame(serve, capsys):
    def answer(_, parameters):
        if parameters["symbol"] == "NOPE":
            return []
        if parameters["symbol"] == "ABROAD":
            refusal = scenario("plan_symbol")
            return refusal["status"], refusal["body"]
        return within(prices("2025-01-03", "2025-01-02"), parameters)

    fmp, _ = serve(answer)
    found = fmp.historical_prices(["MSFT", "NOPE", "ABROAD", "AAPL"],
                                  start="2025-01-01")
    assert found.index.is_monotonic_increasing and len(found) == 4
    said = capsys.readouterr().err
    assert "no data for 'NOPE'" in said
    assert "historical_prices('ABROAD'" in said and "Left out." in said
    with pytest.raises(fmp.FMPPlanError):
        fmp.historical_prices(["ABROAD"])


def test_a_symbol_is_added_where_the_api_leaves_it_out(serve):
    fmp, _ = serve(lambda *_: [{"date": "2025-01-02 09:30:00", "close": 1}])
    found = fmp.intraday(["MSFT", "AAPL"])
    assert found["symbol"].tolist() == ["AAPL", "MSFT"]
    assert fmp.intraday("KO").columns[0] == "symbol"


def test_an_empty_frame_has_its_columns_and_a_reason(serve, capsys):
    fmp, _ = serve(lambda *_: [])
    found = fmp.historical_prices("AAPL", "2031-01-01", "2031-02-01")
    assert found.columns.tolist() == EOD.fields and len(found) == 0
    assert capsys.readouterr().err == (
        "fmp.historical_prices('AAPL', 2031-01-01..2031-02-01): 0 rows "
        "(range in the future?)\n")


def test_a_frame_says_how_it_was_asked(serve):
    fmp, _ = serve(lambda _, sent: within(day_rows(
        dt.date(2024, 1, 1), dt.date(2024, 3, 1)), sent))
    found = fmp.historical_prices("AAPL", "2024-01-10", "2024-02-01")
    assert found.attrs == {
        "endpoint": "historical_prices", "truncated": False, "cached": False,
        "order": "oldest_first", "params": {
            "symbol": "AAPL", "from": "2024-01-10", "to": "2024-02-01"}}


@given(days=st.integers(1, 400), most=st.integers(2, 150))
def test_prices_are_walked_back_over_the_cap(days, most):
    start = dt.date(2024, 1, 1)
    rows = day_rows(start, start + (days - 1) * DAY)
    worker = Worker(lambda _, sent: within(rows, sent)[:most])
    limits, EOD.limits = EOD.limits, {"rows": most}
    worker.start()
    try:
        found = worker.client.historical_prices("AAPL", start=start)
    finally:
        EOD.limits = limits
        worker.socket.shutdown(socket.SHUT_RDWR)
        worker.join(10)
    assert found["close"].tolist() == [100 + n for n in range(days)]


def test_calendars_are_walked_back_through_days_that_are_full(serve):
    days = [f"2025-01-{day:02}" for day in (9, 8, 8, 8, 8, 8, 7, 6)]
    rows = [{"symbol": f"S{n}", "date": day} for n, day in enumerate(days)]

    def answer(_, sent):
        page = int(sent.get("page", 0))
        return within(rows, sent)[3 * page:3 * page + 3]

    calendar = table()["earnings_calendar"]
    limits, calendar.limits = calendar.limits, {"rows": 3}
    try:
        fmp, _ = serve(answer)
        found = fmp.earnings_calendar("2025-01-01", "2025-01-31")
    finally:
        calendar.limits = limits
    assert sorted(found["symbol"]) == [f"S{n}" for n in range(8)]


@pytest.mark.parametrize("method, days", [
    ("treasury_rates", 85), ("splits_calendar", 90), ("ipos_calendar", 90),
    ("economic_calendar", 28), ("cot_analysis", 84)])
def test_long_ranges_are_asked_in_pieces(serve, method, days):
    start, end = dt.date(2022, 1, 1), dt.date(2023, 12, 31)
    rows = day_rows(start, end)

    def answer(_, sent):
        """As the API: the newest days of the range, the rest is dropped."""
        span = dt.timedelta(days - 1)
        oldest = dt.date.fromisoformat(sent["to"]) - span
        return [row for row in within(rows, sent) if row["date"] >= str(
            oldest)]

    fmp, calls = serve(answer)
    found = getattr(fmp, method)(start=start, end=end)
    assert found.index.tolist() == pd.date_range(start, end).tolist()
    assert len(calls) == -(-730 // days)


def test_a_range_of_too_many_pieces_is_refused(serve):
    fmp, calls = serve(lambda *_: [])
    with pytest.raises(fmp.FMPParamError, match="calls"):
        fmp.treasury_rates(start="1900-01-01")
    assert calls == []


def test_an_economic_series_has_a_range_by_itself(serve):
    fmp, calls = serve(lambda _, sent: [
        {"name": "GDP", "date": sent["to"], "value": 1}])
    assert len(fmp.economic_indicator("gdp")) == len(calls) == 13
    assert all(sent["name"] == "GDP" for _, sent in calls)


def test_rows_outside_the_range_are_left_out(serve):
    rows = day_rows(dt.date(2020, 1, 1), dt.date(2024, 12, 31))
    fmp, calls = serve(lambda *_: rows)
    found = fmp.dividends("AAPL", start="2022-01-01", end="2022-01-31")
    assert len(found) == 31 and calls[0][1]["limit"] == "1000"
    assert len(fmp.grades("AAPL", limit=7)) == 7
    assert fmp.grades("AAPL", limit=7).index[-1] == pd.Timestamp("2024-12-31")


def test_statements_reach_back_to_the_start(serve):
    rows = [{"symbol": "AAPL", "date": f"{year}-09-28",
             "fiscalYear": str(year)} for year in range(TODAY.year, 1990, -1)]
    fmp, calls = serve(lambda _, sent: rows[:int(sent.get("limit", 5))])
    found = fmp.income_statement("AAPL", start="2015-01-01")
    assert found["fiscalYear"].tolist() == list(range(2015, TODAY.year + 1))
    assert len(fmp.income_statement("AAPL")) == 5


def test_a_ceiling_of_the_plan_is_kept_and_said(serve, capsys):
    refusal = scenario("plan_limit_value")
    fmp, calls = serve(lambda _, sent: (
        (refusal["status"], refusal["body"]) if int(sent.get("limit", 5)) > 5
        else day_rows(dt.date(2024, 1, 1), dt.date(2024, 1, 5))))
    found = fmp.income_statement("AAPL", limit=10)
    assert len(found) == 5 and found.attrs["truncated"]
    assert [sent["limit"] for _, sent in calls] == ["10", "5"]
    assert "allows limit up to 5" in capsys.readouterr().err


def test_news_are_paged_and_dated(serve):
    rows = [{"symbol": "AAPL", "publishedDate": f"2025-01-02 00:{n // 60:02}:"
             f"{n % 60:02}", "title": str(n)} for n in range(599, -1, -1)]

    def answer(_, sent):
        assert sent["symbols"] == "AAPL" and "symbol" not in sent
        size, page = int(sent["limit"]), int(sent.get("page", 0))
        assert size <= 250
        return rows[page * size:(page + 1) * size]

    fmp, calls = serve(answer)
    found = fmp.stock_news(symbol="aapl", limit=550)
    assert found["title"].tolist() == [str(n) for n in range(50, 600)]
    assert found.index.tolist() == list(range(550))
    fmp.stock_news("AAPL", end="2025-01-31")
    assert calls[-1][1]["from"] == "2024-11-02"


def test_filings_are_picked_by_form(serve):
    rows = [{"symbol": "AAPL", "acceptedDate": f"2024-{month:02}-01 06:00:00",
             "formType": "10-K" if month == 11 else "8-K"}
            for month in range(12, 0, -1)]
    fmp, calls = serve(lambda *_: rows)
    found = fmp.sec_filings("AAPL", "2024-01-01", "2024-12-31", type="10-k")
    assert found["formType"].tolist() == ["10-K"]
    assert calls[0][1] == {"symbol": "AAPL", "from": "2024-01-01",
                           "to": "2024-12-31", "limit": "1000", "page": "0"}


def test_trades_are_paged_back_to_the_start(serve):
    rows = [{"symbol": "AAPL", "filingDate": row["date"]} for row in
            day_rows(dt.date(2024, 1, 1), dt.date(2024, 12, 31))]
    fmp, calls = serve(lambda _, sent: rows[
        int(sent["page"]) * 100:int(sent["page"]) * 100 + 100])
    found = fmp.insider_trading("AAPL", start="2024-06-01")
    assert len(found) == 214 and len(calls) == 3


def test_a_snapshot_is_of_the_last_session(serve, capsys):
    sessions = {"2024-06-28", "2024-07-03"}
    fmp, calls = serve(lambda _, sent: [
        {"date": sent["date"], "sector": "Energy", "averageChange": 1}]
        if sent["date"] in sessions else [])
    found = fmp.sector_performance("2024-06-30", exchange="NYSE")
    assert found["date"].dt.day.tolist() == [28]
    assert [sent["date"] for _, sent in calls] == ["2024-06-28"]
    assert "no session on 2024-06-30" in capsys.readouterr().err
    fmp.sector_performance("2024-07-03")
    assert "NASDAQ alone" in capsys.readouterr().err
    with pytest.raises(fmp.FMPParamError, match="future"):
        fmp.sector_performance(TODAY + DAY)


def test_a_sector_that_there_is_not_is_refused(serve):
    def answer(path, sent):
        if path == "available-sectors":
            return [{"sector": "Energy"}, {"sector": "Technology"}]
        return [{"symbol": "XOM"}] if sent["sector"] == "Energy" else []

    fmp, _ = serve(answer)
    assert fmp.screener(sector="energy")["symbol"].tolist() == ["XOM"]
    with pytest.raises(fmp.FMPParamError, match="Did you mean 'Technology'"):
        fmp.screener(sector="Tech")
    assert len(fmp.screener(sector="Technology")) == 0


def test_enormous_numbers_do_no_harm(serve):
    fmp, _ = serve(lambda *_: prices("2025-01-02"))
    assert len(fmp.historical_prices("AAPL", limit=10 ** 30)) == 1
    assert len(fmp.income_statement("AAPL", limit=10 ** 30)) == 1
    fmp.rsi("AAPL", 10 ** 9, start="2024-12-01", end="2025-01-31")


def test_an_indicator_has_settled_before_its_range(serve):
    fmp, calls = serve(lambda _, sent: within(day_rows(
        dt.date(2010, 1, 1), dt.date(2024, 12, 31), rsi=50), sent))
    found = fmp.rsi("AAPL", period=10, start="2024-01-01", end="2024-12-31")
    assert found.index[0] == pd.Timestamp("2024-01-01") and len(found) == 366
    assert calls[0][1]["from"] < "2023-01-01"
    fmp.sma("AAPL", start="2010-01-01", end="2024-12-31")
    spans = [dt.date.fromisoformat(sent["to"])
             - dt.date.fromisoformat(sent["from"]) for _, sent in calls[1:]]
    assert max(spans).days <= 5 * 365 - 3


def test_bars_that_do_not_reach_back_are_said(serve, capsys):
    first = TODAY - 5 * DAY
    fmp, _ = serve(lambda *_: [{"date": f"{first} 09:30:00", "close": 1}])
    found = fmp.intraday("AAPL", "5min", start=TODAY - 60 * DAY)
    assert found.attrs["truncated"]
    assert f"the first bar is of {first} 09:30" in capsys.readouterr().err
    fmp.intraday("AAPL", "5min", start=first)
    assert capsys.readouterr().err == ""


def test_institutions_report_after_45_days(serve):
    fmp, calls = serve(lambda *_: [{"cik": "1", "investorName": "A"}])
    fmp.institutional_holders("AAPL")
    year, quarter = (int(calls[0][1][name]) for name in ("year", "quarter"))
    ended = dt.date(year + quarter // 4, quarter % 4 * 3 + 1, 1)
    assert 45 <= (TODAY - ended).days + 1 <= 45 + 93
    fmp.institutional_holders("AAPL", 2020, "Q2")
    assert calls[1][1]["year"] == "2020" and calls[1][1]["quarter"] == "2"


def test_a_snapshot_needs_no_pandas():
    child = str(pathlib.Path(__file__).parents[2] / "child")
    theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = ("import sys; sys.path.insert(0, sys.argv[1])\n"
               "from sandbox.fmp import FMP\n"
               "from sandbox.fmp.channel import Channel\n"
               "fmp = FMP(); fmp._channel = Channel(int(sys.argv[2]))\n"
               "print(fmp.quote('AAPL').price, 'pandas' in sys.modules)")
    process = subprocess.Popen(
        [sys.executable, "-B", "-c", program, child, str(ours.fileno())],
        pass_fds=[ours.fileno()], stdout=subprocess.PIPE, text=True)
    worker = Worker(quotes)
    worker.socket = theirs
    worker.start()
    assert process.communicate(timeout=30)[0] == "1.5 False\n"
    theirs.shutdown(socket.SHUT_RDWR)


def test_data_from_the_cache_are_told_apart(capsys):
    fmp_errors.warned.clear()
    worker = Worker(lambda *_: None)
    worker.start()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(worker.client.historical_prices, "AAPL")
        wait_until(lambda: worker.calls)
        worker.reply(1, prices("2025-01-02"), cached=True, stale=True)
        assert future.result(10).attrs["cached"]
    assert "older data from the cache" in capsys.readouterr().err
    worker.socket.close()


# Any path

def test_raw_answers_are_as_the_api_sends_them(serve):
    rows = prices("2025-01-03", "2025-01-02")
    fmp, calls = serve(lambda *_: rows)
    wanted = ("historical-price-eod/full", {"symbol": "AAPL",
                                            "from": "2025-01-01"})
    for path, params, more in (
            ("historical-price-eod/full", None,
             {"symbol": "aapl", "from_": "2025-01-01"}),
            ("/stable/historical-price-eod/full", {"symbol": "AAPL"},
             {"start": dt.date(2025, 1, 1)}),
            ("historical_prices", "AAPL", {"from_date": "2025-01-01"}),
            ("historical-price-eod", "AAPL", {"start": "2025-01-01"}),
            ("https://financialmodelingprep.com/stable/historical-price-eod/"
             "full?symbol=AAPL&from=2025-01-01&apikey=SECRET", None, {}),
            ("api/v3/historical-price-full/AAPL?apikey=SECRET",
             {"from": "2025-01-01"}, {})):
        assert fmp.get(path, params, **more) == rows
        assert calls[-1] == wanted
    assert fmp.df("historical-price-eod/full", symbol="AAPL")[
        "close"].tolist() == [1, 0]


@pytest.mark.parametrize("path, asked", [
    ("v3/quote/AAPL,MSFT", ("batch-quote", {"symbols": "AAPL,MSFT"})),
    ("v3/income-statement/AAPL?period=quarter&limit=3",
     ("income-statement", {"symbol": "AAPL", "period": "quarter",
                           "limit": "3"})),
    ("v3/stock_news?tickers=AAPL", ("news/stock", {"symbols": "AAPL"})),
    ("v4/treasury?from=2024-01-01", ("treasury-rates",
                                     {"from": "2024-01-01"})),
    ("v3/historical-chart/5min/AAPL", ("historical-chart/5min",
                                       {"symbol": "AAPL"})),
    ("v3/technical_indicator/1day/AAPL?type=rsi&period=10",
     ("technical-indicators/rsi", {"timeframe": "1day", "symbol": "AAPL",
                                   "periodLength": "10"})),
    ("v3/historical-price-full/stock_dividend/KO", ("dividends",
                                                    {"symbol": "KO"})),
])
def test_paths_of_the_former_api_are_rewritten(serve, capsys, path, asked):
    fmp, calls = serve(lambda *_: [])
    fmp.get(path)
    assert calls == [asked]
    assert "former API" in capsys.readouterr().err


def test_every_path_of_the_former_api_is_known():
    for endpoint in ENDPOINTS:
        for text in re.findall(r"v[34]/[\w\-/]+", endpoint.data["legacy"]
                               or ""):
            path = text.rstrip("/")
            if path != text:
                path += "/AAPL"
                path += "/AAPL" * (path.count("/historical-chart/")
                                   + path.count("/technical_indicator/"))
            assert table().from_legacy(path) is not None, path


def test_paths_that_cannot_be(serve, capsys):
    fmp, calls = serve(lambda *_: (404, "[]"))
    for path in ("a b", "../admin", "quote%2e", "", 5, "v3/nothing/here"):
        with pytest.raises(fmp.FMPParamError):
            fmp.get(path)
    assert calls == []
    with pytest.raises(fmp.FMPParamError, match="Close: quote"):
        fmp.get("quotes-of-all")
    with pytest.raises(fmp.FMPParamError, match="no name of a parameter"):
        fmp.get("quote", {"no name!": "AAPL"})
    with pytest.raises(fmp.FMPParamError):
        fmp.get("quote", symbol="AAPL", note="a\nb")
    capsys.readouterr()
    with pytest.raises(fmp.FMPParamError):
        fmp.get("quote", symbol="AAPL", colour="red")
    assert "'colour' is no documented parameter" in capsys.readouterr().err


def test_tables_and_workbooks_of_any_path(serve):
    fmp, _ = serve(lambda path, _: b'"symbol","price"\n"AAPL","1"\n'
                   if path.endswith("-bulk") else b"PK\3\4")
    assert fmp.get("profile-bulk", part=0).startswith('"symbol"')
    assert fmp.df("profile-bulk", part=0)["price"].tolist() == [1]
    assert fmp.get("financial-reports-xlsx", symbol="AAPL") == b"PK\3\4"


# The wire

def wait_until(condition):
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.001)


@pytest.fixture
def wire():
    """(channel, worker whose answers the test sends itself)."""
    worker = Worker(lambda *_: None)
    worker.start()
    yield worker.client._channel, worker
    worker.socket.close()


def test_answers_come_in_any_order_and_in_pieces(wire):
    channel, worker = wire
    first = channel.start("a", {})
    second = channel.start("b", {"symbol": "AAPL"})
    worker.head(second, 200, 3)
    worker.head(first, 200, 4)
    worker.data(first, b"12")
    worker.data(second, b"abc")
    worker.data(99, b"of no call")
    worker.data(first, b"34")
    assert channel.wait([first])[first].body == b"1234"
    assert channel.wait([second])[second].body == b"abc"
    wait_until(lambda: len(worker.calls) == 2)
    assert worker.calls == [("a", {}), ("b", {"symbol": "AAPL"})]
    assert channel.open == {}


def test_at_most_eight_calls_are_under_way(wire):
    channel, worker = wire
    numbers = [channel.start("a", {}) for _ in range(8)]
    wait_until(lambda: len(worker.calls) == 8)
    with ThreadPoolExecutor(1) as pool:
        ninth = pool.submit(channel.start, "b", {})
        time.sleep(0.05)
        assert len(worker.calls) == 8 and not ninth.done()
        worker.reply(numbers[3], [])
        number = ninth.result(10)
        wait_until(lambda: len(worker.calls) == 9)
    worker.reply(number, [1])
    assert channel.wait([number])[number].body == b"[1]"


def test_a_closed_channel_ends_all_calls(wire):
    channel, worker = wire
    numbers = [channel.start("a", {}) for _ in range(3)]
    worker.head(numbers[0], 200, 10)
    worker.data(numbers[0], b"12345")
    worker.socket.shutdown(socket.SHUT_RDWR)
    done = channel.wait(numbers)
    assert {answer.failure for answer in done.values()} == {"closed"}
    with pytest.raises(fmp_errors.FMPError, match="no more market data"):
        worker.client.quote("AAPL")


def test_a_call_that_is_too_large_is_not_sent(wire):
    channel, worker = wire
    with pytest.raises(fmp_errors.FMPParamError, match="8,192"):
        worker.client.get("quote", {f"p{n}": "x" * 2000 for n in range(5)})
    assert worker.calls == [] and channel.open == {}


def test_an_interrupted_wait_leaves_the_channel_in_order(wire):
    channel, worker = wire
    reads = iter([errors.TimeUp(), None])
    receive = channel.receive

    def interrupted():
        error = next(reads, None)
        if error is not None:
            raise error
        return receive()

    channel.receive = interrupted
    with pytest.raises(errors.TimeUp):
        worker.client.quote("AAPL")
    assert channel.open == {} and not channel.has_reader
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(worker.client.quote, "AAPL")
        wait_until(lambda: len(worker.calls) == 2)
        worker.reply(1, [{"symbol": "OLD"}])
        worker.reply(2, [{"symbol": "NEW"}])
        assert future.result(10)["symbol"] == "NEW"


def test_threads_get_their_own_answers(serve):
    fmp, calls = serve(lambda _, sent: [{"symbol": sent["symbol"],
                                         "date": "2025-01-02"}] * 40)
    names = [f"S{n}" for n in range(200)]
    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(lambda name: fmp.historical_prices(name)[
            "symbol"].unique().tolist(), names))
    assert found == [[name] for name in names] and len(calls) == 200


def ask_elsewhere(fmp):
    try:
        fmp.quote("AAPL")
    except fmp.FMPError as error:
        return type(error).__name__, str(error)


def test_another_process_is_told_to_ask_in_this_one(serve, monkeypatch):
    fmp, calls = serve(quotes)
    monkeypatch.setitem(sys.modules, "fmp", fmp)
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(False)
    process = context.Process(
        target=lambda: writer.send(ask_elsewhere(fmp)))
    process.start()
    kind, text = reader.recv()
    process.join(10)
    assert kind == "FMPError" and "main process" in text and calls == []
    error = fmp_errors.FMPPlanError("x", scope="symbol")
    assert pickle.loads(pickle.dumps(error)).scope == "symbol"

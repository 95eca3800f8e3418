"""The stand-in for the market data server against what is known of the real
one: every endpoint, every error, every trap, every fault it makes on request.
Plain urllib, so that a failure here is the server's and no client's."""

import dataclasses
import functools
import gzip
import http.client
import json
import signal
import ssl
import stat
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from fmp_server import ENDPOINTS, TESTS, FmpServer

TODAY = "2025-06-30"
CATALOGUE = {endpoint["method"]: endpoint
             for endpoint in json.loads(ENDPOINTS.read_text())}
ERRORS = {error["id"]: error for error in
          json.loads((TESTS / "fmp" / "_errors.json").read_text())}
TYPES = {"string": str, "number": (int, float), "boolean": bool,
         "null": type(None), "object": dict, "array": list}
# What each required parameter is, unless the path wants another.
GIVEN = {"symbol": "AAPL", "symbols": "AAPL,MSFT", "exchange": "NASDAQ",
         "query": "co", "cik": "0001067983", "isin": "US0378331005",
         "cusip": "037833100", "period": "annual", "date": "2025-06-27",
         "sector": "Energy", "name": "CPI", "from": "2025-01-01",
         "to": "2025-06-30", "formType": "10-K", "year": "2024",
         "quarter": "3", "periodLength": "10", "timeframe": "1day"}
SPECIAL = {"etf/holdings": {"symbol": "SPY"}, "etf/info": {"symbol": "SPY"},
           "etf/sector-weightings": {"symbol": "SPY"},
           "etf/country-weightings": {"symbol": "SPY"},
           "news/crypto": {"symbols": "BTCUSD"},
           "news/forex": {"symbols": "EURUSD"},
           "search-cik": {"cik": "320193"}}


@pytest.fixture(scope="module")
def fmp():
    """For what is answered: without TLS, which takes most of the time."""
    with FmpServer(date=TODAY, tls=False) as server:
        yield server


@pytest.fixture(scope="module")
def secure():
    with FmpServer(date=TODAY) as server:
        yield server


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@functools.cache
def opener(server):
    context = server.tls and ssl.create_default_context(cafile=server.ca)
    return urllib.request.build_opener(
        Stay, *([urllib.request.HTTPSHandler(context=context)]
                if context else []))


def ask(server, path, key="demo", timeout=10, headers=None, base=None,
        **params):
    """GET a path below /stable; `from_` is the parameter from."""
    params = {name.rstrip("_"): value for name, value in params.items()}
    url = (base or server.url) + "/" + path
    if params:
        url += "?" + urllib.parse.urlencode(params)
    headers = ({"apikey": key} if key else {}) | (headers or {})
    request = urllib.request.Request(url, headers=headers)
    try:
        with opener(server).open(request, timeout=timeout) as answer:
            return Answer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as answer:
        return Answer(answer.code, answer.headers, answer.read())


def rows(server, path, **params):
    answer = ask(server, path, **params)
    assert answer.status == 200, (answer.status, answer.body)
    return answer.json


def path_and_params(endpoint):
    head, _, rest = endpoint["stable"].partition("{")
    path = head + rest.rstrip("}").split("|")[0]
    params = {name: GIVEN[name] for name in endpoint["required"]
              if "(path)" not in name}
    return path, params | SPECIAL.get(path, {})


# Every endpoint

@pytest.mark.parametrize("method", CATALOGUE)
def test_endpoint_answers_its_fields_in_order_and_type(fmp, method):
    endpoint = CATALOGUE[method]
    path, params = path_and_params(endpoint)
    found = rows(fmp, path, **params)
    assert found
    for row in found:
        fields = {field["name"]: field["type"]
                  for field in endpoint["fields"]}
        if method == "balance_sheet_ttm":
            del fields["capitalLeaseObligationsNonCurrent"]
        if method == "holidays" and row["isClosed"]:
            del fields["isFullyClosed"]
        assert list(row) == list(fields)
        for name, kind in fields.items():
            if method == "earnings_calendar" and row["date"] > TODAY:
                kind += "|null"
            assert any(type(row[name]) is not bool if allowed == "number"
                       else True for allowed in kind.split("|")
                       if isinstance(row[name], TYPES[allowed])), (
                           name, kind, row[name])
    if endpoint["returns"] == "record":
        assert len(found) == 1


@pytest.mark.parametrize("method", [
    method for method, endpoint in CATALOGUE.items()
    if endpoint["required"] and endpoint["category"] != "news"])
def test_required_parameters_are_asked_for_one_at_a_time(fmp, method):
    endpoint = CATALOGUE[method]
    path, params = path_and_params(endpoint)
    given = {}
    for name in params:
        answer = ask(fmp, path, **given)
        assert answer.status == 400
        assert answer.body.decode() == (
            f"Query Error: Invalid or missing query parameter - {name}")
        given[name] = params[name]
    assert ask(fmp, path, **given).status == 200


@pytest.mark.parametrize("method", [
    method for method, endpoint in CATALOGUE.items()
    if "symbol" in endpoint["required"]])
def test_symbols_that_no_single_path_knows_give_an_empty_list(fmp, method):
    path, params = path_and_params(CATALOGUE[method])
    for symbol in ("NOSUCH", "BRK.B", "AAPL,MSFT"):
        assert rows(fmp, path, **params | {"symbol": symbol}) == []


# Every error

SCENARIOS = {
    "invalid_key": ("quote", "wrong", {"symbol": "AAPL"}),
    "rate_limit": ("quote", "exhausted", {"symbol": "AAPL"}),
    "bandwidth_limit": ("quote", "bandwidth", {"symbol": "AAPL"}),
    "plan_endpoint": ("etf/holdings", "free", {"symbol": "SPY"}),
    "plan_symbol": ("quote", "free", {"symbol": "AVGO"}),
    "plan_limit_value": ("income-statement", "free",
                         {"symbol": "AAPL", "limit": "8"}),
    "plan_param_value": ("analyst-estimates", "free",
                         {"symbol": "AAPL", "period": "quarter"}),
    "plan_endpoint_old": ("etf/holdings", "old", {"symbol": "SPY"}),
    "plan_endpoint_2021": ("etf/holdings", "older", {"symbol": "SPY"}),
    "legacy_endpoint": ("/api/v3/quote/AAPL", "ultimate", {}),
    "account_suspended": ("quote", "suspended", {"symbol": "AAPL"}),
    "missing_param": ("quote", "demo", {}),
    "page_too_big": ("news/stock", "demo",
                     {"symbols": "AAPL", "page": "101"}),
    "bad_exchange": ("exchange-market-hours", "demo",
                     {"exchange": "BOGUS"}),
    "bad_timeframe": ("technical-indicators/sma", "demo",
                      {"symbol": "AAPL", "periodLength": "10",
                       "timeframe": "1week"}),
    "unknown_path": ("historical-chart/1day", "demo", {"symbol": "AAPL"}),
    "unknown_symbol": ("quote", "demo", {"symbol": "NOSUCH"}),
    "unknown_symbol_v3_prices": ("/api/v3/historical-price-full/NOSUCH",
                                 "legacy", {}),
    "bad_indicator_name": ("economic-indicators", "demo", {"name": "gdp"}),
    "bulk_throttled": ("profile-bulk", "demo-bulk", {"part": "0"}),
    "financial_report_miss": ("financial-reports-json", "demo",
                              {"symbol": "AAPL"}),
    "financial_report_xlsx_miss": ("financial-reports-xlsx", "demo",
                                   {"symbol": "AAPL"})}


@pytest.mark.parametrize("error", ERRORS)
def test_error_is_the_captured_one_to_the_byte(fmp, error):
    path, key, params = SCENARIOS[error]
    if error == "bulk_throttled":
        for _ in range(2):
            head = ask(fmp, path, key, **params).body.split(b"\r\n")[0]
            assert head.startswith(b'"symbol","price"')
    base = fmp.url.removesuffix("/stable") if path[0] == "/" else None
    answer = ask(fmp, path.lstrip("/"), key, base=base, **params)
    assert answer.status == ERRORS[error]["status"]
    assert answer.body.decode() == ERRORS[error]["body"]
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert "Retry-After" not in answer.headers


def test_a_missing_key_is_a_wrong_key(fmp):
    assert ask(fmp, "quote", None, symbol="AAPL").body == ask(
        fmp, "nowhere", "wrong").body


def test_the_checks_come_in_order(fmp):
    # Account before path, path before plan, plan before parameters.
    assert ask(fmp, "nowhere", "suspended").status == 403
    assert ask(fmp, "nowhere", "exhausted").status == 429
    assert ask(fmp, "nowhere", "free").status == 404
    assert ask(fmp, "etf/holdings", "free").status == 402
    assert ask(fmp, "etf/holdings", "ultimate").status == 400


def test_the_etag_is_the_captured_one(fmp):
    answer = ask(fmp, "quote", "exhausted", symbol="AAPL")
    assert answer.headers["ETag"] == 'W/"96-Sev+E0I9HSpCHRKGHzSx6mGyfSM"'
    assert answer.headers["Content-Length"] == "150"


# Manners

def test_bodies_are_as_javascript_prints_them(secure):
    for path, params in (("quote", {"symbol": "AAPL"}),
                         ("revenue-product-segmentation",
                          {"symbol": "AAPL"}), ("batch-forex-quotes", {})):
        body = ask(secure, path, **params).body
        assert body == json.dumps(json.loads(body), indent=2).encode()
        assert b".0," not in body and b".0\n" not in body


def test_headers_are_the_servers(secure):
    answer = ask(secure, "quote", symbol="AAPL")
    assert answer.headers["Server"] == "nginx/1.18.0 (Ubuntu)"
    assert answer.headers["X-Powered-By"] == "Express"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


def test_gzip_comes_when_asked_for_and_is_the_same(secure):
    plain = ask(secure, "quote", symbol="AAPL")
    packed = ask(secure, "quote", symbol="AAPL",
                 headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Transfer-Encoding"] == "chunked"
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert packed.headers["ETag"] == plain.headers["ETag"]
    assert gzip.decompress(packed.body) == plain.body


def test_the_key_is_taken_from_header_or_query_and_both_are_told(secure):
    assert ask(secure, "quote", "demo-7", symbol="AAPL").status == 200
    header = secure.requests[-1]
    assert ask(secure, "quote", None, symbol="AAPL",
               apikey="demo-8").status == 200
    query = secure.requests[-1]
    assert (header.method, header.path, header.status) == (
        "GET", "/stable/quote", 200)
    assert header.headers["apikey"] == "demo-7"
    assert header.params == {"symbol": "AAPL"}
    assert "apikey" not in query.headers
    assert query.params == {"symbol": "AAPL", "apikey": "demo-8"}


def test_a_connection_serves_many_requests(secure):
    context = ssl.create_default_context(cafile=secure.ca)
    connection = http.client.HTTPSConnection("localhost", secure.port,
                                             context=context)
    for _ in range(3):
        connection.request("GET", "/stable/quote?symbol=KO",
                           headers={"apikey": "demo"})
        assert len(json.loads(connection.getresponse().read())) == 1
    connection.close()
    assert len({asked.connection for asked in secure.requests[-3:]}) == 1


def test_unknown_parameters_are_ignored(fmp):
    assert ask(fmp, "quote", symbol="AAPL", bogus="1").body == ask(
        fmp, "quote", symbol="AAPL").body


def test_unknown_paths_and_no_path_are_404(fmp):
    for path in ("historical-price-eod", "historical-chart/2hour",
                 "technical-indicators/macd", "", "nowhere"):
        answer = ask(fmp, path, symbol="AAPL")
        assert (answer.status, answer.body) == (404, b"[]")
    assert ask(fmp, "quote", base=fmp.url[:-7]).status == 404


@pytest.mark.parametrize("path", [
    "acquisition-of-beneficial-ownership", "actively-trading-list",
    "available-countries", "batch-etf-quotes", "historical-sector-pe",
    "earning-call-transcript-latest", "funds/disclosure-holders-latest",
    "institutional-ownership/latest", "shares-float-all"])
def test_paths_without_a_method_answer_their_sample(fmp, path):
    assert rows(fmp, path, symbol="MSFT", sector="Energy")


def test_two_old_paths_are_there_for_an_old_account(fmp):
    base = fmp.url.replace("stable", "api/v3")
    quotes = ask(fmp, "quote/AAPL,KO", "legacy", base=base).json
    assert [quote["symbol"] for quote in quotes] == ["AAPL", "KO"]
    assert "changesPercentage" in quotes[0]
    old = ask(fmp, "historical-price-full/AAPL", "legacy", base=base,
              from_="2025-06-23").json
    sample = json.loads((TESTS / "fmp" / "historical_price_full_legacy.json"
                         ).read_text())
    assert list(old) == ["symbol", "historical"]
    assert list(old["historical"][0]) == list(sample["historical"][0])
    assert len(old["historical"]) == 6
    assert ask(fmp, "quote/AAPL", "ultimate", base=base).status == 403


# Plans

def test_the_free_plan_has_its_symbols_and_its_limits(fmp):
    for status, path, params in (
            (200, "quote", {"symbol": "AAPL"}),
            (402, "quote", {"symbol": "NOSUCH"}),
            (200, "profile", {"symbol": "AVGO"}),
            (200, "income-statement", {"symbol": "AAPL", "limit": "5"}),
            (402, "income-statement", {"symbol": "AAPL",
                                       "period": "quarter"}),
            (402, "historical-price-eod/full", {"symbol": "AAPL",
                                                "from": "2010-01-01"}),
            (402, "batch-quote", {"symbols": "AAPL"})):
        assert ask(fmp, path, "free", **params).status == status, path
    answer = ask(fmp, "historical-price-eod/full", "free", symbol="AAPL",
                 from_="2010-01-01")
    assert b"This value set for 'from' is" in answer.body


def test_plans_differ_by_exchange_and_by_endpoint(fmp):
    def status(plan, path, symbol):
        return ask(fmp, path, plan, symbol=symbol).status
    assert [status(plan, "quote", "VOD.L") for plan in (
        "free", "starter", "premium", "ultimate")] == [402, 402, 200, 200]
    assert [status(plan, "quote", "7203.T") for plan in (
        "starter", "premium", "ultimate")] == [402, 402, 200]
    assert [status(plan, "historical-chart/1min", "AAPL") for plan in (
        "starter", "premium", "ultimate")] == [402, 402, 200]
    assert rows(fmp, "quote", key="starter", symbol="BRK.B") == []


def test_each_key_of_a_plan_has_its_own_count_of_calls():
    with FmpServer(date=TODAY, tls=False,
                   limits={"starter": (1, 2, 60)}) as fmp:
        def status(key):
            return ask(fmp, "quote", key, symbol="AAPL").status
        assert [status("starter-a") for _ in range(3)] == [200, 200, 429]
        assert status("starter-b") == 200
        assert [status("free") for _ in range(251)] == [200] * 250 + [429]


# Prices

def test_prices_are_newest_first_and_five_years_unless_asked(fmp):
    found = rows(fmp, "historical-price-eod/full", symbol="AAPL")
    dates = [row["date"] for row in found]
    assert dates == sorted(set(dates), reverse=True)
    assert dates[0] == TODAY and dates[-1] == "2020-07-01"
    assert 1250 <= len(found) <= 1260


def test_prices_end_at_5000_rows_without_a_word(fmp):
    found = rows(fmp, "historical-price-eod/light", symbol="AAPL",
                 from_="1980-01-01")
    assert len(found) == 5000 and found[0]["date"] == TODAY
    older = rows(fmp, "historical-price-eod/light", symbol="AAPL",
                 from_="1980-01-01", to="2005-01-01")
    assert older[-1]["date"] == "1995-01-03"


def test_a_backwards_range_is_empty_and_a_bad_date_dropped(fmp):
    path = "historical-price-eod/full"
    assert rows(fmp, path, symbol="AAPL", from_="2025-06-30",
                to="2025-06-01") == []
    assert rows(fmp, path, symbol="AAPL", from_="yesterday") == rows(
        fmp, path, symbol="AAPL")


def test_days_are_plausible_and_holidays_have_none(fmp):
    found = rows(fmp, "historical-price-eod/full", symbol="MSFT",
                 from_="2024-01-01")
    for row in found:
        assert row["low"] <= min(row["open"], row["close"])
        assert row["high"] >= max(row["open"], row["close"])
        assert row["change"] == round(row["close"] - row["open"], 4)
        assert row["volume"] > 0
    dates = {row["date"] for row in found}
    assert not dates & {"2024-01-01", "2024-03-29", "2024-07-04",
                        "2024-11-28", "2024-12-25", "2025-06-19",
                        "2025-06-28"}
    closes = [row["close"] for row in found]
    moves = [b / a - 1 for b, a in zip(closes, closes[1:])]
    assert 0.008 < statistics.pstdev(moves) < 0.03


def test_prices_of_a_day_are_the_same_on_any_later_day(fmp):
    with FmpServer(date="2026-03-16", tls=False) as later:
        for symbol in ("AAPL", "SMP007", "EURUSD"):
            params = dict(symbol=symbol, from_="2025-05-01", to="2025-06-30")
            assert rows(fmp, "historical-price-eod/full", **params) == rows(
                later, "historical-price-eod/full", **params)


def test_crypto_trades_every_day_and_forex_on_weekdays(fmp):
    def count(symbol):
        return len(rows(fmp, "historical-price-eod/light", symbol=symbol,
                        from_="2024-12-23", to="2025-01-05"))
    assert [count("BTCUSD"), count("EURUSD"), count("AAPL")] == [14, 10, 8]


def test_the_four_forms_of_prices_agree(fmp):
    def day(form, date):
        return rows(fmp, f"historical-price-eod/{form}", symbol="AAPL",
                    from_=date, to=date)[0]
    before, after = "2020-08-28", "2020-08-31"      # a split of 4 to 1
    full, raw = day("full", before), day("non-split-adjusted", before)
    assert raw["adjClose"] == pytest.approx(4 * full["close"], abs=0.01)
    assert raw["volume"] == pytest.approx(full["volume"] / 4, abs=1)
    assert day("light", before)["price"] == full["close"]
    assert day("non-split-adjusted", after)["adjClose"] == day(
        "full", after)["close"]
    adjusted = day("dividend-adjusted", before)
    assert 0.9 * full["close"] < adjusted["adjClose"] < full["close"]
    assert adjusted["volume"] == full["volume"]
    assert day("dividend-adjusted", TODAY)["adjClose"] == day(
        "full", TODAY)["close"]


def test_a_quote_is_the_last_day(fmp):
    quote = rows(fmp, "quote", symbol="AAPL")[0]
    last, before = rows(fmp, "historical-price-eod/full",
                        symbol="AAPL")[:2]
    assert quote["price"] == last["close"]
    assert quote["previousClose"] == before["close"]
    assert quote["volume"] == last["volume"]
    assert quote["timestamp"] == 1751313601     # 16:00:01 in New York
    after = rows(fmp, "aftermarket-trade", symbol="AAPL")[0]
    assert after["timestamp"] > 1751313601000
    for symbol, cap in (("EURUSD", None), ("GCUSD", None), ("^GSPC", 0)):
        assert rows(fmp, "quote", symbol=symbol)[0]["marketCap"] == cap


def test_batches_drop_what_is_unknown_and_repeat_what_is_repeated(fmp):
    for path in ("batch-quote", "batch-quote-short",
                 "market-capitalization-batch"):
        found = rows(fmp, path, symbols="KO,NOSUCH,AAPL,KO")
        assert [row["symbol"] for row in found] == ["KO", "AAPL", "KO"]


def test_short_quotes_are_long_when_told(fmp):
    assert len(rows(fmp, "batch-crypto-quotes")[0]) == 4
    assert len(rows(fmp, "batch-crypto-quotes", short="false")[0]) == 17
    assert rows(fmp, "batch-exchange-quote", exchange="BOGUS") == []


def test_movers_are_fifty_whatever_is_asked(fmp):
    for path in ("biggest-gainers", "biggest-losers", "most-actives"):
        found = rows(fmp, path)
        assert len(found) == 50
        assert found == rows(fmp, path, limit=3, exchange="NYSE", page=1)
    gains = [row["changesPercentage"] for row in rows(fmp,
                                                      "biggest-gainers")]
    assert gains == sorted(gains, reverse=True)


def test_market_caps_go_three_months_back_unless_from_says_more(fmp):
    path = "historical-market-capitalization"
    assert 58 <= len(rows(fmp, path, symbol="AAPL", limit=1000)) <= 65
    assert len(rows(fmp, path, symbol="AAPL", from_="1990-01-01")) == 5000
    assert len(rows(fmp, path, symbol="AAPL", limit=3)) == 3


@pytest.mark.parametrize("interval, oldest, bars", [
    ("1min", "2025-06-28", 390), ("5min", "2025-06-21", 78),
    ("15min", "2025-05-17", 26), ("30min", "2025-06-01", 13),
    ("1hour", "2025-04-02", 7), ("4hour", "2025-01-02", 2)])
def test_intraday_ends_at_its_lookback(fmp, interval, oldest, bars):
    path = f"historical-chart/{interval}"
    found = rows(fmp, path, symbol="AAPL", from_="2020-01-01")
    assert found[-1]["date"] >= oldest
    day = [row for row in found if row["date"].startswith(TODAY)]
    assert len(day) == bars and day[-1]["date"].endswith("09:30:00")
    dates = [row["date"] for row in found]
    assert dates == sorted(set(dates), reverse=True)
    daily = rows(fmp, "historical-price-eod/full", symbol="AAPL")[0]
    assert day[0]["close"] == daily["close"]
    assert day[-1]["open"] == daily["open"]
    assert max(row["high"] for row in day) <= daily["high"]
    assert day[-1]["volume"] % 1 == 0.875


def test_intraday_extends_and_answers_a_wrong_day_backwards(fmp):
    path = "historical-chart/30min"
    params = dict(symbol="AAPL", from_="2025-06-27", to="2025-06-27")
    times = [row["date"][11:] for row in rows(fmp, path, extended="true",
                                              **params)]
    assert times[0] >= "19:30:00" and times[-1] == "04:00:00"
    backwards = rows(fmp, path, symbol="AAPL", from_="2025-06-27",
                     to="2025-06-24")
    assert {row["date"][:10] for row in backwards} == {"2025-06-24"}


def indicator(fmp, name, **params):
    return rows(fmp, f"technical-indicators/{name}", **{
        "symbol": "AAPL", "periodLength": 10, "timeframe": "1day"} | params)


def test_moving_averages_are_right(fmp):
    closes = [row["close"] for row in rows(
        fmp, "historical-price-eod/full", symbol="AAPL")]
    found = indicator(fmp, "sma")
    assert found[0]["sma"] == pytest.approx(statistics.mean(closes[:10]),
                                            abs=1e-6)
    assert found[0]["date"] == f"{TODAY} 00:00:00"
    assert [row["close"] for row in found] == closes[:len(found)]
    wide = indicator(fmp, "standardDeviation")[0]["standardDeviation"]
    assert wide == pytest.approx(statistics.pstdev(closes[:10]), abs=1e-6)
    assert all(row["sma"] == row["close"]
               for row in indicator(fmp, "SMA", periodLength="1.5"))


@pytest.mark.parametrize("name, recursive", [
    ("sma", False), ("wma", False), ("williams", False), ("ema", True),
    ("standarddeviation", False), ("dema", True), ("tema", True),
    ("rsi", True), ("adx", True)])
def test_recursive_indicators_depend_on_the_window(fmp, name, recursive):
    wide = indicator(fmp, name)[:9]
    narrow = indicator(fmp, name, from_="2025-06-17")
    assert len(narrow) == 9
    assert (wide != narrow) == recursive
    column = list(wide[0])[-1]
    assert column.lower() == name
    if name in ("rsi", "adx"):
        assert all(0 <= row[column] <= 100 for row in wide)
    if name == "williams":
        assert all(-100 <= row[column] <= 0 for row in wide)


def test_indicator_windows_are_five_years_and_forgive_no_number(fmp):
    found = indicator(fmp, "sma", from_="2010-01-01", to="2020-01-01")
    assert found[-1]["date"][:10] == "2015-01-05"
    assert indicator(fmp, "sma", from_="2027-01-01") == indicator(fmp, "sma")
    assert indicator(fmp, "sma", periodLength=0) == []
    assert len(indicator(fmp, "sma", periodLength=100000)) > 1200
    assert len(indicator(fmp, "ema", timeframe="1hour")[0]["date"]) == 19


# Statements

@pytest.mark.parametrize("symbol", ["AAPL", "JPM", "SMP042"])
@pytest.mark.parametrize("period", ["annual", "quarter"])
def test_statements_balance(fmp, symbol, period):
    def statement(path):
        return rows(fmp, path, symbol=symbol, period=period, limit=1000)
    income, balance, cash = (statement(path) for path in (
        "income-statement", "balance-sheet-statement",
        "cash-flow-statement"))
    assert len(income) == len(balance) == len(cash)
    for i, b, c in zip(income, balance, cash):
        assert i["grossProfit"] == i["revenue"] - i["costOfRevenue"]
        assert i["netIncome"] == i["incomeBeforeTax"] - i["incomeTaxExpense"]
        assert b["totalAssets"] == b["totalLiabilities"] + b["totalEquity"]
        assert b["totalAssets"] == (b["totalCurrentAssets"]
                                    + b["totalNonCurrentAssets"])
        assert c["netIncome"] == i["netIncome"]
        assert c["netChangeInCash"] == sum(
            c[f"netCashProvidedBy{kind}Activities"]
            for kind in ("Operating", "Investing", "Financing"))
        assert c["cashAtEndOfPeriod"] == b["cashAndCashEquivalents"]
        assert c["freeCashFlow"] == (c["operatingCashFlow"]
                                     + c["capitalExpenditure"])
    for now, before in zip(cash, balance[1:]):
        assert now["cashAtBeginningOfPeriod"] == before[
            "cashAndCashEquivalents"]


def test_statements_are_five_rows_unless_asked_and_40_years_long(fmp):
    for path in ("income-statement", "ratios", "key-metrics",
                 "income-statement-growth", "enterprise-values",
                 "income-statement-ttm", "income-statement-as-reported"):
        assert len(rows(fmp, path, symbol="AAPL")) == 5
    found = rows(fmp, "income-statement", symbol="AAPL", limit=1000)
    years = [row["fiscalYear"] for row in found]
    assert years == [str(year) for year in range(2024, 1984, -1)]
    assert found[0]["date"] == "2024-09-28"
    assert found[0]["filingDate"] == "2024-11-01"
    assert len(rows(fmp, "income-statement", symbol="AAPL", limit=1000,
                    period="quarter")) == 162


def test_periods_filter_and_a_wrong_one_is_annual(fmp):
    path = "income-statement"
    assert {row["period"] for row in rows(fmp, path, symbol="AAPL",
                                          period="Q3")} == {"Q3"}
    annual = rows(fmp, path, symbol="AAPL")
    assert annual == rows(fmp, path, symbol="AAPL", period="bogus")
    assert annual == rows(fmp, path, symbol="AAPL", period="FY")
    wrong = ask(fmp, path, symbol="AAPL", period="Q9")
    assert (wrong.status, wrong.body[-6:]) == (400, b"period")


def test_years_are_the_sums_of_their_quarters(fmp):
    quarters = rows(fmp, "income-statement", symbol="KO", period="quarter",
                    limit=8)
    year = rows(fmp, "income-statement", symbol="KO", limit=1)[0]
    four = [row for row in quarters
            if row["fiscalYear"] == year["fiscalYear"]]
    assert [row["period"] for row in four] == ["Q4", "Q3", "Q2", "Q1"]
    for name in ("revenue", "operatingIncome"):
        assert year[name] == sum(row[name] for row in four)
    trailing = rows(fmp, "income-statement-ttm", symbol="KO", limit=1)[0]
    assert trailing["revenue"] == sum(row["revenue"] for row in quarters[:4])


def test_ratios_follow_from_the_statements(fmp):
    income, balance, ratios, metrics, growth = (
        rows(fmp, path, symbol="AAPL") for path in (
            "income-statement", "balance-sheet-statement", "ratios",
            "key-metrics", "income-statement-growth"))
    assert ratios[0]["netProfitMargin"] == pytest.approx(
        income[0]["netIncome"] / income[0]["revenue"], abs=1e-6)
    assert metrics[0]["returnOnEquity"] == pytest.approx(
        income[0]["netIncome"] / balance[0]["totalEquity"], abs=1e-6)
    assert growth[0]["growthRevenue"] == pytest.approx(
        income[0]["revenue"] / income[1]["revenue"] - 1, abs=1e-6)
    quote = rows(fmp, "quote", symbol="AAPL")[0]
    assert rows(fmp, "key-metrics-ttm", symbol="AAPL")[0]["marketCap"] == (
        quote["marketCap"])
    products = rows(fmp, "revenue-product-segmentation", symbol="AAPL")
    assert sum(products[0]["data"].values()) == income[0]["revenue"]
    assert products[0]["fiscalYear"] == 2024


def test_snapshots_ignore_limit_and_owner_earnings_end_at_50(fmp):
    for path in ("ratios-ttm", "key-metrics-ttm", "financial-scores"):
        assert len(rows(fmp, path, symbol="AAPL", limit=9)) == 1
    assert len(rows(fmp, "owner-earnings", symbol="AAPL", limit=1000)) == 50
    assert rows(fmp, "financial-scores", symbol="SPY") == []
    assert rows(fmp, "income-statement", symbol="SPY") == []


def test_estimates_and_valuations_begin_in_the_future(fmp):
    found = rows(fmp, "analyst-estimates", symbol="AAPL", period="annual")
    dates = [row["date"] for row in found]
    assert dates[0] > "2028" and dates == sorted(dates, reverse=True)
    assert len(rows(fmp, "analyst-estimates", symbol="AAPL",
                    period="quarter", limit=5, page=1)) == 5
    years = [row["year"] for row in rows(
        fmp, "custom-discounted-cash-flow", symbol="AAPL")]
    assert years == [str(year) for year in range(2030, 2020, -1)]


# Events and calendars

def test_dividends_splits_and_grades_ignore_dates(fmp):
    for path in ("dividends", "splits", "grades"):
        assert rows(fmp, path, symbol="AAPL") == rows(
            fmp, path, symbol="AAPL", from_="2024-01-01", to="2024-12-31")
    assert len(rows(fmp, "dividends", symbol="AAPL", limit=3)) == 3
    assert rows(fmp, "grades", symbol="AAPL") == rows(
        fmp, "grades", symbol="AAPL", limit=5, page=1)


def test_dividends_tell_what_was_paid_and_what_it_is_now(fmp):
    found = rows(fmp, "dividends", symbol="AAPL")
    assert found[-1]["date"].startswith("2012")
    assert found[-1]["dividend"] == pytest.approx(
        28 * found[-1]["adjDividend"])
    assert found[0]["dividend"] == found[0]["adjDividend"]
    assert rows(fmp, "dividends", symbol="KO")[-1]["declarationDate"] == ""


def test_the_next_earnings_report_comes_first_and_has_no_actuals(fmp):
    following, last = rows(fmp, "earnings", symbol="AAPL", limit=2)
    assert following["date"] > TODAY >= last["date"]
    assert following["epsActual"] is following["revenueActual"] is None
    income = rows(fmp, "income-statement", symbol="AAPL", period="quarter",
                  limit=1)[0]
    assert last["epsActual"] == income["eps"]
    timed = rows(fmp, "earnings", symbol="AAPL", includeReportTimes="true")
    assert list(timed[0])[-5:] == ["time", "periodEnding", "fiscalPeriod",
                                   "fiscalYear", "confirmed"]


def test_ratings_are_one_row_unless_asked(fmp):
    assert len(rows(fmp, "ratings-historical", symbol="AAPL")) == 1
    assert len(rows(fmp, "ratings-historical", symbol="AAPL",
                    limit=100)) == 100


@pytest.mark.parametrize("path, first", [
    ("earnings-calendar", "2022-06-01"), ("dividends-calendar", "2015-01-01")])
def test_calendars_end_at_4000_rows_and_lose_some_at_the_seam(fmp, path,
                                                              first):
    asked = dict(from_=first, to="2025-06-30")
    pages = [rows(fmp, path, page=page, limit=9, **asked)
             for page in range(4)]
    assert pages[0] == rows(fmp, path, **asked)
    assert len(pages[0]) == 4000 and 0 < len(pages[1]) < 4000
    assert pages[2] == pages[3] == []
    dates = [row["date"] for page in pages for row in page]
    assert dates == sorted(dates, reverse=True)
    assert dates[0] <= "2025-06-30" and dates[-1] >= first
    # Rows of the day at the seam that came twice are as many as never came.
    seam = pages[0][-1]["date"]
    day = {row["symbol"] for row in rows(fmp, path, from_=seam, to=seam)}
    one, two = ({row["symbol"] for row in page if row["date"] == seam}
                for page in pages[:2])
    assert len(one & two) == len(day - one - two)


def test_calendars_agree_with_the_symbols(fmp):
    one = rows(fmp, "earnings", symbol="SMP100")[1]
    assert one in rows(fmp, "earnings-calendar", from_=one["date"],
                       to=one["date"])


def test_splits_and_ipos_go_90_days_back_and_have_no_pages(fmp):
    for path in ("splits-calendar", "ipos-calendar"):
        found = rows(fmp, path, from_="2000-01-01", to=TODAY)
        assert found and found[-1]["date"] >= "2025-04-01"
    assert rows(fmp, "splits-calendar", page=1) == []
    assert rows(fmp, "ipos-calendar", page=1) == rows(fmp, "ipos-calendar")


# Economics, sectors

def test_indicators_begin_a_year_ago_and_keep_three_months(fmp):
    found = rows(fmp, "economic-indicators", name="CPI")
    assert "2024-06-30" <= found[-1]["date"] < found[0]["date"] < "2024-10"
    wide = rows(fmp, "economic-indicators", name="CPI", from_="2020-01-01",
                to="2024-12-31", limit=100)
    assert [row["date"] for row in wide] == ["2024-12-01", "2024-11-01",
                                             "2024-10-01"]
    assert rows(fmp, "economic-indicators", name="CPI", from_="2024-11-01",
                to="2024-11-30") == wide[1:2]


def test_quarterly_indicators_have_nothing_to_say_of_a_year(fmp):
    for name in ("GDP", "realGDP", "nominalPotentialGDP",
                 "realGDPPerCapita"):
        assert rows(fmp, "economic-indicators", name=name,
                    from_="2024-01-01", to="2024-12-31") == []
        assert len(rows(fmp, "economic-indicators", name=name,
                        from_="2024-09-01", to="2024-11-30")) == 1


def test_all_24_indicators_are_known(fmp):
    names = json.loads((TESTS / "fmp" / "_economy.json").read_text())
    assert len(names) == 24
    empty = {name for name in names
             if not rows(fmp, "economic-indicators", name=name)}
    assert empty == {"inflation", "3MonthOr90DayRatesAndYields"
                                  "CertificatesOfDeposit"}


def test_treasury_rates_keep_the_newest_three_months(fmp):
    found = rows(fmp, "treasury-rates", from_="2023-01-01", to="2024-12-31")
    assert found[0]["date"] == "2024-12-31"
    assert found[-1]["date"] >= "2024-09-30" and 60 <= len(found) <= 65
    assert rows(fmp, "treasury-rates")[0]["date"] == TODAY


def test_wide_economic_calendars_lose_rows(fmp):
    def count(first):
        return len(rows(fmp, "economic-calendar", from_=first,
                        to="2025-06-30"))
    assert count("2025-06-01") > 1500
    assert 500 < count("2025-01-01") < 600
    assert count("2024-03-01") == 0
    assert {row["country"] for row in rows(fmp, "economic-calendar",
                                           country="DE")} == {"DE"}


def test_sectors_are_those_of_nasdaq_unless_told(fmp):
    path = "sector-performance-snapshot"
    found = rows(fmp, path, date="2025-06-27")
    assert len(found) == 11
    assert {row["exchange"] for row in found} == {"NASDAQ"}
    nyse = rows(fmp, path, date="2025-06-27", exchange="nyse")
    assert nyse[0]["exchange"] == "NYSE"
    assert nyse[0]["averageChange"] != found[0]["averageChange"]
    assert rows(fmp, path, date="2025-06-27", exchange="BOGUS") == []
    assert rows(fmp, path, date="2025-06-28") == []
    assert len(rows(fmp, path, date="2025-06-27", sector="energy")) == 1
    assert ask(fmp, path, date="notadate").status == 400
    assert len(rows(fmp, "industry-performance-snapshot",
                    date="2025-06-27")) == 126


def test_a_snapshot_of_the_future_mixes_days(fmp):
    found = rows(fmp, "sector-performance-snapshot", date="2026-01-05")
    assert len({row["date"] for row in found}) > 1
    assert max(row["date"] for row in found) <= TODAY


def test_sector_histories_are_of_february_2024_unless_told(fmp):
    path = "historical-sector-performance"
    found = rows(fmp, path, sector="Energy")
    assert (found[0]["date"], found[-1]["date"], len(found)) == (
        "2024-03-01", "2024-02-01", 21)
    assert rows(fmp, path, sector="energy") == found
    assert rows(fmp, path, sector="Energy", from_="2025-01-02") == []
    assert rows(fmp, path, sector="Energy", to=TODAY)[-1]["date"] == (
        "2024-02-01")
    assert rows(fmp, path, sector="Nonsense") == []


def test_holidays_leave_their_first_day_out(fmp):
    path = "holidays-by-exchange"
    found = rows(fmp, path, exchange="NASDAQ", from_="2024-12-24",
                 to="2024-12-31")
    assert [row["date"] for row in found] == ["2024-12-25"]
    assert rows(fmp, path, exchange="NYSE")[-1]["date"] > "2024-06-30"


def test_markets_are_closed_at_the_weekend(fmp):
    row = rows(fmp, "exchange-market-hours", exchange="NYSE")[0]
    assert row["openingHour"] == "09:30 AM -04:00"
    with FmpServer(date="2025-06-28", tls=False) as sunday:
        row = rows(sunday, "exchange-market-hours", exchange="NYSE")[0]
        assert row["openingHour"] == "CLOSED"


# News, searches, lists

def test_news_wants_symbols_and_answers_apple_otherwise(fmp):
    for params in ({"symbol": "MSFT"}, {}, {"tickers": "KO"}):
        assert {row["symbol"] for row in rows(
            fmp, "news/stock", **params)} == {"AAPL"}
    assert rows(fmp, "news/crypto")[0]["symbol"] == "BTCUSD"
    assert rows(fmp, "news/forex", symbols="")[0]["symbol"] == "EURUSD"
    both = rows(fmp, "news/stock", symbols="MSFT,KO")
    assert {row["symbol"] for row in both} == {"MSFT", "KO"}
    assert "MSFT" in both[0]["title"] + both[1]["title"]
    for symbols in ("msft", "NOSUCH"):
        assert rows(fmp, "news/stock", symbols=symbols) == []


def test_news_has_20_rows_at_most_250_of_three_months(fmp):
    assert len(rows(fmp, "news/stock", symbols="KO")) == 20
    assert len(rows(fmp, "news/stock", symbols="KO", limit=1000)) == 250
    second = rows(fmp, "news/stock", symbols="KO", limit=250, page=1)
    assert second[-1]["publishedDate"] >= "2025-03-29" and len(second) < 250
    far = rows(fmp, "news/stock", symbols="KO", limit=250, page=1,
               from_="2024-01-01")
    assert len(far) == 250
    assert ask(fmp, "news/general-latest", page=101).status == 400


def test_filings_want_both_ends_and_filter_what_was_accepted(fmp):
    found = rows(fmp, "sec-filings-search/symbol", symbol="AAPL",
                 from_="2024-01-01", to="2024-12-31")
    assert all("2024-01-01" <= row["acceptedDate"][:10] <= "2024-12-31"
               for row in found)
    assert {row["formType"] for row in found} == {"10-K", "10-Q", "8-K"}
    assert {row["symbol"] for row in found} == {"AAPL"}


def test_latest_lists_are_100_rows_unless_asked(fmp):
    for path in ("insider-trading/latest", "insider-trading/search",
                 "sec-filings-8k", "symbol-change"):
        assert len(rows(fmp, path)) == 100
    assert len(rows(fmp, "insider-trading/latest", limit=300)) == 300
    assert len(rows(fmp, "delisted-companies", limit=500)) == 100
    assert rows(fmp, "delisted-companies")[0]["delistedDate"] > TODAY
    assert rows(fmp, "symbol-change", page=1) == rows(fmp, "symbol-change")


def test_insider_searches_filter(fmp):
    path = "insider-trading/search"
    for name, value in (("symbol", "KO"), ("transactionType", "S-Sale"),
                        ("reportingCik", "0001000002"),
                        ("companyCik", "0000320193")):
        found = rows(fmp, path, limit=20, **{name: value})
        assert {row[name] for row in found} == {value}


def test_institutions_are_filers_not_issuers(fmp):
    path = "institutional-ownership/extract"
    found = rows(fmp, path, cik="1067983", year=2024, quarter=3, limit=5,
                 page=2)
    assert len(found) == 45
    assert sum(row["symbol"] is None for row in found) == 15
    assert {row["cik"] for row in found} == {"0001067983"}
    assert rows(fmp, path, cik="320193", year=2024, quarter=3) == []
    assert rows(fmp, path, cik="1067983", year=1999, quarter=3) == []
    assert rows(fmp, "institutional-ownership/dates", cik="1067983")[0] == {
        "date": "2025-03-31", "year": 2025, "quarter": 1}


def test_funds_are_whole_and_their_symbols_any_case(fmp):
    found = rows(fmp, "etf/holdings", symbol="spy", limit=5, page=3)
    assert len(found) == 504 and found[-1]["asset"] == ""
    assert sum(row["weightPercentage"] for row in found) == pytest.approx(
        100, abs=0.5)
    assert rows(fmp, "etf/holdings", symbol="AAPL") == []
    assert rows(fmp, "etf/info", symbol="AAPL") == []
    assert rows(fmp, "etf/country-weightings", symbol="SPY")[0][
        "weightPercentage"] == "97.29%"
    assert rows(fmp, "shares-float", symbol="SPY")[0]["floatShares"] == 0


def test_lists_are_as_long_as_the_real_ones(fmp):
    for path, count in (("sp500-constituent", 503),
                        ("nasdaq-constituent", 102),
                        ("dowjones-constituent", 30),
                        ("market-risk-premium", 192),
                        ("available-sectors", 11),
                        ("available-industries", 159)):
        found = rows(fmp, path, limit=3)
        assert len(found) == count
        assert len({json.dumps(row) for row in found}) == count
    dow = {row["symbol"] for row in rows(fmp, "dowjones-constituent")}
    assert {"AAPL", "KO", "JPM"} < dow and "TSLA" not in dow


def test_searches_find(fmp):
    assert rows(fmp, "search-symbol", query="aap")[0]["symbol"] == "AAPL"
    assert rows(fmp, "search-name", query="coca")[0]["symbol"] == "KO"
    assert len(rows(fmp, "search-name", query="sample")) == 50
    assert len(rows(fmp, "search-name", query="sample", limit=7)) == 7
    assert rows(fmp, "search-symbol", query="zzz") == []
    assert rows(fmp, "search-cik", cik="320193")[0]["symbol"] == "AAPL"


def test_the_screener_screens(fmp):
    path = "company-screener"
    found = rows(fmp, path, sector="Technology", exchange="NASDAQ",
                 marketCapMoreThan=10 ** 12)
    assert {"AAPL", "MSFT"} <= {row["symbol"] for row in found}
    assert all(row["marketCap"] >= 10 ** 12 and row["sector"] == "Technology"
               and row["exchangeShortName"] == "NASDAQ" for row in found)
    price = found[0]["price"]
    assert found[0] in rows(fmp, path, priceMoreThan=price,
                            priceLowerThan=price)
    assert len(rows(fmp, path, market_cap_min=1)) == len(rows(fmp, path))
    assert rows(fmp, path, sector="Nonsense") == []
    assert {row["isEtf"] for row in rows(fmp, path, isEtf="true")} == {True}
    assert len(rows(fmp, path, limit=5)) == 5


def test_contracts_are_stale_unless_told_and_13_weeks_at_most(fmp):
    path = "commitment-of-traders-analysis"
    assert rows(fmp, path)[0]["date"] == "2024-02-27 00:00:00"
    found = rows(fmp, path, symbol="NG", from_="2023-01-01", to="2024-12-31")
    assert len(found) == 13 and found[0]["date"] == "2024-12-31 00:00:00"


# Trouble on request

def trouble(secure, name, path="quote", **more):
    return ask(secure, path, symbol=f"FAULT-{name}", **more)


def test_pages_of_a_broken_gateway(secure):
    for status in (500, 502):
        answer = trouble(secure, status)
        assert answer.status == status
        assert answer.headers["Content-Type"] == "text/html"
        assert answer.body.startswith(b"<html>")


def test_successes_that_are_none(secure):
    assert list(trouble(secure, "MESSAGE").json) == ["Error Message"]
    assert trouble(secure, "NAME").body == b"Invalid name"
    assert trouble(secure, "TEXT").body.startswith(b"<html>")
    with pytest.raises(UnicodeDecodeError):
        trouble(secure, "BYTES").body.decode()
    for name in ("NAME", "TEXT", "BYTES"):
        answer = trouble(secure, name)
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("application/json")


def test_a_redirect_leads_to_another_host_where_a_follower_is_seen(secure):
    answer = trouble(secure, "REDIRECT", key=None, apikey="demo-secret")
    assert answer.status == 302
    place = urllib.parse.urlsplit(answer.headers["Location"])
    assert (place.hostname, place.path) == ("127.0.0.1", "/stolen")
    assert "demo-secret" in place.query
    ask(secure, "stolen", base=f"https://127.0.0.1:{secure.port}")
    assert secure.requests[-1].path == "/stolen"


def test_an_echo_tells_the_key_in_every_way(secure):
    key = "demo-a/b+c%d"
    answer = trouble(secure, "ECHO", key=key)
    quoted = "demo-a%2Fb%2Bc%25d"
    for text in (json.dumps(answer.json), answer.headers["X-Echo"]):
        assert key in text and quoted in text
    assert quoted.replace("%2F", "%2f").replace("%2B", "%2b") in (
        answer.body.decode())
    assert answer.json[0]["request"].startswith("GET /stable/quote?symbol=")
    typed = trouble(secure, "ECHOTYPE", key="demo-secret")
    assert typed.headers["Content-Type"].endswith("; apikey=demo-secret")
    assert typed.json[0]["symbol"] == "FAULT-ECHOTYPE"


def test_a_body_that_ends_too_soon(secure):
    with pytest.raises((http.client.IncompleteRead, ssl.SSLError)):
        trouble(secure, "DROP")
    with pytest.raises((urllib.error.URLError, ConnectionError,
                        http.client.RemoteDisconnected)):
        trouble(secure, "RESET")


@pytest.mark.parametrize("name", ["STALL", "HALT"])
def test_no_answer_ever_and_the_client_is_seen_to_go(secure, name):
    with pytest.raises(TimeoutError):
        trouble(secure, name, timeout=0.3)
    asked = secure.requests[-1]
    until = time.monotonic() + 5
    while not asked.gone and time.monotonic() < until:
        time.sleep(0.01)
    assert asked.gone
    assert asked.status == (200 if name == "HALT" else 0)


def test_a_slow_body_comes(secure):
    before = time.monotonic()
    assert trouble(secure, "SLOW-1", "profile").json[0]["companyName"]
    assert 0.9 < time.monotonic() - before < 5


def test_bodies_of_any_size(secure):
    for size in (4, 100, 70000, 3 * 10 ** 6):
        for name in ("HUGE", "LENGTH"):
            body = trouble(secure, f"{name}-{size}").body
            assert len(body) == size and len(json.loads(body)) == 1
    packed = trouble(secure, f"BOMB-{3 * 10 ** 6}")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.body) < 10000
    assert len(gzip.decompress(packed.body)) == 3 * 10 ** 6


def test_a_gibibyte_is_streamed_and_may_be_left(secure):
    context = ssl.create_default_context(cafile=secure.ca)
    for name, told in (("HUGE", None), ("LENGTH", str(2 ** 30))):
        connection = http.client.HTTPSConnection("localhost", secure.port,
                                                 context=context)
        connection.request("GET", f"/stable/quote?symbol=FAULT-{name}",
                           headers={"apikey": "demo"})
        answer = connection.getresponse()
        assert answer.headers["Content-Length"] == told
        assert len(answer.read(10 ** 6)) == 10 ** 6
        answer.close()
        connection.close()


def test_trouble_that_passes(secure):
    busy = [trouble(secure, "BUSY-1") for _ in range(3)]
    assert [answer.status for answer in busy] == [429, 200, 429]
    assert busy[1].json[0]["symbol"] == "FAULT-BUSY-1"
    assert "Retry-After" not in busy[0].headers
    later = [trouble(secure, "LATER-3") for _ in range(2)]
    assert [answer.status for answer in later] == [429, 200]
    assert later[0].headers["Retry-After"] == "3"
    once = [trouble(secure, f"ONCE-{n}").status for n in (1, 1, 2, 2)]
    assert once == [500, 200, 500, 200]


def test_odd_numbers(secure):
    fraction = trouble(secure, "FRACTION").json[0]
    assert fraction["volume"] % 1 == pytest.approx(0.9995)
    assert fraction["symbol"] == "FAULT-FRACTION"
    nulls = trouble(secure, "NULLS").json[0]
    assert nulls["open"] is nulls["changePercentage"] is None
    assert nulls["price"]


def test_trouble_is_found_among_symbols_and_needs_a_key(secure):
    found = ask(secure, "batch-quote", symbols="KO,FAULT-NULLS").json
    assert [row["symbol"] for row in found] == ["KO", "FAULT-NULLS"]
    assert trouble(secure, "500", key="wrong").status == 401


def test_calls_at_once_are_counted(secure):
    secure.peak = 0
    threads = [threading.Thread(target=trouble, args=(secure, "SLOW-1"))
               for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert secure.peak == 5


# The server itself

def test_nothing_is_left_when_it_cannot_start(fmp):
    server = FmpServer(port=fmp.port)
    with pytest.raises(OSError):
        server.__enter__()
    assert not server.directory.exists()


def test_nothing_is_left_when_it_ends():
    with FmpServer() as server:
        assert ask(server, "quote", symbol="AAPL").status == 200
    assert not server.directory.exists()
    with pytest.raises(urllib.error.URLError, match="refused"):
        ask(server, "quote", symbol="AAPL")


def test_tls_is_real(secure):
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY"):
        urllib.request.urlopen(secure.url + "/quote", timeout=5)
    with FmpServer(date=TODAY, name="elsewhere.example") as other:
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY"):
            ask(other, "quote", symbol="AAPL")
    assert ask(secure, "quote", symbol="AAPL").status == 200


def test_the_servers_own_key_is_its_own(secure):
    mode = (secure.directory / "server.key").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert not (secure.directory / "ca.key").exists()


def test_plain_http_answers_the_same(secure):
    with FmpServer(date=TODAY, tls=False) as plain:
        assert plain.url.startswith("http://")
        assert ask(plain, "profile", symbol="KO").body == ask(
            secure, "profile", symbol="KO").body


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_program_says_where_it_is_and_ends_when_told(tmp_path, number):
    server = subprocess.Popen(
        [sys.executable, TESTS / "fmp_server.py", "--directory", tmp_path,
         "--date", TODAY], stdout=subprocess.PIPE, text=True)
    url, ca = server.stdout.readline().split()
    context = ssl.create_default_context(cafile=ca)
    request = urllib.request.Request(url + "/quote?symbol=FAULT-STALL",
                                     headers={"apikey": "demo"})
    with pytest.raises(TimeoutError):       # one call is under way
        urllib.request.urlopen(request, timeout=0.3, context=context)
    assert url.startswith("https://localhost:")
    assert ca == str(tmp_path / "ca.pem")
    server.send_signal(number)
    assert server.wait(5) == 0
    server.stdout.close()

"""What the API answers wrongly without a word, and how it refuses: a program
gets the right thing, or is told. From nginx to the stand-in and back."""

import pytest
from fmp_server import FmpServer
from service import Service


@pytest.fixture(scope="module")
def service():
    with FmpServer() as fmp, Service(fmp_url=fmp.url, fmp_ca=fmp.ca,
                                     fmp_rate=0) as service:
        yield service


#: (name, an expression over what the API does, an expression that must hold)
TRAPS = {
    "newest_first": "fmp.historical_prices('AAPL').index.is_monotonic_increasing",
    "5000_rows_at_most": "len(fmp.historical_prices('AAPL', start='1998-01-01'))"
                         " > 6500",
    "five_years_by_default": "len(fmp.historical_prices('AAPL', years=10)) > 2400",
    "comma_list_on_one_symbol": "set(fmp.historical_prices('AAPL,MSFT', "
                                "days=30)['symbol']) == {'AAPL', 'MSFT'}",
    "dotted_class_share": "fmp.quote('BRK.B')['symbol'] == 'BRK-B'",
    "lower_case_symbol": "fmp.quote('aapl')['symbol'] == 'AAPL'",
    "limit_5_by_default": "len(fmp.income_statement('AAPL', limit=12)) == 12",
    "ratings_1_row": "len(fmp.ratings_historical('AAPL')) > 1",
    "grades_ignore_limit": "len(fmp.grades('AAPL', limit=7)) == 7",
    "dividends_ignore_dates": "fmp.dividends('AAPL', start='2020-01-01', "
                              "end='2021-12-31')['date'].dt.year.between("
                              "2020, 2021).all()",
    "market_cap_3_months": "len(fmp.historical_market_cap('AAPL', years=2)) > 480",
    "treasury_3_months": "(lambda d: len(d) > 480 and not "
                         "d.index.duplicated().any())(fmp.treasury_rates(years=2))",
    "gdp_over_a_year": "len(fmp.economic_indicator('GDP', years=3)) >= 11",
    "indicator_case": "len(fmp.economic_indicator('cpi', years=1)) >= 10",
    "calendar_4000": "(lambda d: len(d) > 4000 and not d.duplicated(["
                     "'symbol', 'date']).any())(fmp.earnings_calendar("
                     "start='2022-01-01', end='2025-12-31'))",
    "splits_90_days": "(lambda d: (d['date'].max() - d['date'].min()).days > 100)"
                      "(fmp.splits_calendar(start='2025-01-01', "
                      "end='2025-12-31'))",
    "wide_economic_calendar": "len(fmp.economic_calendar(start='2026-01-01', "
                              "end='2026-03-31')) > 3000",
    "snapshot_of_a_weekend": "len(fmp.sector_performance(date='2026-11-28')) > 0",
    "february_2024": "fmp.historical_sector_performance('Technology', "
                     "days=60).index[-1].year >= 2026",
    "news_needs_symbols": "set(fmp.stock_news('MSFT', limit=5)['symbol'])"
                          " == {'MSFT'}",
    "news_lower_case": "len(fmp.stock_news('msft', limit=5)) == 5",
    "intraday_has_no_symbol": "set(fmp.intraday('AAPL', '5min')['symbol'])"
                              " == {'AAPL'}",
    "percent_as_text": "fmp.etf_country_weightings('SPY')"
                       "['weightPercentage'].dtype == float",
    "year_as_text": "fmp.income_statement('AAPL')['fiscalYear'].dtype == int",
    "estimates_need_a_period": "len(fmp.analyst_estimates('AAPL')) > 0",
    "filings_need_both_dates": "len(fmp.sec_filings('AAPL')) > 0",
    "batch_drops_unknown": "len(fmp.quote(['AAPL', 'NOPE', 'MSFT'])) == 2",
    "fractional_volume": "fmp.historical_prices('FAULT-FRACTION')"
                         "['volume'].dtype == float",
    "nulls_in_a_quote": "fmp.quote('FAULT-NULLS').get('open') is None",
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_is_stepped_around(service, name):
    reply = service.run(f"print(bool({TRAPS[name]}))", key="demo-traps")
    assert reply["error"] is None, reply["error"]
    assert reply["output"].splitlines()[-1] == "True", reply["output"]


def test_what_was_dropped_is_said(service):
    reply = service.run("fmp.quote(['AAPL', 'NOPE', 'MSFT'])", key="demo-traps")
    assert "NOPE" in reply["output"]


def test_an_empty_range_is_an_empty_frame_and_a_line(service):
    reply = service.run("d = fmp.historical_prices('AAPL', '2050-01-01', "
                        "'2050-02-01')\nprint(len(d), 'close' in d)",
                        key="demo-traps")
    assert "0 True\n" in reply["output"] and "0 rows" in reply["output"]


#: (key, call, type, words that its message must have)
REFUSALS = {
    "no_key": (None, "quote('AAPL')", "FMPAuthError", ["no FMP key", "`key`"]),
    "wrong_key": ("nonsense", "quote('AAPL')", "FMPAuthError",
                  ["does not accept the key", "401"]),
    "suspended": ("suspended-1", "quote('AAPL')", "FMPAuthError",
                  ["suspended"]),
    "symbol": ("free-1", "income_statement('VOD.L')", "FMPPlanError",
               ["402", "symbol", "do not retry"]),
    "endpoint": ("free-2", "etf_holdings('SPY')", "FMPPlanError",
                 ["402", "endpoint not in", "etf_info"]),
    "period": ("free-3", "income_statement('AAPL', period='quarter')",
               "FMPPlanError", ["402", "period"]),
    "exhausted": ("exhausted-1", "quote('AAPL')", "FMPRateLimitError",
                  ["429", "limit"]),
    "bandwidth": ("bandwidth-1", "quote('AAPL')", "FMPRateLimitError",
                  ["429", "andwidth"]),
    "unknown_symbol": ("demo-1", "quote('NOPE')", "FMPNotFoundError",
                       ["no data for 'NOPE'", "fmp.search"]),
    "unknown_argument": ("demo-1", "historical_prices('AAPL', timeseries=5)",
                         "FMPParamError", ["timeseries", "Valid: symbol"]),
    "unknown_indicator": ("demo-1", "economic_indicator('Inflatoin')",
                          "FMPParamError", ["unknown name", "inflationRate"]),
    "unknown_path": ("demo-1", "get('no-such-path')", "FMPParamError",
                     ["no-such-path"]),
    "missing_argument": ("demo-1", "income_statement()", "FMPParamError",
                         ["symbol"]),
    "bad_date": ("demo-1", "historical_prices('AAPL', start='yesteryear')",
                 "FMPParamError", ["start", "yesteryear"]),
    "bad_period": ("demo-1", "income_statement('AAPL', period='Q9')",
                   "FMPParamError", ["period", "Q9"]),
    "bad_interval": ("demo-1", "intraday('AAPL', '7min')", "FMPParamError",
                     ["interval", "7min"]),
    "server_error": ("demo-1", "quote('FAULT-500')", "FMPServerError", ["500"]),
    "gateway": ("demo-1", "quote('FAULT-502')", "FMPServerError", ["502"]),
    "error_as_200": ("demo-1", "quote('FAULT-MESSAGE')", "FMPNotFoundError", []),
    "no_json": ("demo-1", "quote('FAULT-TEXT')", "FMPServerError", []),
    "no_utf8": ("demo-1", "quote('FAULT-BYTES')", "FMPServerError", []),
    "redirect": ("demo-1", "quote('FAULT-REDIRECT')", "FMPServerError",
                 ["another address"]),
    "broken_body": ("demo-1", "quote('FAULT-DROP')", "FMPServerError", []),
    "no_method": ("demo-1", "quotee('AAPL')", "AttributeError",
                  ["quotee", "quote", "fmp.help"]),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_says_what_to_do(service, name):
    key, call, kind, words = REFUSALS[name]
    reply = service.run(f"print('before')\nfmp.{call}",
                        **({"key": key} if key else {}))
    error = reply["error"]
    assert reply["output"].startswith("before\n")
    assert error["type"] == kind, error
    assert [word for word in words if word not in error["message"]] == [], error
    # Of the program alone, and nothing of where things are.
    assert error["line"] == 2 and error["traceback"].count("File ") == 1, error
    for secret in (key or "127.0.0.1", "127.0.0.1", "localhost", "apikey"):
        assert secret not in str(reply).replace(f"'{secret}'", ""), secret

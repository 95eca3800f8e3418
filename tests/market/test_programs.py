"""Programs that use `fmp`, from nginx to the stand-in server and back.

programs/NAME.py is one as a language model writes it; its first line says
what must hold of the reply. And every method by every name that it has.
"""

import json
import pathlib

import pytest
from fmp_server import ENDPOINTS, FmpServer
from service import Service

HERE = pathlib.Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
EXPECTED = "# expected: "

TABLE = json.loads(ENDPOINTS.read_text())
CATEGORIES = sorted({endpoint["category"] for endpoint in TABLE})

#: What a required parameter gets, and where that would be nothing.
VALUES = {
    "symbol": "AAPL", "symbols": ["AAPL", "MSFT"], "query": "apple",
    "cik": "320193", "isin": "US0378331005", "cusip": "037833100",
    "exchange": "NASDAQ", "sector": "Technology", "industry": "Biotechnology",
    "formType": "10-K", "name": "CPI", "year": 2025, "quarter": 3,
    "periodLength": 10, "timeframe": "1day", "interval": "5min",
    "period": "annual", "indicator": "sma"}
SYMBOLS = {
    "etf_holdings": "SPY", "etf_info": "SPY", "etf_sector_weightings": "SPY",
    "etf_country_weightings": "SPY", "cot_analysis": "NG",
    "crypto_news": "BTCUSD", "forex_news": "EURUSD"}
#: The one filer that the stand-in knows.
CIKS = dict.fromkeys(("form_13f", "form_13f_dates"), "0001067983")


@pytest.fixture(scope="module")
def service():
    with FmpServer() as fmp, Service(
            fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_rate=0,
            fmp_calls=10000) as service:
        yield service


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_as_models_write_it(service, path):
    code = path.read_text()
    assert code.startswith(EXPECTED)
    reply = service.run(code, key="demo-programs")
    assert eval(code.splitlines()[0].removeprefix(EXPECTED), {
        "reply": reply, "output": reply["output"],
        "result": reply["result"]}), {
            name: reply[name] for name in ("output", "error", "result")}


EVERY_NAME = """
import json
def shape(found):
    if isinstance(found, pd.DataFrame):
        return {"rows": len(found), "ordered": bool(
            found.index.is_monotonic_increasing and found.index.name is None),
            "dated": isinstance(found.index, pd.DatetimeIndex),
            "columns": {name: str(kind) for name, kind in found.dtypes.items()}}
    return {"record": {name: type(value).__name__
                       for name, value in found.items()}}
def same(one, other):
    if isinstance(one, pd.DataFrame):
        return one.equals(other)
    return list(map(str, one.items())) == list(map(str, other.items()))
from sandbox.fmp.table import table
def also(name, alias, arguments):
    # Some names choose: fmp.ema is fmp.technical_indicator for "ema".
    endpoint, choice = table().resolve(alias)
    return endpoint.name == name and same(
        getattr(fmp, name)(**arguments, **({endpoint.choice: choice} if choice
                                           else {})),
        getattr(fmp, alias)(**arguments))
for name, (arguments, aliases) in methods.items():
    found = getattr(fmp, name)(**arguments)
    other = [alias for alias in (*aliases, "get_" + name, "fetch_" + name)
             if not also(name, alias, arguments)]
    print(json.dumps([name, shape(found), other]))
"""

NUMBERS = ("float64", "int64", "float", "int", "NoneType")


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_method_by_every_name(service, category):
    endpoints = {endpoint["method"]: endpoint for endpoint in TABLE
                 if endpoint["category"] == category}
    methods = {}
    for name, endpoint in endpoints.items():
        arguments = {one: VALUES[one] for one in endpoint["required"]
                     if one in VALUES}
        if name in SYMBOLS:
            arguments["symbols" if "symbols" in arguments else
                      "symbol"] = SYMBOLS[name]
        if name in CIKS:
            arguments["cik"] = CIKS[name]
        methods[name] = arguments, endpoint["aliases"]
    reply = service.run(EVERY_NAME, key="demo-names",
                        context={"methods": methods})
    assert reply["error"] is None, reply["error"]
    told = {}
    for line in reply["output"].splitlines():
        if line.startswith("["):
            name, shape, other = json.loads(line)
            told[name] = shape
            assert other == [], f"{name} is something else as {other}"
    assert told.keys() == endpoints.keys()
    for name, endpoint in endpoints.items():
        check_shape(endpoint, told[name])


def check_shape(endpoint, shape):
    """Its columns are those of the table, of its types, oldest first."""
    columns = shape.get("columns") or shape["record"]
    name = endpoint["method"]
    if "columns" in shape:
        assert shape["rows"] > 0, name
        assert shape["ordered"] or not shape["dated"], name
        assert shape["dated"] == (endpoint["returns"] == "frame(ts)"), name
    for field in endpoint["fields"]:
        if field["name"] not in columns:
            # Taken apart into columns, or never sent (endpoints.json).
            assert (field["type"] in ("array", "object")
                    or f"no {field['name']}" in endpoint["notes"]), (
                        name, field)
            continue
        kind = columns[field["name"]]
        if field.get("kind") == "date" and "columns" in shape:
            assert kind.startswith("datetime64"), (name, field, kind)
        elif field["type"] == "number":
            assert kind in NUMBERS, (name, field, kind)

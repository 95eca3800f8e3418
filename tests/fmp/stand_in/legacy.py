"""The two bodies of /api/v3 that an account of before September 2025 gets."""

import datetime

from .market import sample
from .prices import daily
from .request import Refused, Request, personal

PRICES = {"stable": "historical-price-eod", "required": ["symbol"],
          "method": "", "sample": None}


def answer(market, path, params):
    name, _, symbols = path.removeprefix("/api/v3/").partition("/")
    if name == "quote":
        return [personal(sample("quote_legacy_v3")[0],
                         market.companies[symbol], market)
                for symbol in symbols.split(",")
                if symbol in market.companies]
    if name != "historical-price-full":
        raise Refused("unknown_path")
    if symbols not in market.companies:
        raise Refused("unknown_symbol_v3_prices")
    request = Request(market, PRICES, "", params | {"symbol": symbols})
    rows = []
    for row, adjusted in zip(daily("full")(request),
                             daily("adjusted")(request)):
        day = datetime.date.fromisoformat(row["date"])
        rows.append({
            "date": row["date"], "open": row["open"], "high": row["high"],
            "low": row["low"], "close": row["close"],
            "adjClose": adjusted["adjClose"], "volume": row["volume"],
            "unadjustedVolume": row["volume"], "change": row["change"],
            "changePercent": row["changePercent"], "vwap": row["vwap"],
            "label": f"{day:%B %d, %y}",
            "changeOverTime": round(row["changePercent"] / 100, 7)})
    return {"symbol": symbols, "historical": rows}

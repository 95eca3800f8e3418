"""What the stand-in answers, endpoint by endpoint.

answer() gives the rows of one endpoint for the parameters of a request.
RULES says for each method where its rows come from and which of `limit` and
`page` it honours; a method without a line there answers its sample, told of
the symbol asked for. Every source yields rows newest first, and a source with
dates knows the window that FMP cuts to.

What is not in the endpoints' notes or in the measurements they rest on is a
guess: the default windows of earnings and dividends (60 days back, 30 ahead)
and of the economic calendar (30 days), 10 rows of estimates and holders and
1,000 of the screener unless asked, and that endpoints of no recorded tier are
open to the free plan's sample symbols.
"""

import itertools
import re

from .economy import (closures, coins, economic_calendar, exchanges, goods,
                      hours, indicator, pairs, sector_history, snapshot,
                      traders, treasury, words)
from .events import (calendar, dividends_of, earnings_of, filings,
                     is_traded, news, own, splits_of, transcript)
from .holdings import (assets, exposure, filer_quarters, holders,
                       holdings_13f, sector_weights)
from .market import CLASSES, EXCHANGES
from .prices import (EOD_ROWS, MINUTES, caps, change_since, constituents,
                     daily, found, intraday, moved, of_class, on_exchange,
                     peers, picked, screened, technical)
from .request import (ALL, Refused, Request, again, copies, every, is_number,
                      month_firsts, parse_date, quarter_ends, sessions, told)
from .statements import (estimates, growth, report_dates, reported, scores,
                         statements, trailing, valuation, worked_out)

# What a required parameter must be; any other must not be empty.
VALID = {"date": parse_date, "from": parse_date, "to": parse_date,
         "year": is_number, "quarter": is_number, "periodLength": is_number,
         "period": ("annual", "quarter").__contains__}


def answer(market, endpoint, segment, params):
    """The rows of an answer; raises Refused."""
    request = Request(market, endpoint, segment, params)
    rule = RULES.get(request.method, {})
    check(request)
    if rule.get("only") and (request.company is None or
                             request.company.cls not in rule["only"]):
        return []
    rows = rule.get("rows", told)(request)
    limit, most = rule.get("limit", (None, ALL))
    if limit is None:
        return list(rows)
    limit = max(min(request.number("limit", limit), most), 0)
    first = limit * max(request.number("page", 0), 0) * rule.get("page", 0)
    return list(itertools.islice(rows, first, first + limit))


def check(request):
    """Refuse what FMP refuses, one parameter at a time."""
    for name in request.endpoint["required"]:
        if "(path)" in name or name == "symbols" and is_news(request):
            continue
        if not VALID.get(name, bool)(request.get(name)):
            raise Refused("missing_param", "symbol", name)
    if re.fullmatch("Q[^1-4].*", request.get("period")):
        raise Refused("missing_param", "symbol", "period")
    if is_news(request) and request.number("page", 0) > 100:
        raise Refused("page_too_big")
    if request.method in ("market_hours", "holidays"):
        if request.get("exchange").upper() not in EXCHANGES:
            raise Refused("bad_exchange")
    if "timeframe" in request.endpoint["required"]:
        if request.get("timeframe") not in (*MINUTES, "1day"):
            raise Refused("bad_timeframe")


def is_news(request):
    return request.endpoint["stable"].startswith("news/")


FIRST, STOCK, ETF = (5, ALL), ("stock",), ("etf",)
LATEST = dict(limit=(100, 1000), page=1)
NEWS = dict(limit=(20, 250), page=1)


RULES = {
    "quote": dict(rows=picked(Request.asked)),
    "quote_short": dict(rows=picked(Request.asked)),
    "batch_quote": dict(rows=picked(Request.asked)),
    "batch_quote_short": dict(rows=picked(Request.asked)),
    "exchange_quotes": dict(rows=picked(on_exchange)),
    "forex_quotes": dict(rows=picked(of_class("forex"))),
    "crypto_quotes": dict(rows=picked(of_class("crypto"))),
    "commodity_quotes": dict(rows=picked(of_class("commodity"))),
    "index_quotes": dict(rows=picked(of_class("index"))),
    "price_change": dict(rows=change_since),
    "historical_prices": dict(rows=daily("full")),
    "historical_prices_light": dict(rows=daily("light")),
    "historical_prices_adjusted": dict(rows=daily("adjusted")),
    "historical_prices_unadjusted": dict(rows=daily("raw")),
    "intraday": dict(rows=intraday),
    "technical_indicator": dict(rows=technical),
    "peers": dict(rows=picked(peers)),
    "market_cap": dict(rows=picked(Request.asked)),
    "market_caps": dict(rows=picked(Request.asked)),
    "historical_market_cap": dict(rows=caps, limit=(ALL, EOD_ROWS)),
    "executives": dict(rows=lambda request: request.sample,
                       only=STOCK),
    "executive_compensation": dict(rows=again(every(365), each=2),
                                   only=STOCK),
    "employee_count": dict(rows=again(every(365)), only=STOCK,
                           limit=(ALL, ALL)),
    "delisted_companies": dict(rows=again(every(7), ahead=14, since=2015,
                                          invent=True),
                               limit=(100, 100), page=1),
    "search": dict(rows=picked(of_class(*CLASSES), found("symbol")),
                   limit=(50, ALL)),
    "search_name": dict(rows=picked(of_class(*CLASSES), found("name")),
                        limit=(50, ALL)),
    "search_cik": dict(rows=picked(of_class("stock"), found("cik")),
                       limit=(50, ALL)),
    "search_isin": dict(rows=picked(of_class("stock", "etf"),
                                    found("isin"))),
    "search_cusip": dict(rows=picked(of_class("stock", "etf"),
                                     found("cusip"))),
    "screener": dict(rows=screened, limit=(1000, ALL), page=1),
    "stock_list": dict(rows=picked(of_class("stock", "etf"))),
    "etf_list": dict(rows=picked(of_class("etf"))),
    "industries": dict(rows=lambda _: [{"industry": name}
                                       for name in words("industry")]),
    "exchanges": dict(rows=exchanges),
    "symbol_changes": dict(rows=again(every(3)), limit=(100, ALL)),
    "income_statement": dict(rows=statements("income"), limit=FIRST),
    "balance_sheet": dict(rows=statements("balance"), limit=FIRST),
    "cash_flow": dict(rows=statements("cash"), limit=FIRST),
    "income_statement_ttm": dict(rows=statements("income", "quarter", 4),
                                 limit=FIRST),
    "balance_sheet_ttm": dict(rows=statements("balance", "quarter", 4),
                              limit=FIRST),
    "cash_flow_ttm": dict(rows=statements("cash", "quarter", 4),
                          limit=FIRST),
    "ratios": dict(rows=worked_out("ratios"), limit=FIRST),
    "ratios_ttm": dict(rows=trailing("ratios")),
    "key_metrics": dict(rows=worked_out("metrics"), limit=FIRST),
    "key_metrics_ttm": dict(rows=trailing("metrics")),
    "enterprise_values": dict(rows=worked_out("values"), limit=FIRST),
    "financial_growth": dict(rows=growth("balance", "cash", "income"),
                             limit=FIRST),
    "income_growth": dict(rows=growth("income"), limit=FIRST),
    "balance_sheet_growth": dict(rows=growth("balance"), limit=FIRST),
    "cash_flow_growth": dict(rows=growth("cash"), limit=FIRST),
    "financial_scores": dict(rows=scores),
    "owner_earnings": dict(rows=worked_out("owner", "quarter"),
                           limit=(5, 50)),
    "revenue_by_product": dict(rows=reported("product")),
    "revenue_by_region": dict(rows=reported("region")),
    "income_as_reported": dict(rows=reported("reported"), limit=FIRST),
    "financial_reports_dates": dict(rows=report_dates),
    "dcf": dict(only=STOCK), "levered_dcf": dict(only=STOCK),
    "custom_dcf": dict(rows=valuation),
    "dividends": dict(rows=own(dividends_of), limit=(ALL, ALL)),
    "splits": dict(rows=own(splits_of), limit=(ALL, ALL)),
    "earnings": dict(rows=own(earnings_of), limit=(ALL, ALL)),
    "earnings_calendar": dict(rows=calendar(earnings_of)),
    "dividends_calendar": dict(rows=calendar(dividends_of)),
    "splits_calendar": dict(rows=calendar(splits_of, 90, paged=False)),
    "ipos_calendar": dict(rows=again(every(2), 90, 90, 30, ranged=True,
                                     invent=True)),
    "economic_indicator": dict(rows=indicator),
    "treasury_rates": dict(rows=treasury),
    "economic_calendar": dict(rows=economic_calendar),
    "market_risk_premium": dict(rows=copies(192, "country")),
    "sector_performance": dict(rows=snapshot("sector", "averageChange")),
    "industry_performance": dict(rows=snapshot("industry", "averageChange")),
    "historical_sector_performance": dict(rows=sector_history),
    "sector_pe": dict(rows=snapshot("sector", "pe")),
    "gainers": dict(rows=moved(lambda fact: -fact["changePercentage"])),
    "losers": dict(rows=moved(lambda fact: fact["changePercentage"])),
    "most_active": dict(rows=moved(lambda fact: -fact["volume"])),
    "market_hours": dict(rows=hours),
    "holidays": dict(rows=closures),
    "stock_news": dict(rows=news("AAPL"), **NEWS),
    "press_releases": dict(rows=news("AAPL"), **NEWS),
    "crypto_news": dict(rows=news("BTCUSD"), **NEWS),
    "forex_news": dict(rows=news("EURUSD"), **NEWS),
    "stock_news_latest": dict(rows=news("AAPL", searched=False), **NEWS),
    "general_news": dict(rows=news("AAPL", searched=False), **NEWS),
    "fmp_articles": dict(rows=again(every(1)), **NEWS),
    "sec_filings": dict(rows=filings, **LATEST),
    "sec_filings_by_form": dict(rows=filings, **LATEST),
    "sec_filings_8k": dict(rows=again(sessions, 90, ranged=True, each=3),
                           **LATEST),
    "insider_trading": dict(rows=again(every(4), keep=is_traded), **LATEST),
    "insider_trading_latest": dict(rows=again(every(1), each=2), **LATEST),
    "insider_statistics": dict(rows=again(quarter_ends), only=STOCK),
    "institutional_holders": dict(rows=holders(60), only=STOCK,
                                  limit=(10, 1000), page=1),
    "institutional_summary": dict(rows=holders(1), only=STOCK),
    "form_13f": dict(rows=holdings_13f),
    "form_13f_dates": dict(rows=filer_quarters),
    "senate_trades": dict(rows=again(every(23)), only=STOCK, **LATEST),
    "house_trades": dict(rows=again(every(17)), only=STOCK, **LATEST),
    "etf_holdings": dict(rows=assets, only=ETF),
    "etf_info": dict(only=ETF),
    "etf_sector_weightings": dict(rows=sector_weights, only=ETF),
    "etf_country_weightings": dict(only=ETF),
    "etf_asset_exposure": dict(rows=exposure, only=STOCK),
    "sp500_constituents": dict(rows=constituents(503)),
    "nasdaq_constituents": dict(rows=constituents(102, None, "NASDAQ")),
    "dowjones_constituents": dict(rows=constituents(30, "dow")),
    "historical_sp500_constituents": dict(rows=again(every(20))),
    "indexes": dict(rows=picked(of_class("index"))),
    "forex_list": dict(rows=pairs), "crypto_list": dict(rows=coins),
    "commodities_list": dict(rows=goods),
    "analyst_estimates": dict(rows=estimates, limit=(10, 1000), page=1),
    "price_target_consensus": dict(only=STOCK),
    "price_target_summary": dict(only=STOCK),
    "rating": dict(only=STOCK), "grades_consensus": dict(only=STOCK),
    "historical_ratings": dict(rows=again(sessions), only=STOCK,
                               limit=(1, ALL)),
    "grades": dict(rows=again(every(9)), only=STOCK),
    "historical_grades": dict(rows=again(month_firsts, since=2018),
                              only=STOCK, limit=(ALL, ALL)),
    "transcript": dict(rows=transcript),
    "transcript_dates": dict(rows=again(every(91), since=2005), only=STOCK),
    "esg": dict(rows=again(every(91), since=2015), only=STOCK),
    "cot_analysis": dict(rows=traders),
}

"""Accounts and plans: what they may ask for, and how often."""

import datetime
import functools

from .market import companies
from .request import Refused

TIERS = ("Free", "Starter", "Premium", "Ultimate")
DAY, MINUTE = 86400, 60
# Plan: its tier, calls allowed, in how many seconds.
PLANS = {"demo": (3, 10 ** 9, 1), "free": (0, 250, DAY),
         "starter": (1, 300, MINUTE), "premium": (2, 750, MINUTE),
         "ultimate": (3, 3000, MINUTE), "legacy": (3, 3000, MINUTE),
         "old": (0, 250, DAY), "older": (0, 250, DAY)}
CLOSED = {"exhausted": "rate_limit", "bandwidth": "bandwidth_limit",
          "suspended": "account_suspended"}
GATES = {"old": "plan_endpoint_old", "older": "plan_endpoint_2021"}
BULK_CALLS = 2      # a minute
# Ending of a symbol: the tier that sees that exchange. BRK.B has none.
ABROAD = {"TO": 2, "L": 2, "T": 3, "HK": 3, "DE": 3, "PA": 3, "SW": 3}


def gate(plan, path, endpoint, segment, params, today):
    """Raise Refused for what is not in the plan; it is asked before the
    parameters are looked at."""
    tier = PLANS[plan][0]
    needed = endpoint["tier"].split("*")[0].split(" ")[0]
    needed = TIERS.index(needed) if needed in TIERS else 0
    if segment == "1min" or path.endswith("-bulk"):
        needed = 3
    if tier < needed:
        raise Refused(GATES.get(plan, "plan_endpoint"))
    names = params.get("symbol") or params.get("symbols") or ""
    free = endpoint["tier"] != "Free"
    for name in filter(None, names.split(",")):
        abroad = ABROAD.get(name.partition(".")[2], 0)
        if tier < abroad or tier == 0 and free and name not in samples():
            raise Refused("plan_symbol")
    if tier == 0 and endpoint["category"] == "statements":
        limit = params.get("limit", "")
        if limit.isdecimal() and int(limit) > 5:
            raise Refused("plan_limit_value")
    if tier == 0 and params.get("period", "").startswith(("quarter", "Q")):
        raise Refused("plan_param_value")
    oldest = today - datetime.timedelta(5 * 365 + 2)
    if tier < 2 and path.startswith("historical-price-eod") and (
            "0000" < params.get("from", "") < str(oldest)):
        raise Refused("plan_param_value", "period", "from")


@functools.cache
def samples():
    """The symbols of the free plan that are here."""
    return {name for name, company in companies().items()
            if "free" in company.flags.split()}

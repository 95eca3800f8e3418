"""What can go wrong with market data, as exceptions that say what to do.

Each message is what + why + what next, in a line or two. problem() reads an
answer of the API the way its clients have learnt to: by its words, since one
status means several things.
"""

import json
import re
import sys


class FMPError(Exception):
    """No market data; .status (HTTP, or 0), .endpoint, .params and .hint."""

    def __init__(self, message, *, status=0, endpoint=None, params=None,
                 hint=None, **more):
        super().__init__(message)
        self.status = status
        self.endpoint = endpoint
        self.params = dict(params or {})
        # What to do comes after the first sentence.
        self.hint = hint or message.partition(". ")[2] or None
        self.__dict__.update(more)

    def __str__(self):  # KeyError's own would quote it
        return str(self.args[0])


class FMPAuthError(FMPError):
    """There is no key, or FMP does not accept it."""


class FMPPlanError(FMPError):
    """The key's plan does not include it; .scope is endpoint, symbol,
    parameter or legacy."""

    scope = "endpoint"
    #: The name of the parameter whose value is not included, and the most
    #: that it may be.
    parameter = ceiling = None


class FMPRateLimitError(FMPError):
    """Too many calls; .scope is minute, day, bandwidth or run, .retry_after
    seconds or None."""

    scope = "day"
    retry_after = None


class FMPParamError(FMPError, ValueError):
    """An argument is missing, unknown or wrong."""


class FMPNotFoundError(FMPError, KeyError):
    """There are no such data."""


class FMPTimeoutError(FMPError):
    """FMP did not answer in time."""


class FMPServerError(FMPError):
    """FMP failed, could not be reached, or answered nonsense."""


CLASSES = {kind.__name__: kind for kind in (
    FMPError, FMPAuthError, FMPPlanError, FMPRateLimitError, FMPParamError,
    FMPNotFoundError, FMPTimeoutError, FMPServerError)}
for _kind in CLASSES.values():
    _kind.__module__ = "fmp"  # as a program writes it: fmp.FMPError

warned = set()


def warn(text):
    """Say what is no error, in one line on stderr, once."""
    line = "fmp." + " ".join(text.split())
    if line not in warned:
        warned.add(line)
        print(line, file=sys.stderr, flush=True)


NO_RETRY = "Do not retry it in this run"
GATED = re.compile(r"This value set for '(\w+)'")
CEILING = re.compile(r"values for '(\w+)' must be between \d+ and (\d+)")

#: Why there was no HTTP answer: the class, and what is said.
FAILURES = {
    "no_key": (FMPAuthError, "there is no FMP key for this run. Market data "
               "need one (the request's `key`); everything else works "
               "without."),
    "refused": (FMPParamError, "the request was refused."),
    "calls": (FMPRateLimitError, "this run has spent its market-data calls. "
              "Ask for less: lists of symbols instead of loops, only the "
              "dates that are needed, or several runs."),
    "timeout": (FMPTimeoutError, "FMP did not answer in time. Ask for less "
                "data (fewer years, a lower limit), or run it again."),
    "network": (FMPServerError, "FMP cannot be reached from this server. "
                "Nothing in the program is wrong; try later."),
    "size": (FMPServerError, "the answer is larger than 32 MiB. Ask for a "
             "smaller range or fewer rows."),
    "redirect": (FMPServerError, "FMP answered with a redirect, which is "
                 "never followed. Nothing in the program is wrong."),
    "closed": (FMPError, "this run can ask for no more market data: its "
               "channel is closed."),
}


def failed(answer, subject, **about):
    """The error for a call that got no HTTP answer."""
    kind, text = FAILURES.get(answer.failure, (
        FMPServerError, f"the call failed ({answer.failure})."))
    if answer.message:
        text = f"{text} {answer.message}"
    if kind is FMPRateLimitError:
        about["scope"] = "run"
    return kind(f"{subject}: {text}", **about)


def data_of(answer, subject, alternatives=(), **about):
    """The JSON of an answer, or the error that it stands for, raised.

    subject is how the program's call reads; alternatives are methods that
    another plan's key may use instead.
    """
    if answer.failure:
        raise failed(answer, subject, **about)
    about["status"] = answer.status
    if answer.status == 200:
        try:
            data = json.loads(answer.body)
        except (ValueError, RecursionError):
            pass
        else:
            if words(data) is None:
                return data
    raise problem(answer, subject, alternatives, about)


def words(data):
    """What a JSON answer complains about, or None."""
    if isinstance(data, dict):
        for name in ("Error Message", "error", "message"):
            if isinstance(data.get(name), str) and len(data) <= 2:
                return data[name]
    return None


def said(answer):
    """The API's own words: a line, without markup."""
    text = answer.body.decode("utf-8", "replace")
    try:
        text = words(json.loads(text)) or text
    except ValueError:
        text = re.sub(r"<style.*?</style>|<[^>]*>", " ", text,
                      flags=re.DOTALL)
    return " ".join(text.split())


def problem(answer, subject, alternatives, about):
    """The error that an HTTP answer stands for."""
    status, text = answer.status, said(answer)
    for judge in (plan_problem, account_problem, limit_problem,
                  request_problem):
        error = judge(status, text, subject, alternatives, about)
        if error is not None:
            if isinstance(error, FMPRateLimitError):
                error.retry_after = answer.retry_after
                if error.retry_after is not None and error.scope == "day":
                    error.scope = "minute"
            return error
    if status == 200:
        what = f"FMP answered what is no JSON: {text[:100]!r}"
    else:
        what = f"FMP failed (HTTP {status})" + (
            f": {text[:100]!r}" if text and status < 500 else "")
    return FMPServerError(
        f"{subject}: {what}. Nothing in the program is wrong; try later.",
        **about)


def plan_problem(status, text, subject, alternatives, about):
    """Entitlement first: its words stand in other errors' answers too."""
    def error(scope, what, **more):
        return FMPPlanError(f"{subject}: {what}", scope=scope, **about,
                            **more)

    ceiling, gated = CEILING.search(text), GATED.search(text)
    if ceiling:
        name, most = ceiling[1], int(ceiling[2])
        return error("parameter", f"the FMP plan allows {name} up to {most} "
                     f"(HTTP {status}). Ask with {name}={most}.",
                     parameter=name, ceiling=most)
    if gated and gated[1] in ("symbol", "symbols"):
        return error("symbol", "this symbol is outside the FMP plan (HTTP "
                     f"{status}). The endpoint works for other symbols; do "
                     "not retry this one.", parameter="symbol")
    if gated:
        return error("parameter", f"this value of {gated[1]} is outside the "
                     f"FMP plan (HTTP {status}). Leave {gated[1]} out or use "
                     "another value.", parameter=gated[1])
    if "Legacy Endpoint" in text:
        return error("legacy", f"FMP no longer serves it (HTTP {status}). Use "
                     "the /stable endpoints: fmp.help('word') searches them.")
    if (status == 402 or re.search("Restricted|Exclusive Endpoint|Special "
                                   "Endpoint|current subscription", text)):
        other = (" Alternatives here: " + ", ".join(alternatives) + "."
                 if alternatives else f" {NO_RETRY}.")
        return error("endpoint", "endpoint not in the FMP plan (HTTP "
                     f"{status}).{other}")
    return None


def account_problem(status, text, subject, alternatives, about):
    if "Account suspended" in text:
        what = "the FMP account of the key is suspended"
    elif status == 401 or "Invalid API KEY" in text:
        what = "FMP does not accept the key"
    elif status == 403:
        what = f"FMP refuses the key: {text[:100]!r}"
    else:
        return None
    return FMPAuthError(f"{subject}: {what} (HTTP {status}). No call can work "
                        "in this run; the request's `key` must be mended.",
                        **about)


def limit_problem(status, text, subject, alternatives, about):
    if "Bandwidth Limit" in text:
        return FMPRateLimitError(
            f"{subject}: the FMP plan's bandwidth of 30 days is spent (HTTP "
            f"{status}). {NO_RETRY}; it can last for days.",
            scope="bandwidth", **about)
    if status == 429 or "Limit Reach" in text:
        return FMPRateLimitError(
            f"{subject}: FMP's limit of calls, a minute's or a day's, is "
            f"spent (HTTP {status}). Results already fetched stay cached. "
            f"{NO_RETRY}.", **about)
    return None


def request_problem(status, text, subject, alternatives, about):
    missing = re.search(r"Invalid or missing query parameter - (\w+)", text)
    if missing:
        return FMPParamError(f"{subject}: FMP wants {missing[1]!r}, or does "
                             f"not accept its value (HTTP {status}).",
                             **about)
    if status == 400:
        more = (" fmp.exchanges() lists them." if "Exchange" in text else "")
        return FMPParamError(f"{subject}: {text[:200]} (HTTP 400).{more}",
                             **about)
    if status == 404:
        return FMPParamError(
            f"{subject}: FMP has no such path (HTTP 404). fmp.help('word') "
            "searches those that there are.", **about)
    if text == "Invalid name":
        return FMPParamError(f"{subject}: FMP does not know this name.",
                             **about)
    if text == "Error with query" or "No Data for this symbol" in text:
        return FMPNotFoundError(f"{subject}: FMP has no data for this.",
                                **about)
    if status == 200 and text and words_only(text):
        return FMPServerError(f"{subject}: FMP says: {text[:200]}", **about)
    return None


def words_only(text):
    return "{" not in text and "[" not in text and len(text) < 300

"""The object `fmp`: market data for a program, without the key.

Calls travel as a path and parameters to the worker, which alone holds the
key and speaks with the API (channel). What a program writes is read
leniently and refused clearly (arguments), asked so that nothing is
missing (repairs), and given back as dicts and DataFrames (fmp_shape).
"""

import os
import re
import traceback

from sandbox.fmp import (arguments, docs, drive, errors, paths, repairs,
                         results, shape)
from sandbox.fmp.channel import Channel
from sandbox.fmp.errors import FMPError
from sandbox.fmp.request import BATCHES
from sandbox.fmp.table import table

#: How many calls the program has made: whether it deals in market data.
calls = 0


class FMP:
    """Market data by Financial Modeling Prep: fmp.quote('AAPL'), ...

    fmp.help() lists the methods, fmp.help('word') searches them.
    """

    FMPRecord = shape.FMPRecord
    FMPError = errors.FMPError
    FMPAuthError = errors.FMPAuthError
    FMPPlanError = errors.FMPPlanError
    FMPRateLimitError = errors.FMPRateLimitError
    FMPParamError = errors.FMPParamError
    FMPNotFoundError = errors.FMPNotFoundError
    FMPTimeoutError = errors.FMPTimeoutError
    FMPServerError = errors.FMPServerError

    def __init__(self):
        # A run's is the zygote's: each is the first of its pid namespace.
        self._pid = os.getpid()
        self._channel = Channel()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        found = table().resolve(name)
        if found is None:
            raise AttributeError(self._unknown(name), name="", obj=self)
        method = make_method(self, name, *found)
        self.__dict__[name] = method
        return method

    def _unknown(self, name):
        near = table().near(name)
        return (f"fmp has no {name!r}."
                + (f" Close: {', '.join(near)}." if near else "")
                + " fmp.get(path, **params) reaches any /stable endpoint; "
                "fmp.help('word') searches.")

    def __dir__(self):
        return sorted([*table().endpoints, *errors.CLASSES, "FMPRecord",
                       "df", "get", "help"])

    def __repr__(self):
        return (f"<fmp: market data by Financial Modeling Prep, "
                f"{len(table().endpoints)} methods such as quote, "
                "historical_prices, income_statement; fmp.help('word') "
                "searches them>")

    def help(self, text=""):
        """Print what there is: all methods, those about a word, or one."""
        print(docs.help_text(str(getattr(text, "__name__", text)),
                             errors.CLASSES))

    def get(self, path, params=None, *, refresh=False, **more):
        """The raw JSON of any /stable path, as the API sends it (newest
        first): fmp.get("quote", symbol="AAPL").

        path may be a path, a full URL, or one of the former API (v3, v4),
        which is rewritten. CSV of *-bulk paths comes as text.
        """
        return without_frames(self._get, path, params, more, refresh)

    def df(self, path, params=None, *, refresh=False, **more):
        """The same as get(), as a DataFrame: oldest first, dates parsed."""
        return without_frames(self._df, path, params, more, refresh)

    @staticmethod
    def warm():
        """Load the table, write the docstrings, and shape a few rows: what
        is done lazily is then done before the first run."""
        for endpoint in table().endpoints.values():
            docs.docstring(endpoint), docs.signature(endpoint)
        for name in ("historical_prices", "income_statement", "stock_news"):
            endpoint = table()[name]
            rows = [endpoint.data["example"]] * 2
            found = shape.frame(endpoint, rows, by_symbol=True)
            shape.between(found, endpoint, None, repairs.today())

    # One method's call

    def _call(self, endpoint, choice, args, kwargs, as_frame=False):
        self._check_process()
        request = arguments.read(endpoint, choice, args, kwargs)
        if request.ignored_key:
            errors.warn(f"{endpoint.name}: the key is added outside the "
                        "program; the one given is ignored")
        endpoint = request.endpoint
        running = self._run(request)
        if endpoint.is_record and not request.many and not as_frame:
            return shape.record(endpoint,
                                results.only_row(running[0], request))
        return results.frame_of(request, running)

    def _run(self, request):
        """The plans that answer a request, at their ends."""
        batch = BATCHES.get(request.endpoint.name)
        if request.endpoint.name in BATCHES.values():
            batch = request.endpoint.name
        if batch and (request.many or batch == request.endpoint.name):
            try:
                return self._drive([repairs.BatchPlan(request,
                                                      table()[batch])])
            except errors.FMPPlanError as error:
                if error.scope != "endpoint":
                    raise
            # No batches in the key's plan: one call for each symbol.
            single = next(one for one, two in BATCHES.items() if two == batch)
            request.endpoint, request.many = table()[single], True
        parts = [request]
        if request.takes("symbol") and len(request.symbols) > 1:
            parts = [request.with_symbol(one) for one in request.symbols]
        return self._drive([repairs.Plan(part) for part in parts])

    def _drive(self, plans):
        global calls
        calls += 1
        running = drive.run_all(plans, self._channel)
        failed = [one.error for one in running if one.error is not None]
        final = [error for error in failed if drive.is_final(error)]
        if final or len(failed) == len(running):
            raise (final or failed)[0]
        return running

    def _check_process(self):
        if os.getpid() != self._pid:
            raise FMPError(
                "fmp: market data can be asked for in the main process only. "
                "Fetch them there and hand them to the other processes; "
                "threads (ThreadPoolExecutor) can ask too.")

    # Any path

    def _get(self, path, params, more, refresh):
        self._check_process()
        path, params = paths.read_path(path, params, more)
        found = table().paths.get(path)
        if found is not None:
            params = paths.read_parameters(found[0], params)
        return self._raw(path, paths.texts_of(params), refresh)

    def _raw(self, path, params, refresh):
        global calls
        calls += 1
        subject = f"get({path!r})"
        number = self._channel.start(path, params, bool(refresh))
        try:
            answer = self._channel.wait([number])[number]
        finally:
            self._channel.forget([number])
        if answer.stale:
            errors.warn(f"{subject}: FMP's limit of calls is reached; these "
                        "are older data from the cache")
        if answer.status == 200 and answer.body[:2] == b"PK":
            return answer.body  # a workbook
        if answer.status == 200 and path.endswith("-bulk") and (
                answer.body[:1] not in (b"[", b"{", b"")):
            return answer.body.decode("utf-8", "replace")
        if answer.status == 404:
            raise paths.no_such_path(path)
        data = errors.data_of(answer, subject, endpoint=path, params=params)
        paths.warn_of_cut(subject, path, data)
        return data

    def _df(self, path, params, more, refresh):
        found = table().resolve(re.sub(r"[-/]", "_", str(path).strip("/")))
        if found is None:
            path, params = paths.read_path(path, params, more)
            found = table().paths.get(path)
        else:
            params = {**paths.as_dict(params), **more}
        if found is not None:
            return self._call(*found, (), {**params, "refresh": refresh},
                              as_frame=True)
        data = self._raw(path, paths.texts_of(params), refresh)
        return paths.frame_of_raw(path, data)


def hint_field(error, asked):
    """What a KeyError of a program that deals in market data is about: a
    field of the former API, or of a record. A sentence, or None."""
    if not calls or isinstance(error, FMPError):
        return None
    found = re.search(r"\['([^']+)'|^(\w+)$", str(asked))
    name, endpoint, fields = found and (found[1] or found[2]), None, None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        owner = frame.f_locals.get("self")
        if isinstance(owner, shape.FMPRecord):
            endpoint, fields = owner._endpoint, shape.fields_of(owner, asked)
        elif isinstance(getattr(owner, "attrs", None), dict):
            endpoint = table().endpoints.get(owner.attrs.get("endpoint"),
                                             endpoint)
    hint = name and table().known_field(name, endpoint)
    return " ".join(part for part in (hint, fields) if part) or None


def make_method(client, name, endpoint, choice):
    """A function for one endpoint, documented as one written by hand."""
    def method(*args, **kwargs):
        return without_frames(client._call, endpoint, choice, args, kwargs)

    method.__name__ = method.__qualname__ = name
    method.__module__ = "fmp"
    method.__doc__ = docs.docstring(endpoint)
    method.__signature__ = docs.signature(endpoint)
    return method


def without_frames(function, *arguments):
    """Call it; an FMPError leaves without the frames and exceptions that it
    went through here, which tell a program nothing."""
    try:
        return function(*arguments)
    except FMPError as error:
        problem = error
    problem.__cause__ = problem.__context__ = None
    raise problem.with_traceback(None) from None

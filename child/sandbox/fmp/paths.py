"""Any path of the API, for fmp.get() and fmp.df(): present or former, with
its parameters as a program writes them."""

import difflib
import re
import urllib.parse

from sandbox.fmp import arguments, repairs, shape, values
from sandbox.fmp.errors import FMPParamError, warn
from sandbox.fmp.request import BATCHES
from sandbox.fmp.table import table

PATH = re.compile(r"[A-Za-z0-9-]+(/[A-Za-z0-9-]+)*")
PARAMETER = re.compile(r"[A-Za-z0-9_-]{1,64}")


def as_dict(params):
    """Parameters as a dict; a text or a list is meant as symbols."""
    if params is None:
        return {}
    if isinstance(params, dict):
        return dict(params)
    return {"symbol": params}


def read_path(path, params, more):
    """(path below /stable, parameters) of what get() was given."""
    if not isinstance(path, str):
        raise FMPParamError(f"get(): the path must be text, not {path!r}")
    url = urllib.parse.urlsplit(path.strip())
    params = {**dict(urllib.parse.parse_qsl(url.query)), **as_dict(params),
              **more}
    for name in [*params]:
        if values.squeezed(name) in arguments.KEY_NAMES:
            del params[name]
    place = url.path.strip("/")
    place = place.removeprefix("api/").removeprefix("stable/")
    if re.match("v[34]/", place):
        place, params = from_legacy(place, params)
    by_name = table().names.get(re.sub("[-/]", "_", place))
    if place not in table().paths and by_name is not None:
        place = path_of_method(*by_name, params)
    if not PATH.fullmatch(place):
        raise FMPParamError(f"get(): {path!r} is no path; one looks like "
                            "'historical-price-eod/full'")
    return place, params


def path_of_method(endpoint, choice, params):
    if endpoint.choice is None:
        return endpoint.path
    choice = choice or params.pop(endpoint.choice, None) or (
        endpoint.defaults.get(endpoint.choice))
    return endpoint.path_for(str(choice))


def from_legacy(place, params):
    """A path of the former API, and what was in it, as the present one's."""
    found = table().from_legacy(urllib.parse.unquote(place))
    if found is None:
        raise FMPParamError(
            f"get(): {place!r} belongs to FMP's former API, which is gone. "
            "fmp.help('word') searches the present one.")
    endpoint, parts = found
    if endpoint.name in BATCHES and "," in parts.get("symbol", ""):
        endpoint = table()[BATCHES[endpoint.name]]
    if endpoint.name == "stock_news" and not {"tickers", "symbols"} & {
            *params}:
        endpoint = table()["stock_news_latest"]
    params = {**parts, **params}
    if "type" in params and endpoint.choice == "indicator":
        params["indicator"] = params.pop("type")
    path = path_of_method(endpoint, None, params)
    warn(f"get: {place} is of FMP's former API; /stable/{path} is "
                "asked, whose rows are flat")
    return path, params


def read_parameters(endpoint, params):
    """Parameters under the API's names; what it does not know is said."""
    found = {}
    for name, value in params.items():
        plain = values.squeezed(name)
        known = next((one for one in endpoint.parameters if one == name), None)
        known = known or next(
            (one for one in endpoint.parameters
             if plain == values.squeezed(one)
             or plain in arguments.SYNONYMS.get(one, "").split()), None)
        if known is None:
            warn(f"get: {name!r} is no documented parameter of "
                        f"{endpoint.path}; FMP ignores what it does not know")
        found[known or name] = value
    return found


def texts_of(params):
    """Parameters as text, in the grammar of the worker."""
    found = {}
    for name, value in params.items():
        if value is None:
            continue
        name = {"from_": "from", "start": "from", "end": "to"}.get(name, name)
        if not PARAMETER.fullmatch(str(name)):
            raise FMPParamError(f"get(): {name!r} is no name of a parameter")
        try:
            found[str(name)] = text_of(name, value)
        except ValueError as error:
            raise FMPParamError(f"get(): {error}.") from None
    return found


def text_of(name, value):
    if isinstance(value, bool):
        return str(value).lower()
    if name in ("symbol", "symbols"):
        return ",".join(values.symbols(value)[0])
    if name in ("from", "to"):
        return str(values.date(value, name))
    if isinstance(value, (list, tuple, set)):
        value = ",".join(map(str, value))
    return values.text(value, name)


def no_such_path(path):
    near = difflib.get_close_matches(path, table().paths, 3, 0.5)
    return FMPParamError(
        f"get({path!r}): FMP has no such path (HTTP 404)."
        + (f" Close: {', '.join(near)}." if near else "")
        + " fmp.help('word') searches.", status=404, endpoint=path)


def warn_of_cut(subject, path, data):
    """Raw answers are as they come; that one is cut short is still said."""
    found = table().paths.get(path)
    most = found[0].limits.get("rows") if found else None
    if most and isinstance(data, list) and len(data) >= most:
        warn(f"{subject}: {most:,} rows is all that FMP sends at once; "
                    f"older ones are missing. fmp.{found[0].name}() has all")


def frame_of_raw(path, data):
    """The answer of a path that is not in the table, as a DataFrame."""
    if isinstance(data, str):
        import io

        import pandas
        return pandas.read_csv(io.StringIO(data))
    if isinstance(data, bytes):
        raise FMPParamError(f"df({path!r}): this is a workbook; get() has "
                            "its bytes.")
    found = shape.frame(None, repairs.rows_in(data))
    found.attrs = {"endpoint": path, "order": "oldest_first"
                   if "date" in found else "as_ranked"}
    return found

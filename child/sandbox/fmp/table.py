"""The endpoints, from endpoints.json, and the names they answer to."""

import difflib
import functools
import json
import os
import re

FILE = os.path.join(os.path.dirname(__file__), "endpoints.json")

#: A path segment that is a choice, {a|b|c}, and the argument that chooses.
CHOICE = re.compile(r"\{([^}]*)\}")
CHOICE_NAMES = {"historical-chart": "interval",
                "technical-indicators": "indicator"}
PREFIXES = ("get_", "fetch_", "load_", "download_")


class Endpoint:
    """One entry of the table: what to ask, and what comes back."""

    def __init__(self, data):
        self.data = data
        self.name = data["method"]
        self.path = data["stable"]
        self.about = data["about"]
        self.units = data["units"]
        self.is_record = data["returns"] == "record"
        self.is_dated = data["returns"] == "frame(ts)"
        #: The fields that put rows in order, oldest first.
        self.time = data["time"]
        #: What the API leaves out without a word.
        self.limits = data.get("limits", {})
        self.values = dict(data.get("values", {}))
        self.defaults = data.get("defaults", {})
        #: Arguments that the API does not know: the rows are picked here.
        self.filters = data.get("filters", {})
        self.kinds = {field["name"]: field.get("kind")
                      for field in data["fields"]}
        self.types = {field["name"]: field["type"]
                      for field in data["fields"]}
        self.required = [name.partition("(")[0] for name in data["required"]]
        self.optional = list(data["optional"])
        self.choice = None
        found = CHOICE.search(self.path)
        if found:
            self.choice = CHOICE_NAMES[self.path.partition("/")[0]]
            self.values[self.choice] = found[1].split("|")
            if self.choice not in self.required:
                self.required.insert(1, self.choice)

    @property
    def parameters(self):
        return self.required + self.optional

    @property
    def fields(self):
        return list(self.types)

    def path_for(self, choice):
        return CHOICE.sub(lambda _: choice, self.path)

    def __repr__(self):
        return f"<endpoint {self.name}: /stable/{self.path}>"


class Table:
    """All endpoints, by every name and path."""

    def __init__(self, data):
        self.endpoints = {entry["method"]: Endpoint(entry) for entry in data}
        #: What a program may say: (endpoint, the choice that it implies).
        self.names = {name: (endpoint, None)
                      for name, endpoint in self.endpoints.items()}
        self.paths = {}
        self.renamed, self.moved = {}, {}
        for endpoint in self.endpoints.values():
            self.add(endpoint)

    def add(self, endpoint):
        choices = endpoint.values.get(endpoint.choice, ())
        for alias in endpoint.data["aliases"]:
            plain = alias.replace("_", "")
            choice = plain if plain in choices else None
            self.names.setdefault(alias, (endpoint, choice))
        for choice in choices or [None]:
            path = endpoint.path_for(choice) if choice else endpoint.path
            self.paths[path] = endpoint, choice
            word = path.replace("-", "_").replace("/", "_")
            self.names.setdefault(word, (endpoint, choice))
        for old, new in endpoint.data.get("renamed", {}).items():
            self.renamed.setdefault(old, []).append((endpoint, new))
        for old, new in endpoint.data.get("moved", {}).items():
            self.moved.setdefault(old, []).append((endpoint, new))

    def __getitem__(self, name):
        return self.endpoints[name]

    def resolve(self, name):
        """(endpoint, choice) of what a program calls `name`, or None."""
        snake = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
        for word in spellings(snake):
            if word in self.names:
                return self.names[word]
        return None

    def near(self, name, count=3):
        """The canonical names that are most like it, best first."""
        bare = next(iter(without_prefix(name.lower())))
        found = {}
        for match in difflib.get_close_matches(bare, self.names, 12, 0.6):
            found[self.names[match][0].name] = True
        for endpoint in self.sharing(bare.split("_")):
            found[endpoint.name] = True
        return list(found)[:count]

    def sharing(self, words):
        """The endpoints that share a word, those that share most first."""
        words = {word for word in words if len(word) > 2}
        counts = {name: len(words & set(name.split("_")))
                  for name in self.endpoints}
        return [self.endpoints[name] for name in sorted(
            counts, key=counts.get, reverse=True) if counts[name]]

    def known_field(self, old, endpoint=None):
        """What became of a field of the former API, best of an endpoint's:
        a sentence, or None."""
        places = [*self.renamed.get(old, ()), *self.moved.get(old, ())]
        places = [place for place in places if place[0] is endpoint] or (
            places[:2])
        now = [new if "(" in new or new.startswith("the ") else
               f"{new!r} of fmp.{place.name}()" for place, new in places]
        return (f"{old!r} of FMP's former API is now {', or '.join(now)}."
                if now else None)

    def search(self, text):
        """The endpoints that a text is about, best first."""
        words = [part.removesuffix("s") if len(part) > 3 else part
                 for part in re.findall(r"[a-z0-9]+", text.lower())]

        def rank(endpoint):
            near = " ".join([*endpoint.data["aliases"], endpoint.path,
                             endpoint.about]).lower()
            places = (endpoint.name, f"{endpoint.name} {near}",
                      " ".join(endpoint.fields).lower())
            return next((place for place, words_there in enumerate(places)
                         if all(word in words_there for word in words)), None)
        ranks = {name: rank(endpoint)
                 for name, endpoint in self.endpoints.items()}
        return [self.endpoints[name] for name in
                sorted((n for n in ranks if ranks[n] is not None),
                       key=ranks.get)] if words else []

    def from_legacy(self, path):
        """(endpoint, {argument: value}) of a path of the former API, such
        as v3/quote/AAPL, or None."""
        best = None
        for endpoint in self.endpoints.values():
            for text in legacy_paths(endpoint.data["legacy"]):
                found = match_path(text, path)
                if found is not None and (best is None or
                                          len(text) > len(best[2])):
                    best = endpoint, found, text
        return best[:2] if best else None


def without_prefix(name):
    """A name, and before it the same without its prefix."""
    for prefix in PREFIXES:
        if name.startswith(prefix) and len(name) > len(prefix):
            yield name.removeprefix(prefix)
    yield name


def spellings(name):
    """What a name may stand for: without get_, singular, plural."""
    for word in without_prefix(name):
        yield word
        yield word.removesuffix("_data")
        yield word + "s"
        yield word.removesuffix("s")
        yield re.sub("ies$", "y", word)
        yield re.sub("y$", "ies", word)


def legacy_paths(text):
    """The paths in an entry's `legacy`: v3/a/{symbol} , v4/b?symbol="""
    for path in re.findall(r"v[34]/(?:\{[^}]*\}|[^\s?{])+", text or ""):
        yield re.sub(r"\{[^}]*[,\[][^}]*\}", "{symbol}", path)


def match_path(pattern, path):
    """{name: value} where a path fits v3/quote/{symbol}, else None."""
    expected, given = pattern.split("/"), path.strip("/").split("/")
    if len(expected) != len(given):
        return None
    found = {}
    for part, value in zip(expected, given):
        if part.startswith("{"):
            found[part.strip("{}")] = value
        elif part.lower() != value.lower():
            return None
    return found


@functools.lru_cache(1)
def table():
    with open(FILE, encoding="utf-8") as file:
        return Table(json.load(file))

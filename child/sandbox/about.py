"""What the zygote has loaded, for whoever asks the service for it."""

import inspect
import json
import os
import platform
import sys

from sandbox import namespace


def say(prefix):
    """Write it as one line to the responder, behind the given words."""
    told = {"python": platform.python_version(),
            "libraries": [library(alias, module)
                          for alias, module in namespace.LIBRARIES.items()],
            "helpers": list(helpers())}
    os.write(1, f"{prefix[0]}{json.dumps(told)}\n".encode())
    return 0


def library(alias, module):
    package = sys.modules[module.partition(".")[0]]
    return {"name": module, "alias": alias,
            "version": getattr(package, "__version__", None)}


def helpers():
    """The functions, and of an object its methods too."""
    for name, thing in namespace.helpers(lambda *_: True).items():
        if inspect.isfunction(thing):
            yield helper(name, thing, inspect.signature(thing))
            continue
        yield helper(name, type(thing), None)
        for method, function in vars(type(thing)).items():
            if inspect.isfunction(function) and method in dir(thing):
                yield helper(f"{name}.{method}", function,
                             inspect.signature(getattr(thing, method)))


def helper(name, thing, signature):
    summary = " ".join(inspect.getdoc(thing).partition("\n\n")[0].split())
    return {"name": name,
            "signature": None if signature is None else f"{name}{signature}",
            "summary": summary}

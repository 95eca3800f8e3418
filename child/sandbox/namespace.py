"""What a program finds when it starts: libraries, helpers, its context."""

import importlib
import os
import re
import sys

#: The 17 libraries, under the names that programs know them by.
LIBRARIES = {
    "np": "numpy", "numpy": "numpy",
    "pd": "pandas", "pandas": "pandas",
    "matplotlib": "matplotlib", "plt": "matplotlib.pyplot",
    "scipy": "scipy", "stats": "scipy.stats",
    "sns": "seaborn", "seaborn": "seaborn",
    "statsmodels": "statsmodels", "sm": "statsmodels.api",
    "smf": "statsmodels.formula.api",
    "sklearn": "sklearn",
    "sympy": "sympy",
    "nx": "networkx", "networkx": "networkx",
    "cvxopt": "cvxopt",
    "numexpr": "numexpr",
    "openpyxl": "openpyxl",
    "xlsxwriter": "xlsxwriter",
    "docx": "docx",
    "PIL": "PIL",
    "dateutil": "dateutil",
    "tabulate": "tabulate",
}

#: The run's working directory, with its files.
WORK = "/work"
#: Where the program's source stands; private to the run.
MAIN_FILE = "/tmp/main.py"


def helpers(wanted):
    """What of ours a program can use; `fmp`, which is large, if wanted."""
    from sandbox.excel import save_excel
    from sandbox.word import save_word
    found = {"save_excel": save_excel, "save_word": save_word}
    if wanted("fmp", "sandbox.fmp"):
        from sandbox.fmp import FMP
        found["fmp"] = FMP()
    return found


def prepare(wanted=lambda name, library: True):
    """Give ``__main__`` all that does not depend on the program: of the
    libraries those that are wanted, which are loaded."""
    module = sys.modules["__main__"]
    module.__file__ = MAIN_FILE
    module.__loader__ = None
    sys.argv = ["main.py"]
    for name, library in LIBRARIES.items():
        if wanted(name, library):
            module.__dict__[name] = importlib.import_module(library)
    module.__dict__.update(helpers(wanted), context={})
    if "fmp" in module.__dict__:
        sys.modules["fmp"] = module.__dict__["fmp"]  # for `import fmp`


def fill(code, context):
    """Make ``__main__`` ready for the program and return its dict.

    Where nobody has prepared it (a cold start), a library that is not
    loaded yet is only when the source holds its name as a word. A name of
    the context wins over a library or helper.
    """
    names = sys.modules["__main__"].__dict__
    if names.get("__file__") != MAIN_FILE:
        words = set(re.findall(r"\w+", code))
        prepare(lambda name, library: library in sys.modules or name in words)
    if os.access("fmp.py", os.F_OK) or os.access("fmp", os.F_OK):
        sys.modules.pop("fmp", None)  # a module of the program's own wins
    if context:
        names["context"] = context
        names.update(context)
    return names

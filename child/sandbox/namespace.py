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

#: Where the program's source stands; private to the run.
MAIN_FILE = "/tmp/main.py"


def helpers(code="fmp"):
    """What of ours a program can use; a cold start loads `fmp`, which is
    large, only when the source speaks of it."""
    from sandbox.excel import save_excel
    from sandbox.word import save_word
    found = {"save_excel": save_excel, "save_word": save_word}
    if "sandbox.fmp" in sys.modules or "fmp" in code:
        from sandbox.fmp import FMP
        found["fmp"] = FMP()
    return found


def fill(code, context):
    """Make ``__main__`` ready for the program and return its dict.

    A library that no process has loaded yet (a cold start) is loaded only
    when the source holds its name as a word. A name of the context wins
    over a library or helper.
    """
    module = sys.modules["__main__"]
    module.__file__ = MAIN_FILE
    module.__loader__ = None
    names = module.__dict__
    words = None
    for name, library in LIBRARIES.items():
        if library not in sys.modules:
            words = words or set(re.findall(r"\w+", code))
            if name not in words:
                continue
        names[name] = importlib.import_module(library)
    names.update(helpers(code))
    # So that `import fmp` works too; a module of the program's own wins.
    if "fmp" in names and not any(map(os.path.exists, ("fmp.py", "fmp"))):
        sys.modules["fmp"] = names["fmp"]
    names["context"] = context
    names.update(context)
    return names

"""The zygote's start: everything that every run would otherwise pay for."""

import atexit
import contextlib
import gc
import importlib
import logging
import os
import pkgutil
import sys

import _sandbox

from sandbox import figures, namespace, run

#: Parts that their libraries load only when they are named.
PARTS = (
    "asyncio", "cvxopt.solvers", "csv", "concurrent.futures", "sqlite3",
    "multiprocessing.pool", "docx.shared", "matplotlib.backends.backend_agg",
    "matplotlib.dates", "mpl_toolkits.mplot3d", "numpy.random",
    "openpyxl.styles", "pandas.plotting", "PIL.Image", "PIL.PngImagePlugin",
    "scipy.cluster.hierarchy", "scipy.integrate", "scipy.interpolate",
    "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.sparse",
    "scipy.spatial", "scipy.special", "sklearn.cluster",
    "sklearn.decomposition", "sklearn.ensemble", "sklearn.linear_model",
    "sklearn.metrics", "sklearn.model_selection", "sklearn.pipeline",
    "sklearn.preprocessing", "sklearn.svm", "sklearn.tree",
    "statsmodels.tsa.api",
)

#: What they do at the interpreter's exit.
EXIT_FUNCTIONS = (
    "logging.shutdown", "multiprocessing.util._exit_function",
    "matplotlib._pylab_helpers.Gcf.destroy_all", "PIL.Image.core.clear_cache",
    "openpyxl.worksheet._writer._openpyxl_shutdown",
)


def cold(preload):
    """For one run alone: load what it names, when it names it."""
    sys.set_int_max_str_digits(0)
    run.watch_clock()
    for module in preload:
        importlib.import_module(module)
    return 0


steps = iter(())


def warm(preload):
    """Begin to load all libraries and use them once; step() goes on."""
    global steps
    steps = take_steps(preload)
    return 0


def step():
    """Load the next library. Returns 0 when all is done."""
    return next(steps, 0)


def take_steps(preload):
    """Yield 1 after each step: all that has been begun then is whole.

    The first figure, table, workbook and document fill caches and load
    what is lazy, so that all runs share the result. Nothing of it stays
    visible: figures are closed, files go to memory.
    """
    gc.disable()  # it would look at all that is loaded, again and again
    environment = dict(os.environ)
    cold(preload)
    for library in (*namespace.LIBRARIES.values(), *PARTS):
        yield 1
        importlib.import_module(library)
    namespace.prepare()
    sys.modules["__main__"].fmp.warm()
    from matplotlib._pylab_helpers import Gcf
    figures.prepare()
    use_libraries()
    _sandbox.random_state(find_numpy_state())
    close_fonts()
    figures.made = len(Gcf.figs)  # of preloaded modules
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]  # scikit-learn sets some


def settle():
    """After warm(), the last that is done before the first fork."""
    gc.enable()
    gc.collect()
    gc.freeze()
    forget_exit_functions()
    run.rehearse()
    gc.collect()
    gc.freeze()
    return 0


def forget_exit_functions():
    """Libraries let go, at the end, of what was the zygote's: a tenth of what
    a small program costs. The first two do more, which run sees to."""
    known, others = [], []
    for name in EXIT_FUNCTIONS:
        with contextlib.suppress(AttributeError):
            known.append(pkgutil.resolve_name(name))

    class Known:
        def __eq__(self, function):
            if function not in known:
                others.append(function)
            return function in known

    atexit.unregister(Known())
    if not others:
        atexit._clear()  # else it goes on to count them
    logging._handlerList.clear()


def close_fonts():
    """matplotlib keeps the files of its fonts open; a child has them closed
    under it, and reads from them all the same."""
    from matplotlib import font_manager, mathtext
    for cached in (getattr(font_manager, "_get_font", None),
                   getattr(mathtext.MathTextParser, "_parse_cached", None)):
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()


def find_numpy_state():
    """The 624 words that numpy's next random numbers are made from."""
    import ctypes

    import numpy
    numpy.random.seed(0)  # so that all words are still to be used
    generator = numpy.random.get_bit_generator()
    state = generator.state["state"]
    words = (ctypes.c_char * state["key"].nbytes).from_address(
        generator.ctypes.state_address)
    if words.raw != state["key"].tobytes() or state["pos"] != len(state["key"]):
        raise RuntimeError("numpy keeps its random state in another form")
    return memoryview(words).cast("B")


def use_libraries():
    import io

    import numpy
    import pandas
    from matplotlib import pyplot

    frame = pandas.DataFrame({"x": numpy.arange(3.0), "y": list("abc")})
    repr(frame), repr(frame.describe()), frame.groupby("y").x.sum()
    pandas.read_csv(io.StringIO(frame.to_csv()))
    figure, axes = pyplot.subplots()
    axes.plot(frame.x, label="warm")
    axes.set_title("\N{CJK UNIFIED IDEOGRAPH-4EF7}")
    axes.set_xlabel("$x^2$")
    axes.legend()
    axes.grid()
    figure.savefig(io.BytesIO(), dpi=figures.DPI)
    pyplot.close(figure)

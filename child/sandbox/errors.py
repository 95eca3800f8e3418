"""What is said of a program that failed, so that it can be mended at once."""

import asyncio
import difflib
import errno
import json
import linecache
import os
import re
import resource
import socket
import sys
import traceback

from sandbox.namespace import LIBRARIES, MAIN_FILE

TRACEBACK_MAX = 16 * 1024  # bytes
MESSAGE_MAX = 8 * 1024

#: Raised in the program when its time is up. No subclass of Exception, so
#: that a program's ``except Exception`` does not swallow it.
TimeUp = type("TimeoutError", (BaseException,), {"__module__": "builtins"})


def fit(text, most):
    """text, safe as JSON and at most `most` bytes in it: head and tail."""
    text = text.encode("utf-8", "backslashreplace").decode()
    size = len(json.dumps(text, ensure_ascii=False).encode())
    if size <= most:
        return text
    keep = max(0, len(text) * (most - 100) // size)
    while True:
        head, tail = keep * 3 // 4, keep - keep * 3 // 4
        cut = (f"{text[:head]}\n[... {len(text) - keep} characters left out "
               f"...]\n{text[len(text) - tail:]}")
        if len(json.dumps(cut, ensure_ascii=False).encode()) <= most:
            return cut
        keep = keep * 3 // 4


def is_own(filename):
    """Whether a frame's file is the program's: its source, or a module that
    came with it."""
    return filename == MAIN_FILE or filename.startswith("/work/")


def shown(filename):
    return "main.py" if filename == MAIN_FILE else filename


def keep_own_frames(report, seen):
    """Strip a TracebackException, and those it came from, to own frames."""
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    own = [frame for frame in report.stack if is_own(frame.filename)]
    for frame in own:
        frame.line  # read while the file has its real name
        frame.filename = shown(frame.filename)
    report.stack[:] = own
    if getattr(report, "filename", None) is not None:  # a SyntaxError
        report.filename = shown(report.filename)
    for other in (report.__cause__, report.__context__,
                  *(getattr(report, "exceptions", None) or ())):
        keep_own_frames(other, seen)


def line_of(error):
    """The program's own line at fault, or None."""
    if isinstance(error, SyntaxError) and error.filename == MAIN_FILE:
        return error.lineno
    if isinstance(error, TimeUp) and getattr(error, "line", None):
        return error.line  # set where it was raised by us
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__)
             if frame.f_code.co_filename == MAIN_FILE]
    return lines[-1] if lines else None


def awaited_line():
    """The program's line that an event loop waits at, when one runs here and
    waits; no traceback would have it."""
    try:
        tasks = asyncio.all_tasks(asyncio.get_running_loop())
    except RuntimeError:
        return None
    lines = [frame.f_lineno for task in tasks for frame in task.get_stack()
             if frame.f_code.co_filename == MAIN_FILE]
    return lines[-1] if lines else None


def traceback_of(error):
    linecache.checkcache(MAIN_FILE)
    report = traceback.TracebackException.from_exception(error)
    keep_own_frames(report, set())
    return fit("".join(report.format()), TRACEBACK_MAX)


def text_of(error):
    try:
        return str(error)
    except Exception as broken:
        return f"<str() of the exception failed: {type(broken).__name__}>"


def describe(error, limits):
    """The reply's ``error`` for an exception that left the program, or None
    when it was a good end (``sys.exit()``)."""
    kind, name, message = "exception", type(error).__name__, text_of(error)
    line = line_of(error)
    if isinstance(error, SystemExit):
        if error.code is None or error.code == 0:
            return None
        kind = "exit"
        message = f"The program ended itself with sys.exit({error.code!r})."
    elif isinstance(error, TimeUp):
        kind = "timeout"
        message = (
            f"The program was still running at its time limit of "
            f"{limits['timeout']:g} s" + (f", at line {line}" if line else "")
            + ". Do less work, do it faster (vectorised instead of in loops)"
            " or in several runs.")
    elif isinstance(error, MemoryError):
        kind, name = "memory", "MemoryError"
        message = (
            f"The program needed more memory than the {limits['memory'] >> 20}"
            " MiB that a run may use" + (f" ({message})" if message else "")
            + ". Work on less data at a time, use smaller types (float32,"
            " category), or free what is no longer needed.")
    else:
        message = with_hint(message, hint_for(error))
    return {"kind": kind, "type": name, "message": fit(message, MESSAGE_MAX),
            "traceback": traceback_of(error), "line": line}


def with_hint(message, hint):
    if not hint:
        return message
    return f"{message}{'' if message.endswith(('.', '!', '?')) else '.'} {hint}"


def hint_for(error):
    """A sentence on what to change, or None. Never raises."""
    try:
        for kind, hint in HINTS:
            if isinstance(error, kind):
                return hint(error)
    except Exception:
        return None  # an object of the program's own did not play along
    return None


def near(name, names, cutoff=0.6):
    found = difflib.get_close_matches(
        str(name), [str(other) for other in names], 1, cutoff)
    return f"Did you mean {found[0]!r}?" if found else None


def libraries():
    tops = dict.fromkeys(name.partition(".")[0]
                         for name in LIBRARIES.values())
    return ", ".join(tops)


def hint_module(error):
    name = (error.name or "").partition(".")[0]
    if name != error.name and name in sys.modules:
        return (f"{name} is installed, but has no module {error.name!r}; its "
                f"version is {getattr(sys.modules[name], '__version__', '?')}.")
    tops = {library.partition(".")[0] for library in LIBRARIES.values()}
    # Far more strict: 'plotly' is not a misspelt 'pty'.
    guess = near(name, tops | sys.stdlib_module_names, 0.8)
    return (f"{guess or f'{name!r} is not installed here, and a program'}"
            f"{'' if guess else ' cannot install it.'} Installed are the "
            f"standard library and {libraries()}.")


def hint_key(error):
    """What became of a field of FMP's former API, and the columns there
    are."""
    asked = error.args[0] if error.args else None
    market = sys.modules.get("sandbox.fmp")
    known = market and market.hint_field(error, asked)
    columns = hint_column(error, asked)
    return " ".join(hint for hint in (known, columns) if hint) or None


def hint_column(error, asked):
    """The columns there are, when a DataFrame was asked for another; also
    when it was asked through groupby(), whose words hold the name."""
    quoted = re.search(r"'([^']+)'|not found: (.+)", str(asked))
    if quoted:
        asked = quoted[1] or quoted[2]
    for frame, _ in traceback.walk_tb(error.__traceback__):
        owner = frame.f_locals.get("self")
        if not hasattr(owner, "iloc"):
            owner = getattr(owner, "obj", None)
        columns = getattr(owner, "columns", None)
        if columns is not None and hasattr(owner, "iloc"):
            listed = ", ".join(repr(name) for name in columns[:50])
            more = f" and {len(columns) - 50} more" if len(columns) > 50 else ""
            guess = near(asked, columns)
            return (f"The DataFrame has the columns {listed}{more}."
                    + (f" {guess}" if guess else ""))
    return None


def hint_name(error):
    import builtins
    return near(error.name, [*vars(sys.modules["__main__"]), *dir(builtins)])


def hint_import(error):
    found = re.match(r"cannot import name '(.+?)' from '(.+?)'", str(error))
    return found and near(found[1], dir(sys.modules[found[2]]))


def hint_syntax(error):
    if (error.text or "").lstrip().startswith(("%", "!", "```")):
        return ("This is no notebook: leave out lines that begin with %, ! "
                "or ```, and install nothing.")
    return None


def hint_attribute(error):
    return near(error.name, dir(error.obj)) if error.name else None


def hint_file(error):
    files = sorted(os.listdir("/work"))
    there = ", ".join(repr(name) for name in files[:30]) or "nothing"
    return f"The working directory holds {there}."


NETWORK_ERRORS = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ECONNREFUSED,
                  errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


def limit(name):
    return resource.getrlimit(name)[0]


def hint_processes(error):
    return (f"A run may have {limit(resource.RLIMIT_NPROC)} processes and "
            "threads at a time.")


def hint_thread(error):
    return hint_processes(error) if "new thread" in str(error) else None


def hint_os(error):
    if error.errno == errno.EROFS or "non-existent directory" in str(error):
        return ("Only the working directory and /tmp can be written: use a "
                "plain file name.")
    if error.errno == errno.ENOSPC:
        disk = os.statvfs("/work")
        return (f"The working directory, /tmp and /dev/shm together hold "
                f"{disk.f_blocks * disk.f_frsize >> 20} MiB in {disk.f_files} "
                "files.")
    if error.errno == errno.EFBIG:
        return f"A file may have {limit(resource.RLIMIT_FSIZE) >> 20} MiB."
    if error.errno == errno.EMFILE:
        return (f"A process may have {limit(resource.RLIMIT_NOFILE)} files "
                "open; close those that are done.")
    if error.errno == errno.EAGAIN:
        return hint_processes(error)
    cause = getattr(error, "reason", error)  # what urllib's error wraps
    if isinstance(cause, socket.gaierror) or getattr(
            cause, "errno", None) in NETWORK_ERRORS:
        return ("There is no network here: pass data in with `context` or "
                "`files`.")
    return None


def hint_input(error):
    return ("Nobody answers input() here: pass values in with `context`, "
            "each becomes a variable.")


def hint_database(error):
    if getattr(error, "sqlite_errorname", None) in (
            "SQLITE_IOERR_LOCK", "SQLITE_IOERR_CHECKRESERVEDLOCK"):
        return ("SQLite cannot see others' locks here: leave journal_mode=WAL "
                "out, or set PRAGMA locking_mode=EXCLUSIVE before it.")
    return None


HINTS = (
    (ModuleNotFoundError, hint_module),
    (ImportError, hint_import),
    (SyntaxError, hint_syntax),
    (KeyError, hint_key),
    (NameError, hint_name),
    (AttributeError, hint_attribute),
    (FileNotFoundError, hint_file),
    (OSError, hint_os),
    (RuntimeError, hint_thread),
    (EOFError, hint_input),
    (Exception, hint_database),
)

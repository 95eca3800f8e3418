"""One run, in a forked and confined child, from the job to its report.

The job comes from python_live(). The responder reads lines from descriptor
3: what faulthandler says of the place when time is up, and JSON, of which
the last line counts. What it believes of them is its own affair.
"""

import ast
import asyncio
import atexit
import builtins
import faulthandler
import gc
import inspect
import io
import json
import logging
import multiprocessing.process
import os
import random
import signal
import sys
import threading
from multiprocessing import util

from sandbox import errors, figures, office
from sandbox.namespace import MAIN_FILE, WORK, fill

RESULT_MAX = 64 * 1024  # bytes
#: Python adapts a piece of code within so many rounds.
REHEARSALS = 40
#: Sent by the responder when the time limit is reached.
TIME_UP = signal.SIGXCPU
#: And this when it asks for its log where the program stands, which goes on.
WHERE = signal.SIGRTMAX
#: The compiler's flags of ``from __future__ import ...``.
FUTURE_FLAGS = sum(getattr(__import__("__future__"), name).compiler_flag
                   for name in __import__("__future__").all_feature_names)

#: The report of a program of which there is nothing to tell.
NOTHING = {"result": None, "error": None, "figure": None, "limit": None,
           "notes": []}
#: Where reports go; elsewhere in a rehearsal.
report_fd = 3

#: Made before the fork, for what they touch is then shared.
decode = json.JSONDecoder().raw_decode
encode = json.JSONEncoder(ensure_ascii=False).encode
nothing_line = encode(NOTHING) + "\n"
#: What a program may leave that is to be ended. By names of our own: the way
#: through their modules would cost each run a copy of some four pages.
threads, log_handlers = threading._active, logging._handlerList
processes = multiprocessing.process._children
finalizers, count_exit_functions = util._finalizer_registry, atexit._ncallbacks
office.live_figures = figures.live


def rehearse():
    """Do in the zygote what is done for every program.

    Python writes down what it learns as it goes: which type an operation
    met, where a type's method is. What a run would write, it need not when
    it is there already, in memory that all runs share.
    """
    global report_fd
    if count_exit_functions():
        return  # a preloaded module's, and for the end of each run
    limits = {"figures": 0, "figure_pixels": 0, "figure_bytes": 0}
    report_fd = os.open(os.devnull, os.O_WRONLY)
    for code in ["''", "print('', end='')"] * REHEARSALS:
        prepare()
        live(encode({"code": code, "context": None, "limits": limits}))
    os.close(report_fd)
    report_fd = 3
    os.unlink(MAIN_FILE)
    watch_clock()  # anew: a run gives that up


def watch_clock():
    """Let the time limit interrupt what a forked child runs."""
    signal.signal(TIME_UP, time_up)
    # Says where the program is even while it is inside C code.
    faulthandler.register(TIME_UP, file=report_fd, all_threads=False,
                          chain=True)
    # System calls that it interrupts are taken up again.
    faulthandler.register(WHERE, file=report_fd, all_threads=False)


def prepare():
    """What is the child's own and can be done before there is a job: among it
    random states, not the inherited ones."""
    if not gc.isenabled():  # forked while libraries were loaded
        gc.freeze()
        gc.enable()
        if "numpy.random" in sys.modules:  # where its state lies is not known
            sys.modules["numpy.random"].seed()
    seed_python()
    return 0


#: By the shortest way: random.seed() writes to many pages more.
seed_python = super(random.Random, random._inst).seed


#: Whether the program runs, and whether its time was up when it did not.
is_running = is_late = False


def time_up(signum, frame):
    global is_late
    if not is_running:
        is_late = True
        return
    error = errors.TimeUp()
    error.line = errors.awaited_line()
    raise error


def live(text):
    """Run the job, report; return the exit status."""
    job, _ = decode(text)
    return Run(job["code"], job["context"], job["limits"]).live()


class Run:
    """The program, and what came of it."""

    def __init__(self, code, context, limits):
        self.code = code.removeprefix("\ufeff")
        self.context = context
        self.limits = limits
        self.pid = os.getpid()
        self.runner = None
        self.main_ran = False
        self.report = NOTHING | {"notes": []}

    def live(self):
        status = self.run_program()
        if os.getpid() != self.pid:
            # A fork of the program reached its end: no business of ours.
            flush_files()
            os._exit(status)
        if self.report["error"]:
            self.send()  # a kill may come before the figures are done
        self.collect_figures()
        self.run_exit_functions()
        flush_files()
        self.report["notes"] += office.notes
        self.send()
        return status

    def run_program(self):
        """Run it to its end, threads included; return its exit status."""
        global is_running
        value, status = None, 0
        try:
            is_running = True
            if is_late:
                raise errors.TimeUp
            value = self.run_code()
            self.end_threads()
        except BaseException as error:
            status = self.failed(error)
        is_running = False
        faulthandler.unregister(TIME_UP)
        faulthandler.unregister(WHERE)
        if value is not None:
            self.run_quietly(self.set_result, value)
        return status

    def run_code(self):
        """Run the source, then main() where it was left to us."""
        names = fill(self.code, self.context)
        if sys.path[0] != WORK:
            sys.path[0] = WORK  # as for a script; till now ours was there
        write_file(MAIN_FILE, self.code.encode())
        body, last = self.compile()
        if figures.made is None and "matplotlib" in sys.modules:
            figures.prepare()
        self.evaluate(body, names)
        value = self.evaluate(last, names) if last else None
        main = names.get("main")
        if main is not None and not self.main_ran and is_main(main):
            returned = main()
            if inspect.iscoroutine(returned):
                returned = self.await_(returned)
            value = value if returned is None else returned
        return value

    def compile(self):
        """The program as code objects: its body, and the expression that
        it ends with (or None)."""
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(self.code, MAIN_FILE, "exec",
                       flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        self.mark_main(tree)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        body = compile(tree, MAIN_FILE, "exec", flags, dont_inherit=True)
        if last:
            flags |= body.co_flags & FUTURE_FLAGS
            last = compile(last, MAIN_FILE, "eval", flags, dont_inherit=True)
        return body, last

    def mark_main(self, tree):
        """Let a top-level main() say that it ran, however it was called.

        A call of a name that only builtins know becomes its first
        statement, on a line that is there already.
        """
        if "main" not in self.code:
            return

        def ran():
            self.main_ran = True

        builtins.__main_ran__ = ran
        for node in top_level(tree):
            if (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                    and node.name == "main"):
                at = 1 if ast.get_docstring(node, clean=False) else 0
                call = ast.parse("__main_ran__()").body[0]
                place = node.body[min(at, len(node.body) - 1)]
                for part in ast.walk(call):
                    ast.copy_location(part, place)
                node.body.insert(at, call)

    def evaluate(self, code, names):
        value = eval(code, names)
        # Only a program that awaits at its top level compiles to this.
        if code.co_flags & inspect.CO_COROUTINE:
            value = self.await_(value)
        return value

    def await_(self, coroutine):
        if self.runner is None:
            self.runner = asyncio.Runner()
        return self.runner.run(coroutine)

    def end_threads(self):
        """Wait as a script's end does: for tasks, pools and threads."""
        if self.runner is not None:
            self.runner.close()
        # Also tells the pools of concurrent.futures that no more will come.
        if len(threads) > 1:
            threading._shutdown()

    def failed(self, error):
        """Put an exception that left the program into the report."""
        if os.getpid() != self.pid:
            if not isinstance(error, SystemExit):
                sys.stderr.write(errors.traceback_of(error))
        else:
            self.report["error"] = errors.describe(error, self.limits)
        if not isinstance(error, (SystemExit, errors.TimeUp)):
            self.run_quietly(self.end_threads)
        if isinstance(error, SystemExit) and error.code is None:
            return 0
        if isinstance(error, SystemExit) and isinstance(error.code, int):
            return error.code & 0xFF
        return 1

    def set_result(self, value):
        self.report["result"] = errors.fit(repr(value), RESULT_MAX)

    def collect_figures(self):
        if not figures.made:
            return
        failed, left_out, notes = figures.sweep(self.limits)
        if failed:
            name, message = failed
            self.report["figure"] = {
                "type": name,
                "message": errors.fit(message, errors.MESSAGE_MAX)}
        self.report["limit"] = left_out
        self.report["notes"] += notes

    def run_exit_functions(self):
        if count_exit_functions():
            self.run_quietly(atexit._run_exitfuncs)
        # Not among them where warm() was.
        if processes or finalizers:
            self.run_quietly(util._exit_function)
        if log_handlers:
            self.run_quietly(logging.shutdown)

    def run_quietly(self, function, *arguments):
        """Call what may run the program's code once more; an exception there
        becomes a note."""
        try:
            function(*arguments)
        except BaseException as error:
            self.report["notes"].append(
                f"After the program's end: {type(error).__name__}: "
                f"{errors.text_of(error)}")

    def send(self):
        line = nothing_line
        if self.report != NOTHING:
            self.report["notes"] = [errors.fit(str(note), 1000)
                                    for note in self.report["notes"][:50]]
            line = encode(self.report) + "\n"
        write_all(report_fd, line.encode("utf-8", "backslashreplace"))


def top_level(node):
    """The statements that run with the module: not those in functions."""
    for statement in ast.iter_child_nodes(node):
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For,
                                  ast.While, ast.ExceptHandler)):
            yield from top_level(statement)


def is_main(function):
    """Whether it is a function of the program's that needs no argument."""
    return (inspect.isfunction(function)
            and function.__code__.co_filename == MAIN_FILE
            and all(parameter.default is not parameter.empty
                    or parameter.kind in (parameter.VAR_POSITIONAL,
                                          parameter.VAR_KEYWORD)
                    for parameter in
                    inspect.signature(function).parameters.values()))


def write_all(fd, data):
    done = os.write(fd, data)
    while done < len(data):  # in pieces of their own only then
        done += os.write(fd, data[done:])


def write_file(path, data):
    """As open() would, without the objects that it makes."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    write_all(file, data)
    os.close(file)


def flush_files():
    """Write out what open files still hold; the process ends without the
    interpreter's own clean-up."""
    things = gc.get_objects()
    # Text first: it flushes into its buffer.
    texts = [it for it in things if isinstance(it, io.TextIOWrapper)]
    buffers = [it for it in things
               if isinstance(it, (io.BufferedWriter, io.BufferedRandom))]
    for stream in (sys.stdout, sys.stderr, *texts, *buffers):
        try:
            stream.flush()
        except Exception:
            pass  # closed, or its disk is full: the program's own affair

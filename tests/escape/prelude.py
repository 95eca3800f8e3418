# Stands before each attack: what most of them need.
import ctypes
import os
import signal
import subprocess
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def attempt(name, function, *arguments):
    try:
        value = function(*arguments)
    except Exception as error:
        print('ok', name, type(error).__name__, str(error)[:100])
    else:
        print('LEAK', name, repr(value)[:200])


def call(number, *arguments):
    """A system call with all 64 bits of its arguments, or an OSError."""
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word
             for word in (number, *arguments)]
    ctypes.set_errno(0)
    result = libc.syscall(*words)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call_as_child(number, *arguments):
    """The same for one that returns twice."""
    result = call(number, *arguments)
    if result == 0:
        os._exit(0)
    os.waitpid(result, 0x40000000)  # __WALL
    return result


def prctl(*arguments):
    return call(157, *(arguments + (0,) * (5 - len(arguments))))



"""Start a program in whose sight some system calls fail.

    fault.py ERRNO CALL[:ARGUMENT=VALUE[/MASK]] ... -- PROGRAM ARGUMENTS

A filter of its own refuses CALL with that errno, where its argument of that
number has that value. It stays in force in all that PROGRAM starts.
"""

import ctypes
import errno
import os
import sys

ALLOW, ERRNO, MASKED_EQ = 0x7fff0000, 0x00050000, 7


class Condition(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("compare", ctypes.c_int),
                ("mask", ctypes.c_uint64), ("value", ctypes.c_uint64)]


def conditions(text):
    for part in filter(None, text.split(",")):
        argument, _, value = part.partition("=")
        value, _, mask = value.partition("/")
        yield Condition(int(argument), MASKED_EQ,
                        int(mask or "0xffffffff", 0), int(value, 0))


def install(number, faults):
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ALLOW))
    for fault in faults:
        name, _, rest = fault.partition(":")
        array = (Condition * 6)(*conditions(rest))
        count = len(rest.split(",")) if rest else 0
        call = seccomp.seccomp_syscall_resolve_name(name.encode())
        if call < 0 or seccomp.seccomp_rule_add_array(
                context, ERRNO | number, call, count, array) != 0:
            sys.exit(f"fault.py: {fault} cannot be refused")
    if seccomp.seccomp_load(context) != 0:
        sys.exit("fault.py: the filter cannot be loaded")


if __name__ == "__main__":
    end = sys.argv.index("--")
    install(getattr(errno, sys.argv[1]), sys.argv[2:end])
    os.execv(sys.argv[end + 1], sys.argv[end + 1:])

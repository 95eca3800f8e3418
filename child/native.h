/*
 * native.h - what the package sandbox has in C: the built-in module _sandbox.
 */

#ifndef SANDBOX_NATIVE_H
#define SANDBOX_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NATIVE_NAME "_sandbox"

/* How Python loads it. Returns a new reference, or NULL with an exception. */
PyMODINIT_FUNC PyInit__sandbox(void);

/* Fill what random_state() was given. Returns 0, or -1 with errno. */
int native_reseed(void);

#endif

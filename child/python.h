/*
 * python.h - the interpreter inside sandbox-child: start, fork, call.
 *
 * One interpreter a process, held by its only thread; every failure of ours
 * dies. What can be written in Python is in the package sandbox.
 */

#ifndef SANDBOX_PYTHON_H
#define SANDBOX_PYTHON_H

#include <sys/types.h>

/*
 * Start an isolated interpreter: no environment, no user site, UTF-8
 * whatever the locale, unbuffered standard streams. The system's site
 * directories are searched, then python_path (NULL-terminated, borrowed).
 */
void python_start(char **python_path);

/*
 * Call the function of a module with one list of strings (NULL-terminated;
 * NULL for no argument). Returns its result, an int, or 0 for None. An
 * exception is written to standard error and is fatal.
 */
int python_call(const char *module, const char *function, char **strings);

/*
 * Once all is loaded: go through what every run goes through, stop counting
 * references to what is there (Python 3.12 and 3.13), and leave no gaps between
 * objects, so that a child has less to write to.
 */
void python_settle(void);

/* Then: what can be done before there is a job. */
void python_prepare(void);

/* Then: one run, from its job, which comes in on CHILD_JOB until its end, to
 * its report. Returns its exit status. */
int python_live(void);

#endif

/*
 * die.h - the one way to fail before user code runs: say what, and exit.
 */

#ifndef SANDBOX_DIE_H
#define SANDBOX_DIE_H

/* The child's exit status for "the sandbox itself failed". */
enum { EXIT_SANDBOX = 2 };

/*
 * Say on which descriptor die() writes, and how its line begins. text is
 * borrowed for good. Until the first call: standard error, "sandbox-child: ".
 */
void die_to(int fd, const char *text);

/*
 * Write one line, as printf does (%m included), and _exit with EXIT_SANDBOX.
 * Runs no exit handlers, so it may be called in a forked interpreter.
 */
_Noreturn void die(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif

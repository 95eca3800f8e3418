/*
 * log.h - one line per event: time in UTC, process, what happened.
 *
 * Goes to standard error, or to the file that log_open() was given. Bytes
 * that are not printable are escaped, since parts come from strangers. errno
 * is preserved, so that %m works and the caller's still holds.
 */

#ifndef SANDBOX_LOG_H
#define SANDBOX_LOG_H

/* Append to the file at path from now on. Returns 0, or -1 with errno. */
int log_open(const char *path);

void log_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif

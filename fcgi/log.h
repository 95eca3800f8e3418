/*
 * log.h - one line per event: time in UTC, process, what happened.
 *
 * Goes to standard error, or to the file that log_open() was given; as text,
 * or as JSON objects. Where the journal reads it, each line begins with its
 * priority, as sd-daemon(3) has it. Bytes that are not printable are escaped,
 * since parts come from strangers: a line is ASCII, and never longer than 4096
 * bytes. errno is preserved, so that %m works and the caller's still holds.
 */

#ifndef SANDBOX_LOG_H
#define SANDBOX_LOG_H

#include <stdbool.h>

/*
 * Append from now on to the file at path, or to standard error where that is
 * empty. Returns 0; or -1 with errno, and all is as it was.
 */
int log_open(const char *path);

/* From now on write JSON, or text. */
void log_as_json(bool wanted);

void log_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/*
 * Something that happened to the request id: members NAME=VALUE with a blank
 * between two. In JSON they are members of the object; a value of digits is a
 * number there, and true and false are themselves.
 */
void log_event(const char *event, const char *id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/*
 * report.h - what a child says of its run, checked.
 *
 * Pure. The child shares its process with the program, so every byte may be a
 * lie or rubbish; what is handed on is well-formed, and no more is believed.
 */

#ifndef SANDBOX_REPORT_H
#define SANDBOX_REPORT_H

#include "json.h"
#include "text.h"

#include <stdbool.h>

/* All spans are raw JSON strings, borrowed from the text; at NULL: null. */
struct report {
    bool is_valid;     /* false: none of what follows was said, but place and
                          peak_kib */
    struct span result;
    bool has_error;
    struct span error_kind, error_type, error_message, error_traceback;
    long error_line;   /* 0: null */
    struct span figure_type, figure_message;  /* one could not be drawn */
    struct span limit;                        /* a cap was hit */
    struct span notes;                        /* raw array of strings */
    long place;        /* the program's line when time was up, or 0 */
    long peak_kib;     /* of memory that it had of its own, or 0 */
};

/*
 * Read the len bytes at text: lines, of which the last whole one counts, and
 * before it those of Python's faulthandler, and one with the peak of its
 * memory. Never fails: rubbish makes a
 * report that is not valid.
 */
void report_parse(const char *text, size_t len, struct report *report);

/*
 * Append the program's own frames from the first stack in the len bytes at
 * text that begins at `from` or later: "main.py:12:name,main.py:3:<module>",
 * the innermost first and not too many, or "unknown". No blank is in it.
 */
void report_stack(const char *text, size_t len, size_t from,
                  struct text *stack);

#endif

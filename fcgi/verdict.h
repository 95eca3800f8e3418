/*
 * verdict.h - what came of a run, from what is known of its end.
 *
 * Pure. The kernel's word and the worker's clock come before the child's
 * report; the table of error kinds in the contract gives the order in which
 * they are looked at, and what stands later there becomes a note.
 */

#ifndef SANDBOX_VERDICT_H
#define SANDBOX_VERDICT_H

#include "report.h"
#include "text.h"

#include <stdbool.h>
#include <stddef.h>

/* How a run ended, as the worker saw it. */
struct ending {
    bool is_known;        /* wait_status is the kernel's */
    int wait_status;
    bool was_interrupted; /* its time was up */
    bool was_killed;      /* it went on after that */
    bool was_memory;      /* it used too much */
    bool was_flood;       /* its report had no end */
    bool was_lost;        /* the zygote went away, and the run with it */
    double cpu_seconds;
    double seconds;
    size_t peak_memory;   /* bytes */
};

/* What the verdict depends on beside that. */
struct evidence {
    const struct ending *ending;
    const struct report *report;
    bool has_output, has_figures, has_files;
    double timeout;       /* seconds, of this run */
    double grace;         /* seconds */
    size_t memory;        /* bytes */
};

struct verdict {
    const char *kind;     /* static; "ok" when there is no error */
    struct text error;    /* raw JSON object; empty when there is none */
    struct text notes;    /* raw JSON strings with commas between them */
};

/*
 * Judge a run. Fills *verdict, which starts zeroed, or with notes already, and
 * is given to verdict_clear(). limit and notes of the collecting come in
 * through verdict_limit() and verdict_note(), after this.
 */
void verdict_reach(struct verdict *verdict, const struct evidence *evidence);

/* A cap left something out: the error when there is no other, else a note. */
void verdict_limit(struct verdict *verdict, const char *sentence);

/* One more note: any bytes. */
void verdict_note(struct verdict *verdict, const char *sentence);

void verdict_clear(struct verdict *verdict);

#endif

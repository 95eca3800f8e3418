/*
 * run.h - one run, from the job to its result.
 *
 * One loop over everything that can happen to a run. It believes nothing that
 * comes out of the child, and never waits for anything but the child's end.
 */

#ifndef SANDBOX_RUN_H
#define SANDBOX_RUN_H

#include "capture.h"
#include "collect.h"
#include "config.h"
#include "market.h"
#include "ready.h"
#include "request.h"
#include "verdict.h"

#include <poll.h>
#include <stdbool.h>

struct events;

/* All that a reply tells. */
struct result {
    struct capture output;
    struct text report_text;   /* what the spans in report point into */
    struct report report;
    struct ending ending;
    struct collected collected;
    struct verdict verdict;
    struct text slow;          /* where it stood after slow_after, or empty:
                                  one word, the innermost frame first */
    const struct market_call *calls;  /* borrowed from the market */
    size_t call_count;
};

/*
 * Run the job in the child and wait for its end; kill it when its time is up,
 * when it takes too much, and when the client goes away. The child stays the
 * caller's to close, its process is dead. The market serves its calls; events
 * (or NULL) tells what it prints meanwhile.
 *
 * Fills *result, for result_clear(). Returns 0; or -1 when nobody is left to
 * be told, and of *result only ending and slow say anything.
 */
int run_job(const struct config *config, const struct job *job,
            struct child *child, struct market *market, struct pollfd client,
            struct events *events, struct result *result);

void result_clear(struct result *result);

#endif

/*
 * zygote.h - the warm process that every run is forked from.
 */

#ifndef SANDBOX_ZYGOTE_H
#define SANDBOX_ZYGOTE_H

#include "confine.h"

#include <stdbool.h>

/* How many children there may be. */
struct zygote_plan {
    int ready;      /* kept waiting for a job */
    int max_runs;   /* waiting and running together */
    bool once;      /* one run, then the end: a cold start */
    size_t forks;   /* after so many it says ZYGOTE_WORN; 0: never */
};

/*
 * Keep plan->ready children forked ahead of need, hand each that is confined
 * and ready to a worker through queue_fd (SOCK_SEQPACKET), and report each
 * one's end. The interpreter must be warm and the process single-threaded.
 *
 * In the zygote returns when once is set and the run has ended, or when
 * nobody reads the queue any more. In a forked child never returns: it ends
 * the process with the program's exit status.
 */
void zygote_run(const struct zygote_plan *plan, const struct limits *limits,
                int queue_fd);

#endif

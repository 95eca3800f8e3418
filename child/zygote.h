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

struct zygote;

/*
 * A zygote that hands its children over through queue_fd (SOCK_SEQPACKET);
 * all three are borrowed. Owned for good. Dies without memory.
 */
struct zygote *zygote_new(const struct zygote_plan *plan,
                          const struct limits *limits, int queue_fd);

/*
 * While libraries are loaded, between two of them: act on what has happened,
 * and fork the children that are missing. They are early ones, of use till
 * there are others. Waits for them to be ready, no more. Python
 * must be started and the process single-threaded. In a forked child, as of
 * zygote_run(), never returns.
 */
void zygote_look(struct zygote *zygote);

/*
 * When all is loaded: keep plan->ready children forked ahead of need, hand
 * each that is confined and ready to a worker, and report each one's end. The
 * process must be single-threaded.
 *
 * In the zygote returns when once is set and the run has ended, or when
 * nobody reads the queue any more. In a forked child never returns: it ends
 * the process with the program's exit status.
 */
void zygote_run(struct zygote *zygote);

/* Whether it keeps this descriptor for a child; after zygote_look(). */
bool zygote_holds(const struct zygote *zygote, int fd);

#endif

/*
 * market.h - the broker: a run's calls for market data.
 *
 * The program asks with fields on its market descriptor (handover.h); the
 * worker checks them, asks the server with the key that the program never
 * sees, and sends back what came of it. One run at a time has calls here; a
 * run's poll() loop drives all of it, and nothing blocks.
 */

#ifndef SANDBOX_MARKET_H
#define SANDBOX_MARKET_H

#include "config.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct market;
struct market_shared;

/* One call, for reply and log. */
struct market_call {
    char *path;           /* owned by the market */
    int status;           /* HTTP's, or 0 */
    const char *failure;  /* why there was no answer, a word; or NULL */
    const char *detail;   /* more of it, for the log; or NULL */
    int64_t ms;
    bool is_cached;
};

/* What all workers use together. Made before the first fork; NULL with errno
 * on failure. */
struct market_shared *market_shared_new(const struct config *config);

/* Let go of it here; workers that have it open keep it. */
void market_shared_free(struct market_shared *shared);

/*
 * Once a worker, before it drops its privileges, since the key file may be
 * readable for root alone. Both are borrowed. Without a key that can be read,
 * which is logged, it goes on: runs may bring their own.
 */
struct market *market_open(const struct config *config,
                           struct market_shared *shared);

/*
 * Serve a run's calls from now on: those that come in on child_fd, which is
 * shut down here if the run goes too far. It and key, the run's own or NULL,
 * are borrowed until market_end(). No call lasts longer than end_ms.
 */
void market_begin(struct market *market, int child_fd, const char *key,
                  int64_t end_ms);

/* What to poll for, and to call market_step() for. -1 in it: nothing. */
enum { MARKET_POLLED = 2 };
void market_poll(const struct market *market,
                 struct pollfd polled[MARKET_POLLED]);
void market_step(struct market *market,
                 const struct pollfd polled[MARKET_POLLED]);

/* Let go of whatever is under way, at once. Harmless to repeat. */
void market_end(struct market *market);

/* The run's calls in the order in which they ended: borrowed until the next
 * market_begin(). */
const struct market_call *market_calls(const struct market *market,
                                       size_t *count);

#endif

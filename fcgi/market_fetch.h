/*
 * market_fetch.h - questions to the market-data server, over HTTP and TLS.
 *
 * The only module that talks to a network. Many transfers at a time, none of
 * which blocks: all that they wait for is behind one descriptor. Connections
 * are kept for the transfers that come after. Nothing here follows a redirect,
 * heeds a proxy of the environment, keeps a cookie, or goes on without the
 * server's certificate.
 */

#ifndef SANDBOX_MARKET_FETCH_H
#define SANDBOX_MARKET_FETCH_H

#include "market_answer.h"
#include "market_request.h"

/* Bytes of the bodies: of one, and of all that are held at a time. */
enum { FETCH_BODY_MAX = 32 << 20, FETCH_BODIES_MAX = 64 << 20 };

struct fetcher;
struct fetch;

/*
 * Ask the server at url, which has no '/' at its end. ca: a file of the
 * certificates to trust, or empty for the system's. held: bytes of all
 * bodies; each transfer adds to it what it receives, and takes it off again
 * when no answer comes of it. All three are borrowed. NULL on failure.
 */
struct fetcher *fetcher_new(const char *url, const char *ca, size_t *held);

/* To poll, for reading. */
int fetcher_fd(const struct fetcher *fetcher);

/* Have the descriptor readable from that moment on, whatever the transfers
 * do; INT64_MAX: not for this. */
void fetcher_wake_at(struct fetcher *fetcher, int64_t when_ms);

/*
 * Begin to ask, with key in a header; request and key are borrowed for the
 * call. The server may be silent for patience_ms, and the whole ends at
 * end_ms at the latest. owner comes back with the answer.
 */
struct fetch *fetch_start(struct fetcher *fetcher,
                          const struct market_request *request,
                          const char *key, int patience_ms, int64_t end_ms,
                          void *owner);

/* Give it up: its connection is closed at once. */
void fetch_cancel(struct fetch *fetch);

/* Go on with all of them, as far as that is possible without waiting. */
void fetcher_step(struct fetcher *fetcher);

/*
 * Take one transfer that has ended: fills *answer, to be given to
 * market_answer_clear(), frees the fetch and returns its owner. NULL when
 * there is none.
 */
void *fetcher_next(struct fetcher *fetcher, struct market_answer *answer);

#endif

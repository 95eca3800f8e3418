/*
 * market_answer.h - what comes of a call for market data, as a program gets
 * it: an answer of the server, or why there is none.
 *
 * Pure: no descriptors, no logging.
 */

#ifndef SANDBOX_MARKET_ANSWER_H
#define SANDBOX_MARKET_ANSWER_H

#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why there is no answer, in the order of market_failure_name(). */
enum market_failure {
    MARKET_ANSWERED,
    MARKET_NO_KEY,    /* none came with the request, the server has none */
    MARKET_REFUSED,   /* the call breaks the grammar */
    MARKET_CALLS,     /* the run has spent its calls */
    MARKET_TIMEOUT,
    MARKET_NETWORK,   /* no connection, no TLS, or it broke */
    MARKET_SIZE,      /* too large */
    MARKET_REDIRECT   /* the server points elsewhere; never followed */
};

enum { MARKET_NO_RETRY_AFTER = -1 };

struct market_answer {
    enum market_failure failure;
    char message[256];   /* a sentence of ours when it failed, else empty */
    const char *detail;  /* static, for the log; or NULL */
    bool may_pass;       /* a failure that may be gone a moment later */
    int status;          /* HTTP's; 0 when it failed */
    char type[128];      /* the media type that was sent, or empty */
    struct text body;    /* owned */
    int retry_after;     /* seconds, as sent */
    bool is_cached;
    bool is_stale;       /* out of the cache, and past its time */
};

/* An answer without anything yet, to be given to market_answer_clear(). */
void market_answer_init(struct market_answer *answer);

/* Make it a failure, with a sentence as by printf; drops any body. */
void market_answer_fail(struct market_answer *answer,
                        enum market_failure failure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Replace each trace of the key in type and body by asterisks: as it is, and
 * with any of its characters escaped as in a URL (%41) or in JSON (\u0041,
 * \/). key is not empty.
 */
void market_answer_redact(struct market_answer *answer, const char *key);

/* The same for any string that ends in NUL; it may become shorter. */
void market_redact(char *string, const char *key);

/* Append the packet that goes before the body. */
void market_answer_print(const struct market_answer *answer, uint32_t call,
                         int64_t ms, struct text *text);

/* "timeout" and so on, as the packet has it; NULL when it was answered. */
const char *market_failure_name(enum market_failure failure);

void market_answer_clear(struct market_answer *answer);

#endif

/*
 * market_rate.h - how often the market-data server is asked, by all workers.
 *
 * Not a bucket that fills at a steady pace: that either holds few tokens, and
 * slows a program with a hundred symbols down for nothing, or many, and then
 * lets twice the rate through in some minute. Here are the times of the last
 * calls, as many as a minute may have; one more may go when the oldest of
 * them is a minute ago.
 *
 * In memory that the workers share. No lock is needed that one of them might
 * leave behind: one that dies halfway has made one call uncounted, no more.
 */

#ifndef SANDBOX_MARKET_RATE_H
#define SANDBOX_MARKET_RATE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct market_rate {
    unsigned int calls_a_minute;  /* 0: no limit */
    atomic_uint_least64_t next;   /* of the times: modulo their number */
    atomic_int_least64_t times_ms[];
};

/* The bytes that one takes. */
size_t market_rate_size(int calls_a_minute);

/* Begin, in memory that is all zero. */
void market_rate_init(struct market_rate *rate, int calls_a_minute);

/*
 * Count a call at now_ms, by a clock that all share. Returns 0; or, when it
 * may not go, the ms until it is worth trying again.
 */
int64_t market_rate_take(struct market_rate *rate, int64_t now_ms);

#endif

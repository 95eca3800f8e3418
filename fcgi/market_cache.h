/*
 * market_cache.h - answers of the market-data server, kept for all workers.
 *
 * Why memory that the processes share, made by the master before its first
 * fork: it is there for every worker, outlives any of them, works without
 * nginx in front, and is gone with the service. nginx's proxy_cache would
 * have to resolve the server's name when nginx starts, knows lifetimes by
 * path alone (not by the dates that were asked for, nor by what came back),
 * and serves only those who run behind nginx. Files would need locks, an
 * eviction and a cleaning of their own, and stay on the disk.
 *
 * A ring: a new answer takes the place of the oldest. An answer is found by a
 * hash of 128 bits, keyed with a secret that is drawn at each start, over the
 * account and the request: no key is in here, and what one account was
 * answered is never given to another.
 *
 * A cache may be NULL: nothing is kept. Nothing here waits for long, either: a
 * cache that is not to be had within a moment has nothing.
 */

#ifndef SANDBOX_MARKET_CACHE_H
#define SANDBOX_MARKET_CACHE_H

#include "market_answer.h"
#include "siphash.h"

struct market_cache;

/* Past its time, an answer is kept for this many ms, for want of better. */
enum { MARKET_STALE_MS = 24 * 60 * 60 * 1000 };

/*
 * Make one of about size bytes, at least a megabyte, before the first fork.
 * NULL with errno on failure.
 */
struct market_cache *market_cache_new(size_t size);
void market_cache_free(struct market_cache *cache);

/* Under what whoever has this key is known here. */
struct hash market_cache_account(const struct market_cache *cache,
                                 const char *key);

/* Under what the account's request is kept. */
struct hash market_cache_place(const struct market_cache *cache,
                               struct hash account,
                               const struct text *request);

/*
 * Look there. Returns whether there is an answer that is still good at
 * now_ms, or any when stale is asked for; it is then added to *answer, which
 * was empty.
 */
bool market_cache_get(struct market_cache *cache, struct hash place,
                      int64_t now_ms, bool stale,
                      struct market_answer *answer);

/* Keep the answer for so long, unless it is an eighth of the cache or more. */
void market_cache_put(struct market_cache *cache, struct hash place,
                      int64_t now_ms, int64_t lifetime_ms,
                      const struct market_answer *answer);

#endif

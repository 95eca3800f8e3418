/*
 * market_key.h - the server's own key for market data, in a file.
 */

#ifndef SANDBOX_MARKET_KEY_H
#define SANDBOX_MARKET_KEY_H

#include <stddef.h>

/*
 * Is the file one that may hold a key: a regular file, not readable by its
 * group or by others? Reads nothing of it. path may be empty: no file, no
 * key. Returns 0, or -1 with a sentence in why.
 */
int market_key_check(const char *path, char *why, size_t why_size);

/*
 * Check the same and read it. On success *key is the key, owned, to be given
 * to market_key_free(), or NULL when path is empty; returns 0. Else -1 with a
 * sentence in why.
 */
int market_key_read(const char *path, char **key, char *why, size_t why_size);

/* Wipe it and free it. May be NULL. */
void market_key_free(char *key);

#endif

/*
 * market_policy.h - how the broker treats the market-data server: for how long
 * its answers are kept, when it is asked again, how long it may take.
 *
 * Pure: no descriptors, no logging, no clock of its own.
 */

#ifndef SANDBOX_MARKET_POLICY_H
#define SANDBOX_MARKET_POLICY_H

#include "market_answer.h"
#include "market_request.h"

#include <time.h>

/*
 * For how many ms the answer may be given again to whoever asks the same with
 * the same key; 0: not at all. now is the time of day.
 */
int64_t market_policy_lifetime(const struct market_request *request,
                               const struct market_answer *answer,
                               time_t now);

/*
 * After how many ms to ask again, when it has been asked again so many times
 * already; -1: let it be. random: any number, to spread those who wait.
 */
int64_t market_policy_pause(const struct market_answer *answer, int retries,
                            unsigned int random);

/* For how many ms the server may be silent over what is at path. */
int market_policy_patience(const char *path);

#endif

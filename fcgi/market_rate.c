#include "market_rate.h"

enum { MINUTE_MS = 60 * 1000 };

size_t
market_rate_size(int calls_a_minute)
{
    return sizeof(struct market_rate) +
           (size_t)calls_a_minute * sizeof(atomic_int_least64_t);
}

void
market_rate_init(struct market_rate *rate, int calls_a_minute)
{
    rate->calls_a_minute = (unsigned int)calls_a_minute;
    for (int i = 0; i < calls_a_minute; i++)
        atomic_init(&rate->times_ms[i], -MINUTE_MS);
}

int64_t
market_rate_take(struct market_rate *rate, int64_t now_ms)
{
    uint_least64_t next = atomic_load(&rate->next);
    atomic_int_least64_t *time_ms;

    if (rate->calls_a_minute == 0)
        return 0;
    do {
        int64_t free_ms;

        time_ms = &rate->times_ms[next % rate->calls_a_minute];
        free_ms = atomic_load(time_ms) + MINUTE_MS;
        if (free_ms > now_ms)
            return free_ms - now_ms;
    } while (!atomic_compare_exchange_weak(&rate->next, &next, next + 1));
    atomic_store(time_ms, now_ms);
    return 0;
}

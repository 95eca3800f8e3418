/*
 * clock.h - milliseconds that only go forward.
 */

#ifndef SANDBOX_CLOCK_H
#define SANDBOX_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif

#include "scoreboard.h"

#include "clock.h"

#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20 };

const char *const scoreboard_kinds[SCOREBOARD_KINDS] = {
    "ok", "exception", "exit", "timeout", "memory", "crash", "empty",
    "figure", "limit", KIND_REFUSED, KIND_UNAVAILABLE, KIND_ABANDONED,
};

const char *const scoreboard_seats[SEAT_STATES] = {
    "idle", "busy", "waiting", "running",
};

const char *const scoreboard_classes[MARKET_CLASSES] = {
    "none", "1xx", "2xx", "3xx", "4xx", "5xx",
};

const struct measure_kind measure_kinds[MEASURES] = {
    [MEASURE_RUN] = {"run_seconds", "How long programs ran.", 1e6,
        {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100}},
    [MEASURE_QUEUE] = {"queue_seconds",
        "How long requests waited for a child, from when they came.", 1e6,
        {.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}},
    [MEASURE_CPU] = {"run_cpu_seconds", "Processor time of runs.", 1e6,
        {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100}},
    [MEASURE_MEMORY] = {"run_peak_memory_bytes",
        "The most memory that runs had, each of its own.", 1,
        {MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB,
         128 * MIB, 256 * MIB, 512 * MIB, 1024. * MIB, 2048. * MIB,
         4096. * MIB}},
    [MEASURE_REPLY] = {"reply_bytes", "Size of the replies of runs.", 1,
        {256, 1024, 4096, 16384, 65536, 262144, MIB, 4 * MIB, 16 * MIB,
         64 * MIB}},
};

struct scoreboard *
scoreboard_new(int seats)
{
    size_t size = sizeof(struct scoreboard) +
                  (size_t)seats * sizeof(atomic_int);
    struct scoreboard *scoreboard =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
             -1, 0);

    if (scoreboard == MAP_FAILED)
        return NULL;
    scoreboard->started_ms = now_ms();
    scoreboard->started_at = time(NULL);
    scoreboard->seat_count = seats;
    return scoreboard;
}

void
scoreboard_set(char text[static SCOREBOARD_TEXT], const char *value)
{
    strncpy(text, value, SCOREBOARD_TEXT - 1);  /* the last byte stays NUL */
}

void
scoreboard_count(struct scoreboard *scoreboard, const char *kind)
{
    for (int i = 0; i < SCOREBOARD_KINDS; i++)
        if (strcmp(kind, scoreboard_kinds[i]) == 0)
            scoreboard->totals[i]++;
}

void
scoreboard_market(struct scoreboard *scoreboard, int status, bool is_cached)
{
    int class = status / 100;

    if (class < 0 || class >= MARKET_CLASSES)
        class = 0;
    scoreboard->market_calls[class][is_cached]++;
}

void
scoreboard_measure(struct scoreboard *scoreboard, enum measure measure,
                   double value)
{
    const struct measure_kind *kind = &measure_kinds[measure];
    struct histogram *histogram = &scoreboard->histograms[measure];
    int bucket = 0;

    if (!(value > 0 && value < 1e15))
        value = 0;
    while (bucket < BUCKETS_MAX && kind->bounds[bucket] > 0 &&
           value > kind->bounds[bucket])
        bucket++;
    histogram->counts[bucket]++;
    histogram->sum += (unsigned long)(value * kind->scale);
}

void
scoreboard_count_seats(const struct scoreboard *scoreboard,
                       int seats[static SEAT_STATES])
{
    memset(seats, 0, SEAT_STATES * sizeof(*seats));
    for (int i = 0; i < scoreboard->seat_count; i++)
        seats[scoreboard->seats[i] % SEAT_STATES]++;
}

bool
scoreboard_enter(struct scoreboard *scoreboard, int count, int seat)
{
    for (int i = 0; i < count; i++) {
        int nobody = 0;

        if (atomic_compare_exchange_strong(&scoreboard->places[i], &nobody,
                                           seat + 1))
            return true;
    }
    return false;
}

void
scoreboard_leave(struct scoreboard *scoreboard, int count, int seat)
{
    for (int i = 0; i < count; i++)
        if (scoreboard->places[i] == seat + 1)
            scoreboard->places[i] = 0;
}

bool
scoreboard_is_well(const struct scoreboard *scoreboard)
{
    return scoreboard->is_warm && !scoreboard->is_failing;
}

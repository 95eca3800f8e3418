/*
 * scoreboard.h - what master and workers know together, in shared memory.
 *
 * Each field has one writer or is atomic; a reader may see a moment's mix.
 */

#ifndef SANDBOX_SCOREBOARD_H
#define SANDBOX_SCOREBOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What a worker is at. */
enum seat {
    SEAT_IDLE,
    SEAT_BUSY,     /* reading a request, or answering it */
    SEAT_WAITING,  /* for a child */
    SEAT_RUNNING,
    SEAT_EMPTY,    /* nobody's */
    SEAT_STATES
};

enum { SCOREBOARD_KINDS = 12, SCOREBOARD_TEXT = 256,
       SCOREBOARD_ABOUT = 16 * 1024 };

/* At most so many runs at a time: max_runs is no more (config.c). */
enum { PLACES_MAX = 16384 };

/* What is measured of runs. */
enum measure {
    MEASURE_RUN,
    MEASURE_QUEUE,
    MEASURE_CPU,
    MEASURE_MEMORY,
    MEASURE_REPLY,
    MEASURES
};

enum { BUCKETS_MAX = 14 };

/* Where a measurement is counted: in the first bucket that has room for it,
 * the last of all where none has. */
struct histogram {
    atomic_ulong counts[BUCKETS_MAX + 1];
    atomic_ulong sum;  /* in bytes, or in microseconds */
};

extern const struct measure_kind {
    const char *name;             /* ends in the unit: seconds or bytes */
    const char *help;
    double scale;                 /* of sum */
    double bounds[BUCKETS_MAX];   /* rising; 0: no more */
} measure_kinds[MEASURES];

/* The classes of a market-data call's status; no answer at all is 0. */
enum { MARKET_CLASSES = 6 };

struct scoreboard {
    int64_t started_ms;
    time_t started_at;
    atomic_bool is_warm;     /* a child of the present zygote has been seen */
    atomic_bool is_loading;  /* it loads libraries: its children are early */
    atomic_bool is_failing;  /* a child could not be set up since one was
                                taken; reason says why */
    /* Written by the master alone; each ends in NUL at every moment. */
    char reason[SCOREBOARD_TEXT];  /* why nothing runs */
    char layers[SCOREBOARD_TEXT];  /* in force, blanks between them */
    char about[SCOREBOARD_ABOUT];  /* what the warm zygote says of Python: a
                                      JSON object, or empty */
    atomic_uint zygote_restarts, worker_restarts;
    atomic_ulong totals[SCOREBOARD_KINDS];  /* in the order of the names */
    atomic_ulong market_calls[MARKET_CLASSES][2];  /* [1]: from the cache */
    struct histogram histograms[MEASURES];
    atomic_int places[PLACES_MAX];  /* of runs: who is in it, its seat and
                                       one more; 0: nobody */
    atomic_int seat_count;
    atomic_int seats[];            /* one a worker, some empty */
};

/*
 * How requests end: the kinds of a run's error, "ok", and from
 * SCOREBOARD_NO_RUN on what did not come to a reply of a run.
 */
enum { SCOREBOARD_NO_RUN = 9 };
extern const char *const scoreboard_kinds[SCOREBOARD_KINDS];
#define KIND_REFUSED "refused"          /* 4xx */
#define KIND_UNAVAILABLE "unavailable"  /* 503 */
#define KIND_ABANDONED "abandoned"      /* the client left */

/* What the states of a seat and the classes of a status are called. */
extern const char *const scoreboard_seats[SEAT_STATES];
extern const char *const scoreboard_classes[MARKET_CLASSES];

/* Make it, before the first fork. NULL with errno on failure. */
struct scoreboard *scoreboard_new(int seats);

/* Replace a text. For the master. */
void scoreboard_set(char text[static SCOREBOARD_TEXT], const char *value);

/* One more that ended so. */
void scoreboard_count(struct scoreboard *scoreboard, const char *kind);

/* One more market-data call, with HTTP's status or 0. */
void scoreboard_market(struct scoreboard *scoreboard, int status,
                       bool is_cached);

/* One more measurement. What none can be (-1, NaN) counts as 0. */
void scoreboard_measure(struct scoreboard *scoreboard, enum measure measure,
                        double value);

/* How many workers are at what. */
void scoreboard_count_seats(const struct scoreboard *scoreboard,
                            int seats[static SEAT_STATES]);

/*
 * Take one of the first `count` places for the worker of that seat; false when
 * all are taken. Runs of every zygote and worker share them. Give it up again,
 * if it has one: the worker itself, or the master when that has died.
 */
bool scoreboard_enter(struct scoreboard *scoreboard, int count, int seat);
void scoreboard_leave(struct scoreboard *scoreboard, int count, int seat);

/* Nothing is in the way of a run. Without a zygote nothing is known to be. */
bool scoreboard_is_well(const struct scoreboard *scoreboard);

#endif

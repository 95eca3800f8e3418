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

/* What a worker is at. */
enum seat {
    SEAT_IDLE,
    SEAT_BUSY,     /* reading a request, or answering it */
    SEAT_WAITING,  /* for a child */
    SEAT_RUNNING,
    SEAT_STATES
};

enum { SCOREBOARD_KINDS = 12, SCOREBOARD_TEXT = 256,
       SCOREBOARD_ABOUT = 16 * 1024 };

struct scoreboard {
    int64_t started_ms;
    atomic_bool is_warm;     /* a child of the present zygote has been seen */
    atomic_bool is_failing;  /* a child could not be set up since one was
                                taken; reason says why */
    /* Written by the master alone; each ends in NUL at every moment. */
    char reason[SCOREBOARD_TEXT];  /* why nothing runs */
    char layers[SCOREBOARD_TEXT];  /* in force, blanks between them */
    char about[SCOREBOARD_ABOUT];  /* what the warm zygote says of Python: a
                                      JSON object, or empty */
    atomic_uint zygote_restarts, worker_restarts;
    atomic_ulong totals[SCOREBOARD_KINDS];  /* in the order of the names */
    int seat_count;
    atomic_int seats[];            /* one a worker */
};

/*
 * How requests end: the kinds of a run's error, "ok", and what did not come
 * to a reply of a run.
 */
extern const char *const scoreboard_kinds[SCOREBOARD_KINDS];
#define KIND_REFUSED "refused"          /* 4xx */
#define KIND_UNAVAILABLE "unavailable"  /* 503 */
#define KIND_ABANDONED "abandoned"      /* the client left */

/* Make it, before the first fork. NULL with errno on failure. */
struct scoreboard *scoreboard_new(int workers);

/* Replace a text. For the master. */
void scoreboard_set(char text[static SCOREBOARD_TEXT], const char *value);

/* One more that ended so. */
void scoreboard_count(struct scoreboard *scoreboard, const char *kind);

#endif

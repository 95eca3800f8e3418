/*
 * scoreboard.h - what master and workers know together, in shared memory.
 */

#ifndef SANDBOX_SCOREBOARD_H
#define SANDBOX_SCOREBOARD_H

#include <stdatomic.h>
#include <stdbool.h>

struct scoreboard {
    atomic_bool is_warm;     /* a child of the present zygote has been seen */
    atomic_bool is_failing;  /* a child could not be set up since one was
                                taken; reason says why */
    char reason[256];        /* why not; written by the master alone, ends in
                                NUL at every moment */
};

/* Make it, before the first fork. NULL with errno on failure. */
struct scoreboard *scoreboard_new(void);

/* Replace the reason. For the master. */
void scoreboard_set_reason(struct scoreboard *scoreboard, const char *text);

#endif

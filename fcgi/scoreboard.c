#include "scoreboard.h"

#include "clock.h"

#include <string.h>
#include <sys/mman.h>

const char *const scoreboard_kinds[SCOREBOARD_KINDS] = {
    "ok", "exception", "exit", "timeout", "memory", "crash", "empty",
    "figure", "limit", KIND_REFUSED, KIND_UNAVAILABLE, KIND_ABANDONED,
};

struct scoreboard *
scoreboard_new(int workers)
{
    size_t size = sizeof(struct scoreboard) +
                  (size_t)workers * sizeof(atomic_int);
    struct scoreboard *scoreboard =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
             -1, 0);

    if (scoreboard == MAP_FAILED)
        return NULL;
    scoreboard->started_ms = now_ms();
    scoreboard->seat_count = workers;
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

/*
 * memory.h - the zygote's memory, laid out so that a fork of it is cheap.
 *
 * A fork copies an entry for each page that was written to, and a record for
 * each mapping. So what Python and malloc hold is in huge pages, an entry for
 * 2 MiB, where the machine has them, and mappings that can be one are one.
 * (What a child then writes to costs it a copy of 4 KiB all the same.)
 */

#ifndef SANDBOX_MEMORY_H
#define SANDBOX_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Before much is allocated: let it go into few places, in huge pages. */
void memory_start(void);

/*
 * Memory for Python's small objects, and back. Returns NULL when there is
 * none. Between memory_start() and memory_settle(), in huge pages.
 */
void *memory_arena_new(size_t size);
void memory_arena_free(void *arena, size_t size);

/* No more ahead of need: for a child that is forked while libraries load. */
void memory_stop(void);

/*
 * Once everything is loaded, before all but such forks. Gives back what is held
 * ahead of need; needs /proc.
 */
void memory_settle(void);

struct mapping {
    uintptr_t start, end;
    char access[5];            /* "r-xp" */
    char name[128];            /* cut short where it is longer */
};

/*
 * All that this process has mapped, in order of address; needs /proc. Sets
 * *count; returns memory to give to memory_mappings_free(), with one mapping
 * more at the end, that begins where nothing reaches.
 */
struct mapping *memory_mappings(size_t *count);
void memory_mappings_free(struct mapping *mappings);

#endif

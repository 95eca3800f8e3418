/*
 * memory.h - the zygote's memory, laid out so that a fork of it is cheap.
 *
 * A fork copies a record for each mapping, and of most an entry for each page
 * that is mapped. So when all is loaded, what there is is put into a few files
 * of memory, mapped privately, and next to nothing of them is left mapped: a
 * child maps what it looks at, in huge pages where the machine has them, and
 * gets a page of its own where it writes.
 */

#ifndef SANDBOX_MEMORY_H
#define SANDBOX_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before much is allocated: bounds of malloc's that loading would change. */
void memory_start(void);

/*
 * Once everything is loaded. Needs /proc; dies without memory.
 */
void memory_settle(void);

/*
 * Once the first children are forked, which takes what later ones do not:
 * unmap what of those files was looked at, and not written to. Needs /proc.
 */
void memory_unmap(void);

struct mapping {
    uintptr_t start, end;
    char access[5];            /* "r-xp" */
    bool is_plain;             /* nothing else is peculiar to it */
    char name[128];            /* cut short where it is longer */
};

/*
 * All that this process has mapped, in order of address; needs /proc. Sets
 * *count; returns memory to give to memory_mappings_free(), with one mapping
 * more at the end, that begins where nothing reaches.
 */
struct mapping *memory_mappings(size_t *count);
void memory_mappings_free(struct mapping *mappings);

/* What /proc/self/pagemap says of a page (pagemap.rst in Linux). */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)
#define PAGE_EXCLUSIVE (UINT64_C(1) << 56)

typedef void memory_visitor(void *context, uintptr_t page, uint64_t entry);

/* Call visit for each page of a mapping, in order, with what pagemap says of
 * it. Returns whether it did so to the end. Writes to the stack alone. */
bool memory_visit(const struct mapping *mapping, memory_visitor *visit,
                  void *context);

#endif

#include "memory.h"

#include "die.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  /* Linux 6.1; older headers lack it */
#endif

enum {
    HUGE_BYTES = 2 << 20,
    AHEAD_BYTES = 64 << 20,    /* for arenas, at a time; untouched, it costs
                                  nothing */
    HEAP_BYTES = 128 << 20,    /* the same for malloc */
    LARGE_BYTES = 32 << 20,    /* what malloc maps by itself, at most, and */
    TRIM_BYTES = 64 << 20,     /* ... gives back: its own bounds, at which it
                                  arrives by itself in a large program */
    HEAP_STEP = 128 << 10,     /* its default */
    SMALL_MIN = 24,            /* malloc's sizes of which it keeps lists */
    SMALL_STEP = 16,
    SMALL_MAX = 1032,
    MAPPINGS_MAX = 16384
};

/* AddressSanitizer has a malloc of its own, and shadows of terabytes. */
#ifdef SANITIZE_ADDRESS
enum { IS_SANITIZED = true };
#else
enum { IS_SANITIZED = false };
#endif
#define SHADOW_BYTES ((uintptr_t)1 << 40)

/* An arena that Python gave back while it loads, to be handed out again. */
struct spare {
    struct spare *next;
    size_t size;
};

static bool takes_ahead;
static char *ahead, *ahead_end;  /* what the next arenas are cut from */
static struct spare *spares;

static void *
map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

static uintptr_t
round_up(uintptr_t address)
{
    return (address + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);
}

static uintptr_t
round_down(uintptr_t address)
{
    return address & ~(uintptr_t)(HUGE_BYTES - 1);
}

/*** Python's small objects ***/

static void
give_back_ahead(void)
{
    if (ahead != ahead_end)
        munmap(ahead, (size_t)(ahead_end - ahead));
    ahead = ahead_end = NULL;
}

static void
give_back_spares(void)
{
    while (spares != NULL) {
        struct spare *spare = spares;

        spares = spare->next;
        munmap(spare, spare->size);
    }
}

static void
take_ahead(void)
{
    char *memory = map(AHEAD_BYTES + HUGE_BYTES), *end;

    give_back_ahead();
    if (memory == NULL)
        return;
    end = memory + AHEAD_BYTES + HUGE_BYTES;
    ahead = (char *)round_up((uintptr_t)memory);
    ahead_end = ahead + AHEAD_BYTES;
    if (ahead != memory)
        munmap(memory, (size_t)(ahead - memory));
    if (ahead_end != end)
        munmap(ahead_end, (size_t)(end - ahead_end));
    (void)!madvise(ahead, AHEAD_BYTES, MADV_HUGEPAGE);
}

void *
memory_arena_new(size_t size)
{
    void *arena;

    if (spares != NULL && spares->size == size) {
        arena = spares;
        spares = spares->next;
        return arena;
    }
    if (takes_ahead && (size_t)(ahead_end - ahead) < size)
        take_ahead();
    if ((size_t)(ahead_end - ahead) < size)
        return map(size);
    arena = ahead;
    ahead += size;
    return arena;
}

void
memory_arena_free(void *arena, size_t size)
{
    struct spare *spare = arena;

    if (!takes_ahead) {
        munmap(arena, size);
        return;
    }
    *spare = (struct spare){spares, size};
    spares = spare;
}

/*** malloc ***/

/*
 * By itself malloc maps what is large one by one, until it has seen such
 * pieces come and go; then it keeps a heap. Here the heap is there at once,
 * for its huge pages' sake.
 */
void
memory_start(void)
{
    uintptr_t start = round_up((uintptr_t)sbrk(0)), end;

    takes_ahead = true;
    if (IS_SANITIZED)
        return;
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BYTES);
    mallopt(M_TOP_PAD, HEAP_BYTES);
    free(malloc(HUGE_BYTES));  /* more than there is: the heap grows */
    end = round_down((uintptr_t)sbrk(0));
    if (start < end)
        (void)!madvise((void *)start, end - start, MADV_HUGEPAGE);
}

/*
 * Take what is free below top in small pieces, for good. A child's own small
 * pieces then lie together, not each on a page that is copied for it alone.
 */
static void
fill_gaps(uintptr_t top)
{
    for (size_t size = SMALL_MAX; size >= SMALL_MIN; size -= SMALL_STEP) {
        uintptr_t piece;

        do
            piece = (uintptr_t)malloc(size);
        while (piece != 0 && piece < top);
    }
}

/*
 * Let malloc put what is free where it belongs. Left to itself it does so at
 * the first large request of every child, which then has each page of the
 * heap that holds a free piece copied: some 500.
 */
static void
sort_heap(void)
{
    void *at_top;
    uintptr_t top;

    malloc_trim(0);                    /* joins free pieces, in no order */
    at_top = malloc(LARGE_BYTES / 2);  /* for which it looks at all of them */
    top = (uintptr_t)at_top;
    free(at_top);
    fill_gaps(top);
    malloc_trim(HUGE_BYTES);
}

/*** Mappings ***/

/* Mapped, not allocated: what is looked at must not change the heap. */
enum { MAPPINGS_BYTES = MAPPINGS_MAX * sizeof(struct mapping) };

struct mapping *
memory_mappings(size_t *count)
{
    struct mapping *mappings = map(MAPPINGS_BYTES);
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    if (mappings == NULL || maps == NULL)
        die("cannot read /proc/self/maps: %m");
    *count = 0;
    while (fgets(line, sizeof(line), maps) != NULL &&
           *count < MAPPINGS_MAX - 1) {
        struct mapping *mapping = &mappings[*count];

        mapping->name[0] = '\0';
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %127s", &mapping->start,
                   &mapping->end, mapping->access, mapping->name) >= 3 &&
            !(IS_SANITIZED && mapping->end - mapping->start > SHADOW_BYTES))
            ++*count;
    }
    mappings[*count].start = mappings[*count].end = UINTPTR_MAX;
    fclose(maps);
    return mappings;
}

void
memory_mappings_free(struct mapping *mappings)
{
    munmap(mappings, MAPPINGS_BYTES);
}

/* Where the kernel has a huge page to spare, and knows how. */
static void
collapse(const struct mapping *mapping)
{
    bool is_anonymous = mapping->name[0] == '\0' ||
                        strcmp(mapping->name, "[heap]") == 0;
    uintptr_t start = round_up(mapping->start);
    uintptr_t end = round_down(mapping->end);

    if (!is_anonymous || strcmp(mapping->access, "rw-p") != 0 || start >= end)
        return;
    (void)!madvise((void *)start, end - start, MADV_HUGEPAGE);
    for (; start < end; start += HUGE_BYTES)
        (void)!madvise((void *)start, HUGE_BYTES, MADV_COLLAPSE);
}

static bool
is_same_file(const struct mapping *mapping, const struct mapping *next)
{
    return mapping->name[0] == '/' && mapping->end == next->start &&
           strcmp(mapping->name, next->name) == 0;
}

static void
protect(const struct mapping *mapping, int access)
{
    if (mprotect((void *)mapping->start, mapping->end - mapping->start,
                 access) == -1)
        die("cannot change the access to a library's memory: %m");
}

/*
 * A library is mapped in five pieces that differ in what may be done to them.
 * With two fewer kinds of access three of its pieces are one, and the other
 * two as well. Nothing is lost by it: code that runs in here may map itself
 * what it likes, writable and executable.
 */
static void
join(const struct mapping *mappings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct mapping *mapping = &mappings[i];
        bool has_next = i + 1 < count && is_same_file(mapping, mapping + 1);
        bool has_last = i > 0 && is_same_file(mapping - 1, mapping);

        if (strcmp(mapping->access, "r--p") != 0)
            continue;
        if (has_next && strcmp(mapping[1].access, "rw-p") == 0)
            protect(mapping, PROT_READ | PROT_WRITE);  /* relocated data */
        else if ((has_next && strcmp(mapping[1].access, "r-xp") == 0) ||
                 (has_last && strcmp(mapping[-1].access, "r-xp") == 0))
            protect(mapping, PROT_READ | PROT_EXEC);   /* constants */
    }
}

/* Whether it is a part of a library, or memory as malloc and the kernel have
 * it behind one: what can lie in other pages as well. */
static bool
is_movable(const struct mapping *mapping)
{
    return mapping->name[0] == '/'
               ? strcmp(mapping->access, "rw-s") != 0
               : mapping->name[0] == '\0' &&
                     strcmp(mapping->access, "rw-p") == 0;
}

/* Whether all of it is in huge pages, or could be put into them. */
static bool
is_huge(char *start, size_t size)
{
    for (size_t at = 0; at < size; at += HUGE_BYTES)
        if (madvise(start + at, HUGE_BYTES, MADV_COLLAPSE) == -1)
            return false;
    return true;
}

/*
 * Put a copy in huge pages in the place of what is there, mappings and gaps
 * between them, if they are to be had. It may be the C library that is
 * replaced: nothing but the copying itself happens in between.
 */
static void
replace(uintptr_t start, size_t size, const struct mapping *mapping)
{
    char *room = mmap(NULL, size + HUGE_BYTES,
                      PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *copy = (char *)round_up((uintptr_t)room);
    char *rest = room;

    if (room == MAP_FAILED)
        return;
    (void)!madvise(copy, size, MADV_HUGEPAGE);
    memset(copy, 0, size);
    if (is_huge(copy, size)) {
        for (; mapping->start < start + size; mapping++) {
            uintptr_t from = mapping->start > start ? mapping->start : start;
            uintptr_t to = mapping->end < start + size ? mapping->end
                                                       : start + size;

            if (mapping->access[0] != 'r')
                continue;
            /* Nothing is mapped at 0.
             * NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
            memcpy(copy + (from - start), (void *)from, to - from);
        }
        if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
                   (void *)start) != MAP_FAILED)
            rest = copy + size;
    }
    if (rest == room)
        munmap(room, size + HUGE_BYTES);
    else {
        if (copy != room)
            munmap(room, (size_t)(copy - room));
        munmap(rest, (size_t)(room + HUGE_BYTES - copy));
    }
}

/*
 * Whether the huge page at `at` would stand for several mappings, all of which
 * can be moved; or for the interpreter's code, which each child would have to
 * map again. *mapping is the first that reaches beyond at, in a list that ends
 * with what nothing reaches.
 */
static bool
is_worth_it(uintptr_t at, const struct mapping *mapping)
{
    bool has_library = false, is_whole = mapping->start <= at &&
                                         mapping->end >= at + HUGE_BYTES &&
                                         strstr(mapping->name, "/libpython") ==
                                             NULL;

    for (; mapping->start < at + HUGE_BYTES; mapping++) {
        if (!is_movable(mapping))
            return false;
        has_library |= mapping->name[0] == '/';
    }
    return has_library && !is_whole;
}

/*
 * Hundreds of libraries stand side by side, each in some pieces. Where more
 * than one stands in the space of a huge page, they are moved into one: so
 * they are a few entries for a fork to copy and an exit to clear, which
 * halves what both take.
 */
static void
replace_libraries(const struct mapping *mappings, size_t count)
{
    uintptr_t at = 0;

    for (size_t i = 0; i < count;) {
        uintptr_t end;

        if (at < round_down(mappings[i].start))
            at = round_down(mappings[i].start);
        while (i < count && mappings[i].end <= at)
            i++;
        end = at;
        for (size_t next = i; is_worth_it(end, &mappings[next]);) {
            end += HUGE_BYTES;
            while (mappings[next].end <= end)
                next++;
        }
        if (end > at)
            replace(at, end - at, &mappings[i]);
        at = end > at ? end : at + HUGE_BYTES;
    }
}

void
memory_stop(void)
{
    takes_ahead = false;
    give_back_ahead();
    mallopt(M_TOP_PAD, HEAP_STEP);
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
}

void
memory_settle(void)
{
    struct mapping *mappings;
    size_t count;

    memory_stop();
    give_back_spares();
    if (IS_SANITIZED)
        return;
    sort_heap();
    mappings = memory_mappings(&count);
    for (size_t i = 0; i < count; i++)
        collapse(&mappings[i]);
    join(mappings, count);
    memory_mappings_free(mappings);
    mappings = memory_mappings(&count);
    replace_libraries(mappings, count);
    memory_mappings_free(mappings);
}

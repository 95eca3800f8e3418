#include "memory.h"

#include "die.h"

#include <fcntl.h>
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
    LARGE_BYTES = 32 << 20,    /* what malloc maps by itself, at most, and */
    TRIM_BYTES = 64 << 20,     /* ... gives back: its own bounds, at which it
                                  arrives by itself in a large program */
    LARGE_FILE_BYTES = 8 << 20,  /* left where they are */
    MAPPINGS_MAX = 16384,
    ENTRIES = 512  /* of pages, read at a time */
};

#define FILE_NAME "memory"  /* as all can see that have it mapped */

/* AddressSanitizer has a malloc of its own, and shadows of terabytes. */
#ifdef SANITIZE_ADDRESS
enum { IS_SANITIZED = true };
#else
enum { IS_SANITIZED = false };
#endif
#define SHADOW_BYTES ((uintptr_t)1 << 40)

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

/*** malloc ***/

void
memory_start(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
}

/*
 * Let malloc put what is free where it belongs. Left to itself it does so at
 * the first large request of every child, which then has each page of the
 * heap that holds a free piece copied: some 500.
 */
static void
sort_heap(void)
{
    malloc_trim(0);                 /* joins free pieces, in no order */
    free(malloc(LARGE_BYTES / 2));  /* for which it looks at all of them */
    malloc_trim(HUGE_BYTES);
}

/*** Mappings ***/

/* Mapped, not allocated: what is looked at must not change the heap. */
enum { MAPPINGS_BYTES = MAPPINGS_MAX * sizeof(struct mapping) };

/* Whether flags, two letters each (proc(5), smaps), tell of access and paging
 * alone: not that a fork wipes it, say, as the C library's random state. */
static bool
are_plain(const char *flags)
{
    static const char plain[] = "rd wr ex mr mw me ac sd nr hg nh mg";
    char flag[4];
    int len;

    for (; sscanf(flags, "%3s%n", flag, &len) == 1; flags += len)
        if (strstr(plain, flag) == NULL)
            return false;
    return true;
}

struct mapping *
memory_mappings(size_t *count)
{
    struct mapping *mappings = map(MAPPINGS_BYTES);
    FILE *maps = fopen("/proc/self/smaps", "re");
    static const char flags[] = "VmFlags:";
    char line[512];

    if (mappings == NULL || maps == NULL)
        die("cannot read /proc/self/smaps: %m");
    *count = 0;
    while (fgets(line, sizeof(line), maps) != NULL &&
           *count < MAPPINGS_MAX - 1) {
        struct mapping *mapping = &mappings[*count];

        mapping->name[0] = '\0';
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %127s", &mapping->start,
                   &mapping->end, mapping->access, mapping->name) >= 3 &&
            !(IS_SANITIZED && mapping->end - mapping->start > SHADOW_BYTES))
            ++*count;
        else if (*count > 0 && strncmp(line, flags, strlen(flags)) == 0)
            mapping[-1].is_plain = are_plain(line + strlen(flags));
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

bool
memory_visit(const struct mapping *mapping, memory_visitor *visit,
             void *context)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entries[ENTRIES];
    ssize_t len = 1;

    for (uintptr_t page = mapping->start; len > 0 && page < mapping->end;) {
        size_t left = (mapping->end - page) / size;

        len = pread(pagemap, entries,
                    (left < ENTRIES ? left : ENTRIES) * sizeof(entries[0]),
                    (off_t)(page / size * sizeof(entries[0])));
        for (ssize_t i = 0; i < len / (ssize_t)sizeof(entries[0]); i++) {
            visit(context, page, entries[i]);
            page += size;
        }
    }
    if (pagemap != -1)
        close(pagemap);
    return len > 0;
}

/*
 * Whether it can as well lie in a file of memory: what malloc and Python hold,
 * and libraries, but for what is large and only read: all processes share that
 * where it is.
 */
static bool
is_movable(const struct mapping *mapping)
{
    const char *name = mapping->name;

    if (!mapping->is_plain)
        return false;
    if (name[0] == '/' && mapping->access[1] != 'w')
        return mapping->access[3] == 'p' &&
               mapping->end - mapping->start < LARGE_FILE_BYTES;
    return (name[0] == '/' || name[0] == '\0' ||
            strcmp(name, "[heap]") == 0) &&
           strcmp(mapping->access, "rw-p") == 0;
}

/* Copy what is mapped from start to end; of the first mapping or later ones. */
static void
copy_mapped(char *copy, uintptr_t start, uintptr_t end,
            const struct mapping *mapping)
{
    for (; mapping->start < end; mapping++) {
        uintptr_t from = mapping->start > start ? mapping->start : start;
        uintptr_t to = mapping->end < end ? mapping->end : end;

        if (from < to && mapping->access[0] == 'r')
            /* Nothing is mapped at 0.
             * NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
            memcpy(copy + (from - start), (void *)from, to - from);
    }
}

/*
 * Move what is there, mappings and the gaps between them, into a file of
 * memory that is mapped privately in its place: huge page by huge page, where
 * the kernel has some. Of such a mapping a fork has nothing to copy: a child
 * maps a huge page when it looks at it, and gets a page of its own when it
 * writes to it. Sealed, the file is nobody's to change. Nothing is lost by its
 * being writable and executable: code that runs in here may map itself what it
 * likes. It may be the C library that is moved: nothing but the moving itself
 * happens in between.
 */
static void
move(uintptr_t start, uintptr_t end, const struct mapping *mapping)
{
    static const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
    uintptr_t below = start - round_down(start);  /* else no page is huge */
    size_t size = below + (end - start);
    int fd = memfd_create(FILE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char *room = mmap(NULL, size + HUGE_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *copy = (char *)round_up((uintptr_t)room);

    if (fd == -1 || ftruncate(fd, (off_t)size) == -1 || room == MAP_FAILED ||
        mmap(copy, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
             0) == MAP_FAILED)
        die("cannot make room for the zygote's memory: %m");
    copy += below;
    for (uintptr_t at = start, next; at < end; at = next) {
        char *piece = copy + (at - start);

        next = round_up(at + 1) < end ? round_up(at + 1) : end;
        *piece = 0;  /* what holds nothing is not made a huge page */
        (void)!madvise(piece, next - at, MADV_COLLAPSE);
        copy_mapped(piece, at, next, mapping);
        if (mmap((void *)at, next - at, PROT_READ | PROT_WRITE | PROT_EXEC,
                 MAP_PRIVATE | MAP_FIXED, fd,
                 (off_t)(below + (at - start))) == MAP_FAILED)
            die("cannot map the zygote's memory: %m");
    }
    munmap(room, size + HUGE_BYTES);
    if (fcntl(fd, F_ADD_SEALS, seals) == -1)
        die("cannot seal the zygote's memory: %m");
    close(fd);
}

/*
 * Hundreds of libraries stand side by side, each in some pieces. What stands
 * together is moved together: so it is one record for a fork to copy.
 */
static void
move_all(const struct mapping *mapping)
{
    while (mapping->start != UINTPTR_MAX) {
        const struct mapping *first = mapping;

        if (!is_movable(mapping++))
            continue;
        while (strcmp(mapping[-1].name, "[heap]") != 0 &&  /* it may grow */
               is_movable(mapping) &&
               mapping->start - mapping[-1].end < HUGE_BYTES)
            mapping++;
        move(first->start, mapping[-1].end, first);
    }
}

void
memory_settle(void)
{
    struct mapping *mappings;
    size_t count;

    if (IS_SANITIZED)
        return;
    sort_heap();
    mappings = memory_mappings(&count);
    move_all(mappings);
    memory_mappings_free(mappings);
}

/*** What is mapped of it ***/

static void
unmap_pages(uintptr_t start, uintptr_t end)
{
    if (start < end)
        (void)!madvise((void *)start, end - start, MADV_DONTNEED);
}

/* Unmap what lies between two pages that were written to; context is where
 * that begins. */
static void
unmap_before(void *context, uintptr_t page, uint64_t entry)
{
    uintptr_t *start = context;

    if (!(entry & (PAGE_PRESENT | PAGE_SWAPPED)) || entry & PAGE_OF_FILE)
        return;
    unmap_pages(*start, page);
    *start = page + (uintptr_t)sysconf(_SC_PAGESIZE);
}

void
memory_unmap(void)
{
    static const char name[] = "/memfd:" FILE_NAME;
    size_t count;
    struct mapping *mappings = memory_mappings(&count);

    for (size_t i = 0; i < count; i++) {
        uintptr_t start = mappings[i].start;

        /* Meanwhile nothing is written to but the stack: a page that was seen
         * before would be lost. */
        if (strcmp(mappings[i].name, name) == 0 &&
            memory_visit(&mappings[i], unmap_before, &start))
            unmap_pages(start, mappings[i].end);
    }
    memory_mappings_free(mappings);
}

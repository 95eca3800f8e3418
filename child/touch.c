#include "touch.h"

#include "die.h"
#include "handover.h"
#include "memory.h"
#include "python.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STRETCHES_MAX = 2048 };

/* What /proc/self/pagemap says of a page (pagemap.rst in Linux). */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_OF_FILE (UINT64_C(1) << 61)
#define PAGE_EXCLUSIVE (UINT64_C(1) << 56)

/* Pages side by side. */
struct stretch {
    uintptr_t start, end;
};

static struct stretch stretches[STRETCHES_MAX];
static size_t stretch_count;

static const char job[] =
    "{\"code\": \"print()\", \"context\": null, \"limits\": "
    "{\"figures\": 0, \"figure_pixels\": 0, \"figure_bytes\": 0}}";

static void
add_page(uintptr_t page, size_t size)
{
    struct stretch *last = stretch_count > 0 ? &stretches[stretch_count - 1]
                                             : NULL;

    if (last != NULL && last->end == page)
        last->end += size;
    else if (stretch_count < STRETCHES_MAX)
        stretches[stretch_count++] = (struct stretch){page, page + size};
}

/* Add what of a mapping this process has for itself alone. */
static void
add_pages(const struct mapping *mapping, int pagemap)
{
    bool is_data = strncmp(mapping->access, "rw", 2) == 0 &&
                   mapping->access[3] == 'p';
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t entry;

    for (uintptr_t page = mapping->start; is_data && page < mapping->end;
         page += size) {
        if (pread(pagemap, &entry, sizeof(entry),
                  (off_t)(page / size * sizeof(entry))) != sizeof(entry))
            return;
        if ((entry & (PAGE_PRESENT | PAGE_OF_FILE | PAGE_EXCLUSIVE)) ==
            (PAGE_PRESENT | PAGE_EXCLUSIVE))
            add_page(page, size);
    }
}

/* The rehearsal, in a child: as a run, but unconfined, since the program is
 * ours. Only what the zygote has mapped as well is looked at. */
static _Noreturn void
rehearse(int job_fd, int stretches_fd, const struct mapping *mappings,
         size_t count)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), pagemap;
    int fds[] = {job_fd, null, null, null, null};

    for (int i = 0; i < CHILD_FD_COUNT; i++)
        if (dup2(fds[i], i) == -1)
            die("cannot set a rehearsal up: %m");
    python_prepare();
    if (python_live() != 0)
        die("a rehearsal failed");
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < count && pagemap != -1; i++)
        add_pages(&mappings[i], pagemap);
    _exit(write(stretches_fd, stretches,
                stretch_count * sizeof(stretches[0])) == -1);
}

void
touch_learn(void)
{
    size_t count;
    struct mapping *mappings = memory_mappings(&count);
    int job_ends[2], ends[2], status;
    ssize_t len;
    pid_t pid;

    if (pipe2(job_ends, O_CLOEXEC) == -1 || pipe2(ends, O_CLOEXEC) == -1 ||
        write(job_ends[1], job, strlen(job)) == -1)
        die("cannot set a rehearsal up: %m");
    close(job_ends[1]);
    pid = fork();
    if (pid == 0)
        rehearse(job_ends[0], ends[1], mappings, count);
    close(job_ends[0]);
    close(ends[1]);
    len = read(ends[0], stretches, sizeof(stretches));
    close(ends[0]);
    if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
        die("a rehearsal came to nothing");
    stretch_count = len > 0 ? (size_t)len / sizeof(stretches[0]) : 0;
    memory_mappings_free(mappings);
}

void
touch_pages(void)
{
    /* A stretch that is no more, or a kernel before 5.14: no harm done. */
    for (size_t i = 0; i < stretch_count; i++)
        (void)!madvise((void *)stretches[i].start,
                       stretches[i].end - stretches[i].start,
                       MADV_POPULATE_WRITE);
}

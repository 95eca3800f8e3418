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
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES_MAX = 2048 };

static uintptr_t pages[PAGES_MAX];
static size_t page_count;

static const char job[] =
    "{\"code\": \"print()\", \"context\": null, \"limits\": "
    "{\"figures\": 0, \"figure_pixels\": 0, \"figure_bytes\": 0}}";

/* Add a page that this process has for itself alone. */
static void
add_page(void *context, uintptr_t page, uint64_t entry)
{
    (void)context;
    if ((entry & (PAGE_PRESENT | PAGE_OF_FILE | PAGE_EXCLUSIVE)) ==
            (PAGE_PRESENT | PAGE_EXCLUSIVE) &&
        page_count < PAGES_MAX)
        pages[page_count++] = page;
}

/* The rehearsal, in a child: as a run, but unconfined, since the program is
 * ours. Only what the zygote has mapped as well is looked at. */
static _Noreturn void
rehearse(int job_fd, int pages_fd, const struct mapping *mappings,
         size_t count)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int fds[] = {job_fd, null, null, null, null};

    for (int i = 0; i < CHILD_FD_COUNT; i++)
        if (dup2(fds[i], i) == -1)
            die("cannot set a rehearsal up: %m");
    python_prepare();
    if (python_live() != 0)
        die("a rehearsal failed");
    for (size_t i = 0; i < count; i++)
        if (strncmp(mappings[i].access, "rw", 2) == 0 &&
            mappings[i].access[3] == 'p')
            (void)memory_visit(&mappings[i], add_page, NULL);
    _exit(write(pages_fd, pages, page_count * sizeof(pages[0])) == -1);
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
    len = read(ends[0], pages, sizeof(pages));
    close(ends[0]);
    if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
        die("a rehearsal came to nothing");
    page_count = len > 0 ? (size_t)len / sizeof(pages[0]) : 0;
    memory_mappings_free(mappings);
}

/* What it writes to AddressSanitizer has rules for, as for what is freed. */
__attribute__((no_sanitize("address"))) void
touch_pages(void)
{
    /* All are there still: the zygote that learned of them only forks. A fault
     * for each is cheaper than a call for each few that lie side by side. */
    for (size_t i = 0; i < page_count; i++)
        __atomic_fetch_or((char *)pages[i], 0, __ATOMIC_RELAXED);
}

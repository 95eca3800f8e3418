#include "leaf.h"

#include "die.h"
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 32 };

static int subtree_fd = -1;

static void
leaf_name(int slot, char name[static NAME_SIZE])
{
    if (slot == LEAF_TRIAL)
        snprintf(name, NAME_SIZE, "trial");
    else
        snprintf(name, NAME_SIZE, "run-%d", slot);
}

static int
leaf_open(int slot, const char *file, int flags)
{
    char path[2 * NAME_SIZE], name[NAME_SIZE];
    int fd;

    leaf_name(slot, name);
    snprintf(path, sizeof(path), "%s/%s", name, file);
    fd = openat(subtree_fd, path, flags | O_CLOEXEC);
    if (fd == -1)
        die("cannot open %s in the cgroup: %m", path);
    return fd;
}

static void
leaf_make(int slot, size_t memory, size_t processes)
{
    char name[NAME_SIZE], number[32];
    int leaf;

    leaf_name(slot, name);
    if (mkdirat(subtree_fd, name, 0755) == -1)
        die("cannot make the cgroup %s: %m", name);
    leaf = openat(subtree_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (leaf == -1)
        die("cannot open the cgroup %s: %m", name);
    snprintf(number, sizeof(number), "%zu", memory);
    write_file(leaf, "memory.max", number);
    if (faccessat(leaf, "memory.swap.max", F_OK, 0) == 0)
        write_file(leaf, "memory.swap.max", "0");
    /* What is left of a run that lost a process is of no use. */
    write_file(leaf, "memory.oom.group", "1");
    snprintf(number, sizeof(number), "%zu", processes);
    write_file(leaf, "pids.max", number);
    close(leaf);
}

void
leaf_start(const char *directory, const struct limits *limits, int slots)
{
    subtree_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (subtree_fd == -1)
        die("cannot open the cgroup %s: %m", directory);
    leaf_make(LEAF_TRIAL, LEAF_TRIAL_BYTES, limits->processes);
    for (int slot = 0; slot < slots; slot++)
        leaf_make(slot, limits->memory + limits->work_size,
                  limits->processes);
}

bool
leaf_is_open(void)
{
    return subtree_fd != -1;
}

int
leaf_fd(void)
{
    return subtree_fd;
}

void
leaf_enter(int slot)
{
    int fd = leaf_open(slot, "cgroup.procs", O_WRONLY);

    if (write(fd, "0", 1) != 1)
        die("cannot enter the cgroup of a run: %m");
    close(fd);
}

unsigned long
leaf_kills(int slot)
{
    int fd = leaf_open(slot, "memory.events", O_RDONLY);
    char text[512];
    ssize_t len = read(fd, text, sizeof(text) - 1);
    const char *line;

    close(fd);
    text[len > 0 ? len : 0] = '\0';
    line = strstr(text, "\noom_kill ");
    return line != NULL ? strtoul(line + strlen("\noom_kill "), NULL, 10) : 0;
}

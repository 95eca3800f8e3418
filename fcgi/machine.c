#include "machine.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup"

/* This process's own cgroup, as a path below CGROUPS; "" when unknown. */
static void
find_cgroup(char path[PATH_MAX])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX];

    *path = '\0';
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "0::/", 4) == 0)
            snprintf(path, PATH_MAX, "%.*s", (int)strcspn(line + 3, "\n"),
                     line + 3);
    if (file != NULL)
        fclose(file);
}

/* Read a file of the cgroup: one or two numbers, or "max". */
static bool
read_limit(const char *cgroup, const char *name, unsigned long long *first,
           unsigned long long *second)
{
    char path[2 * PATH_MAX];
    FILE *file;
    int count = 0;

    snprintf(path, sizeof(path), CGROUPS "%s/%s", cgroup, name);
    file = fopen(path, "re");
    if (file != NULL) {
        count = fscanf(file, "%llu %llu", first, second);
        fclose(file);
    }
    return count >= 1;
}

/* To the cgroup around this one. Returns false when this is the outermost. */
static bool
climb(char *cgroup)
{
    char *slash = strrchr(cgroup, '/');

    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

long
machine_cores(void)
{
    unsigned long long quota, period;
    char cgroup[PATH_MAX];
    cpu_set_t set;
    long cores = sched_getaffinity(0, sizeof(set), &set) == 0
                     ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);

    find_cgroup(cgroup);
    do {
        period = 100000;
        if (read_limit(cgroup, "cpu.max", &quota, &period) && period > 0 &&
            (quota + period - 1) / period < (unsigned long long)cores)
            cores = (long)((quota + period - 1) / period);
    } while (climb(cgroup));
    return cores > 1 ? cores : 1;
}

size_t
machine_memory(void)
{
    size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) *
                    (size_t)sysconf(_SC_PAGESIZE);
    unsigned long long limit, unused;
    char cgroup[PATH_MAX];

    find_cgroup(cgroup);
    do {
        if (read_limit(cgroup, "memory.max", &limit, &unused) &&
            limit < memory)
            memory = (size_t)limit;
    } while (climb(cgroup));
    return memory;
}

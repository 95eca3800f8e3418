#include "usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PROCESSES_MAX = 1024,
    FEW_SOCKETS = 64  /* no more than a program that means well has */
};

/* Read a small file of /proc; returns the empty string when it is gone. */
static void
read_small(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd == -1 ? 0 : read(fd, text, size - 1);

    if (fd != -1)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
}

/* Append the children of one process, which each of its threads may have. */
static size_t
add_children(pid_t pid, pid_t *pids, size_t count)
{
    char path[64 + sizeof(((struct dirent *)NULL)->d_name)], text[8192];
    struct dirent *entry;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        char *next = text, *end;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid,
                 entry->d_name);
        read_small(path, text, sizeof(text));
        for (; count < PROCESSES_MAX; next = end) {
            long child = strtol(next, &end, 10);

            if (end == next)
                break;
            pids[count++] = (pid_t)child;
        }
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

/* Anonymous memory: quick, and counts a shared page in each process. */
static size_t
anonymous(pid_t pid)
{
    char path[64], text[128];
    unsigned long resident = 0, of_files = 0;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    read_small(path, text, sizeof(text));
    if (sscanf(text, "%*u %lu %lu", &resident, &of_files) != 2)
        return 0;
    return (resident - of_files) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Its share of it: slow, since the kernel walks every page for it. */
static size_t
proportional(pid_t pid)
{
    char path[64], text[2048];
    const char *line;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    read_small(path, text, sizeof(text));
    line = strstr(text, "\nPss_Anon:");
    if (line == NULL)
        return anonymous(pid);
    return strtoul(line + strlen("\nPss_Anon:"), NULL, 10) * 1024;
}

static size_t
sum(const pid_t *pids, size_t count, size_t inherited, size_t (*of)(pid_t))
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += of(pids[i]);
    return total > inherited ? total - inherited : 0;
}

/* Without a network namespace of its own (isolation = reduced:network) a run
 * has no sockets, and those that would be counted are the machine's. */
static bool
has_own_network(pid_t pid)
{
    char path[64], its[64] = "", ours[64] = "";

    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    return readlink(path, its, sizeof(its) - 1) > 0 &&
           readlink("/proc/self/ns/net", ours, sizeof(ours) - 1) > 0 &&
           strcmp(its, ours) != 0;
}

/*
 * What the sockets of the run's network namespace may hold, in flight or not:
 * memory of the kernel's, that stands in no process.
 */
static size_t
socket_buffers(pid_t pid)
{
    char path[64], text[128];
    unsigned long sockets = 0;
    int fd, buffer = 0;

    snprintf(path, sizeof(path), "/proc/%d/net/sockstat", (int)pid);
    read_small(path, text, sizeof(text));
    if (sscanf(text, "sockets: used %lu", &sockets) != 1 ||
        sockets <= FEW_SOCKETS || !has_own_network(pid))
        return 0;
    /* net.core.wmem_default, which systemd's ProcSubset=pid leaves out. */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd != -1) {
        getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer,
                   &(socklen_t){sizeof(buffer)});
        close(fd);
    }
    return sockets * (size_t)buffer;
}

/* The process's number here: the zygote knows it by another. */
static pid_t
number_of(int pidfd)
{
    char path[64], text[512];
    const char *line;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    read_small(path, text, sizeof(text));
    line = strstr(text, "\nPid:");
    return line != NULL ? (pid_t)strtol(line + 5, NULL, 10) : -1;
}

size_t
usage_memory(int pidfd, size_t inherited, size_t most)
{
    pid_t pids[PROCESSES_MAX] = {number_of(pidfd)};
    size_t count = 1, total;

    if (pids[0] <= 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        count = add_children(pids[i], pids, count);
    total = sum(pids, count, inherited, anonymous);
    if (total > most && count > 1)
        total = sum(pids, count, inherited, proportional);
    return total + socket_buffers(pids[0]);
}

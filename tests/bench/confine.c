/*
 * What each layer costs: microseconds from the fork of a child to the end of
 * confine_enter(), with all layers, and with each left out. Rounds of all
 * kinds take turns, so that a noisy machine is noisy for all of them.
 *
 *     confine PACKAGE [ROUNDS]     not as root; built with TEST_LAYERS
 */

#include "confine.h"
#include "die.h"
#include "handover.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 300, NOTHING = LAYER_COUNT, FORK, KINDS };

static double
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Fork one child; it is confined, says so, and ends. */
static double
time_one(const struct limits *limits, bool confined)
{
    int work_fd = root_work_open(limits->work_size, limits->work_inodes,
                                 confine_id(limits, 0));
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), ends[2];
    double start = now_us(), took;
    char byte;
    pid_t pid;

    if (null == -1 || pipe2(ends, O_CLOEXEC) == -1)
        die("cannot set up: %m");
    confine_before_fork(limits, 0);
    pid = fork();
    if (pid == 0) {
        const int fds[CHILD_FD_COUNT] = {null, null, null, ends[1], null};

        if (confined)
            confine_enter(limits, 0, work_fd, fds);
        _exit(write(confined ? CHILD_REPORT : ends[1], "", 1) != 1);
    }
    if (pid == -1 || read(ends[0], &byte, 1) != 1)
        die("a child failed: %m");
    took = now_us() - start;
    confine_after_fork();
    waitpid(pid, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    close(null);
    close(work_fd);
    return took;
}

static int
compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double
median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

int
main(int argc, char **argv)
{
    char *no_path[] = {NULL};
    const struct sources sources = {argv[1], NULL, no_path};
    int rounds = argc > 2 && atoi(argv[2]) > 0 ? atoi(argv[2]) : ROUNDS;
    double *took[KINDS];
    double all;

    if (argc < 2)
        die("confine PACKAGE [ROUNDS]");
    confine_namespaces(argc, argv, false);
    const struct limits limits = {
        .memory = 1 << 30, .processes = 48, .work_size = 128 << 20,
        .work_inodes = 4096,
    };
    confine_zygote(&sources, &limits, NULL, 1);
    for (int kind = 0; kind < KINDS; kind++)
        took[kind] = calloc((size_t)rounds, sizeof(double));
    for (int i = 0; i < rounds; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            struct limits fewer = limits;

            if (kind < LAYER_COUNT)
                fewer.without = 1U << kind;
            took[kind][i] = time_one(&fewer, kind != FORK);
        }
    }
    all = median(took[NOTHING], (size_t)rounds);
    printf("%-28s %6.0f us\n", "fork, and nothing else",
           median(took[FORK], (size_t)rounds));
    printf("%-28s %6.0f us\n", "fork and all layers", all);
    for (int kind = LAYER_NETWORK; kind < LAYER_CGROUP; kind++)
        printf("  less without %-14s %6.0f us\n",
               confine_layer_name((enum layer)kind),
               all - median(took[kind], (size_t)rounds));
    return 0;
}

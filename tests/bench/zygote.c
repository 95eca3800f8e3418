/*
 * What a run costs the warm zygote, without responder and nginx. Rounds of
 * three kinds take turns, so that a noisy machine is noisy for all of them:
 *
 *     bare   fork, exit, wait
 *     ready  fork, all layers, and all that is done before there is a job
 *     print  the same and a job, print(1), to its end
 *
 * For each the medians of: milliseconds until the parent has reaped it, those
 * of them after the job's arrival, milliseconds of processor time of parent
 * and child, and page faults; and how much memory is the child's alone at its
 * end, in KiB, beside another such as a service has.
 *
 *     zygote PACKAGE MATPLOTLIB [ROUNDS]     not as root
 */

#include "confine.h"
#include "die.h"
#include "handover.h"
#include "memory.h"
#include "python.h"
#include "touch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 60 };

enum kind { BARE, READY, PRINT, KIND_COUNT };

enum use {
    TIMED,
    WEIGHED,
    BESIDE  /* lives on, and shares what it has only looked at */
};

static const char *const kind_names[] = {"bare", "ready", "print"};

struct sample {
    double wall_ms, job_ms, cpu_ms, faults, private_kib;
};

enum { VALUE_COUNT = sizeof(struct sample) / sizeof(double) };

static const char job[] =
    "{\"code\": \"print(1)\", \"context\": null, \"limits\": "
    "{\"timeout\": 90, \"memory\": 1073741824, \"figures\": 50, "
    "\"figure_pixels\": 40000000, \"figure_bytes\": 25165824}}";

static double
clock_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double
time_ms(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

/* Memory of this process that it shares with no other. */
static double
private_kib(void)
{
    FILE *rollup = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    unsigned long sum = 0, kib;

    if (rollup == NULL)
        die("cannot open /proc/self/smaps_rollup: %m");
    while (fgets(line, sizeof(line), rollup) != NULL)
        if (sscanf(line, "Private_Clean: %lu", &kib) == 1 ||
            sscanf(line, "Private_Dirty: %lu", &kib) == 1)
            sum += kib;
    fclose(rollup);
    return (double)sum;
}

/* As the zygote's; what the child knows of itself goes to CHILD_MARKET. */
static _Noreturn void
live(const struct limits *limits, enum kind kind, int work_fd, const int *fds,
     enum use use)
{
    struct sample own = {0};
    double start;

    if (kind == BARE)
        _exit(0);
    confine_enter(limits, 0, work_fd, fds);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    touch_pages();
    python_prepare();
    start = clock_ms(CLOCK_MONOTONIC);
    if (kind == PRINT)
        python_live();
    own.job_ms = clock_ms(CLOCK_MONOTONIC) - start;
    if (use == WEIGHED)
        own.private_kib = private_kib();
    if (write(CHILD_MARKET, &own, sizeof(own)) != sizeof(own))
        _exit(1);
    while (use == BESIDE)
        pause();
    _exit(0);
}

static void
make_pipe(int *read_end, int *write_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == -1)
        die("cannot make a pipe: %m");
    *read_end = ends[0];
    *write_end = ends[1];
}

static struct sample
take(const struct limits *limits, enum kind kind, enum use use)
{
    int work_fd = root_work_open(limits->work_size, limits->work_inodes,
                                 confine_id(limits, 0));
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int fds[CHILD_FD_COUNT] = {-1, null, null, null, -1};
    int job_fd, result_fd, status;
    struct sample sample = {0};
    struct rusage usage = {0};
    double start, start_cpu, wall_ms, cpu_ms;
    pid_t pid;

    make_pipe(&fds[CHILD_JOB], &job_fd);
    make_pipe(&result_fd, &fds[CHILD_MARKET]);
    if (null == -1 || write(job_fd, job, strlen(job)) != (ssize_t)strlen(job))
        die("cannot set up: %m");
    close(job_fd);

    start_cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    start = clock_ms(CLOCK_MONOTONIC);
    if (kind != BARE)
        confine_before_fork(limits, 0);
    pid = fork();
    if (pid == 0)
        live(limits, kind, work_fd, fds, use);
    if (kind != BARE)
        confine_after_fork();
    if (pid == -1 ||
        (use != BESIDE &&
         (wait4(pid, &status, 0, &usage) != pid || status != 0)))
        die("a child failed: %m");
    wall_ms = clock_ms(CLOCK_MONOTONIC) - start;
    cpu_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start_cpu +
             time_ms(usage.ru_utime) + time_ms(usage.ru_stime);

    if (kind != BARE &&
        read(result_fd, &sample, sizeof(sample)) != sizeof(sample))
        die("a child said nothing");
    sample.wall_ms = wall_ms;
    sample.cpu_ms = cpu_ms;
    sample.faults = (double)usage.ru_minflt;
    close(fds[CHILD_JOB]);
    close(fds[CHILD_MARKET]);
    close(result_fd);
    close(null);
    close(work_fd);
    return sample;
}

static int
compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void
print_medians(const char *name, const struct sample *samples, size_t count)
{
    double *column = calloc(count, sizeof(*column));

    if (column == NULL)
        die("out of memory");
    printf("%-8s", name);
    for (size_t value = 0; value < VALUE_COUNT; value++) {
        for (size_t i = 0; i < count; i++)
            column[i] = ((const double *)&samples[i])[value];
        qsort(column, count, sizeof(*column), compare);
        printf(" %9.3f", column[count / 2]);
    }
    printf("\n");
    free(column);
}

int
main(int argc, char **argv)
{
    char *none[] = {NULL};
    const struct sources sources = {argv[1], argv[2], none};
    const struct limits limits = {
        .memory = 1 << 30, .processes = 48, .work_size = 128 << 20,
        .work_inodes = 4096,
    };
    struct sample *samples[KIND_COUNT];
    int rounds;

    if (argc < 3)
        die("zygote PACKAGE MATPLOTLIB [ROUNDS]");
    rounds = argc > 3 && atoi(argv[3]) > 0 ? atoi(argv[3]) : ROUNDS;
    confine_namespaces(argc, argv, false);
    confine_zygote(&sources, &limits, NULL, 1);
    memory_start();
    python_start(none);
    python_call("sandbox.warm", "warm", none);
    while (python_call("sandbox.warm", "step", NULL) != 0)
        continue;
    python_settle();
    memory_settle();
    touch_learn();
    take(&limits, PRINT, TIMED);
    memory_unmap();
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        samples[kind] = calloc((size_t)rounds, sizeof(struct sample));
        if (samples[kind] == NULL)
            die("out of memory");
    }
    for (int i = 0; i < rounds; i++)
        for (int kind = 0; kind < KIND_COUNT; kind++)
            samples[kind][i] = take(&limits, (enum kind)kind, TIMED);

    printf("%-8s %9s %9s %9s %9s %9s\n", "", "wall ms", "job ms", "cpu ms",
           "faults", "own KiB");
    take(&limits, PRINT, BESIDE);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct sample weighed = take(&limits, (enum kind)kind, WEIGHED);

        for (int i = 0; i < rounds; i++)
            samples[kind][i].private_kib = weighed.private_kib;
        print_medians(kind_names[kind], samples[kind], (size_t)rounds);
    }
    fflush(NULL);
    _exit(0);
}

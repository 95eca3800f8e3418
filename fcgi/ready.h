/*
 * ready.h - where a worker gets the process for its next run from.
 *
 * With a zygote: the queue of ready children that all workers share. Without
 * one: a zygote of the worker's own, started for that run alone. Behind this
 * header the two are the same.
 */

#ifndef SANDBOX_READY_H
#define SANDBOX_READY_H

#include "config.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* At most so many zygotes at a time, and how many of the run_ids each has: the
 * most that max_runs may be (config.c), since a reload can change it. */
enum { ZYGOTES_MAX = 4, ZYGOTE_IDS = 16384 };

/* A confined process that waits for a job. Descriptors are owned; -1: none. */
struct child {
    bool is_early;     /* from before all libraries were loaded */
    size_t inherited;  /* bytes it shares with the zygote it came from */
    int job_fd;        /* non-blocking, as output_fd and report_fd */
    int output_fd;
    int report_fd;
    int market_fd;
    int work_fd;       /* its tmpfs; outlives it */
    int pidfd;
    int status_fd;     /* tells of its end */
    int owner_fd;      /* the user namespace that its files belong to */
    int queue_fd;      /* of a cold start's own zygote */
};

enum ready_outcome {
    READY_TAKEN,
    READY_BUSY,         /* none came within the wait */
    READY_CLIENT_GONE,
    READY_FAILED        /* a cold start that did not start; it is logged */
};

/* What a zygote is started for: it ends of itself after the last two. */
enum zygote_purpose {
    ZYGOTE_SERVE,       /* at once, with early children while it loads */
    ZYGOTE_TAKE_OVER,   /* when it has loaded all */
    ZYGOTE_ONE_RUN,
    ZYGOTE_CHECK        /* print which layers hold, on log_fd; exit status 0: all */
};

/*
 * Start the program sandbox-child as a zygote: exec'ed with an empty
 * environment, as config->user when we are root, with queue_fd as its queue
 * and log_fd as its standard output and error (both borrowed), and a leaf for
 * each run in the directory cgroup, unless that is empty. It dies with its
 * parent. Returns its process id, or -1 with errno.
 */
pid_t ready_start_zygote(const struct config *config, int queue_fd,
                         int log_fd, const char *cgroup,
                         enum zygote_purpose purpose);

/*
 * Take a child for one run. queue_fd is the shared queue's reading end, or -1
 * for a cold start. Waits at most wait_ms, and not longer than the client is
 * there. On READY_TAKEN fills *child, to be given to child_close().
 */
enum ready_outcome ready_take(const struct config *config, int queue_fd,
                              struct pollfd client, int wait_ms,
                              struct child *child);

/* Tell the zygote that the child has left the queue. Not before it has a job:
 * of the two, the child is to run first. */
void child_taken(const struct child *child);

/* Throw away what is in the queue: the children of a zygote that is dead. */
void ready_drain(int queue_fd);

/* And the early children in it, with the one that comes behind them: there are
 * others now. */
void ready_drop_early(int queue_fd);

/* How many children wait in the queue. */
int ready_count(int queue_fd);

/* Let go of the child; one that still runs is killed for it. */
void child_close(struct child *child);

/*
 * When root: look config->user up, once, before the first fork, and become
 * it for good. Both return 0, or -1 (unknown or root's; errno). The second is
 * safe between fork and exec. user_of_runs() is who it is, or we are.
 */
int find_user(const struct config *config);
uid_t user_of_runs(void);

/* The first of the run_ids, as far as max_runs need them, that an account has,
 * or 0. */
unsigned int find_taken_id(const struct config *config);
int drop_privileges(void);

#endif

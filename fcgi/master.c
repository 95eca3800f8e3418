#include "master.h"

#include "cgroup.h"
#include "clock.h"
#include "handover.h"
#include "log.h"
#include "market.h"
#include "ready.h"
#include "scoreboard.h"
#include "text.h"
#include "title.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    YOUNG_MS = 1000,      /* one that dies younger is not replaced at once */
    PAUSE_MIN_MS = 100,
    PAUSE_MAX_MS = 5000,
    STOP_MS = 1000,       /* from SIGTERM to SIGKILL */
    LEFTOVER_MS = 1500    /* for the kernel to end the last runs */
};

#define STARTING "Python is starting."
#define CHILD_SAYS "sandbox-child: "

/* A process that there is always one of. pid 0: to be started at start_ms. */
struct process {
    pid_t pid;
    int64_t start_ms;
    int64_t pause_ms;
};

struct master {
    const struct config *config;
    struct scoreboard *scoreboard;
    struct market_shared *market;
    struct process zygote;
    char zygote_cgroup[CGROUP_PATH_MAX];
    struct process *workers;
    int listen_fd;
    int queue_read_fd, queue_write_fd;  /* of ready children */
    int zygote_log_fd;                  /* what the zygote says, to read */
    char line[SCOREBOARD_ABOUT];        /* of it, so far */
    size_t line_len;
    char last_line[SCOREBOARD_TEXT];    /* it is why, when it never got warm */
    int signal_fd;
};

/*** Starting ***/

static void
start_worker(struct master *master, struct process *process)
{
    struct worker worker = {
        .config = master->config,
        .scoreboard = master->scoreboard,
        .seat = (int)(process - master->workers),
        .listen_fd = master->listen_fd,
        .queue_fd = master->config->zygote ? master->queue_read_fd : -1,
    };
    pid_t parent = getpid();
    sigset_t none;

    process->start_ms = now_ms();
    master->scoreboard->seats[worker.seat] = SEAT_IDLE;
    process->pid = fork();
    if (process->pid != 0)
        return;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close(master->signal_fd);
    /* A zygote whose readers are all gone must notice it. */
    close(master->queue_write_fd);
    if (master->zygote_log_fd != -1)
        close(master->zygote_log_fd);
    worker.market = market_open(master->config, master->market);
    if (drop_privileges() == -1 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
        getppid() != parent) {
        log_error("cannot start a worker: %m");
        _exit(111);
    }
    worker_run(&worker);
}

static void
start_zygote(struct master *master, struct process *process)
{
    const char *cgroup = cgroup_make();
    int ends[2];

    process->start_ms = now_ms();
    process->pid = -1;
    if (cgroup == NULL) {
        log_error("cannot make a cgroup: %m");
        return;
    }
    snprintf(master->zygote_cgroup, sizeof(master->zygote_cgroup), "%s",
             cgroup);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1) {
        log_error("cannot make a pipe: %m");
        cgroup_remove(cgroup);
        return;
    }
    process->pid = ready_start_zygote(master->config, master->queue_write_fd,
                                      ends[1], cgroup, ZYGOTE_SERVE);
    close(ends[1]);
    if (master->zygote_log_fd != -1)
        close(master->zygote_log_fd);
    master->zygote_log_fd = ends[0];
    master->line_len = 0;
    master->last_line[0] = '\0';
}

/* Start it when its time has come. Returns the ms until then, or -1. */
static int64_t
start_when_due(struct master *master, struct process *process,
               void (*start)(struct master *, struct process *))
{
    int64_t left;

    if (process->pid > 0)
        return -1;
    left = process->start_ms - now_ms();
    if (left > 0)
        return left;
    start(master, process);
    if (process->pid > 0)
        return -1;
    process->pid = 0;
    process->start_ms = now_ms() + PAUSE_MAX_MS;  /* no fork to be had */
    return PAUSE_MAX_MS;
}

/* Start all that is missing. Returns for how long nothing more is to do. */
static int
start_missing(struct master *master)
{
    int64_t next = -1;

    for (int i = -1; i < master->config->workers; i++) {
        int64_t left;

        if (i == -1 && !master->config->zygote)
            continue;
        left = i == -1 ? start_when_due(master, &master->zygote, start_zygote)
                       : start_when_due(master, &master->workers[i],
                                        start_worker);
        if (left != -1 && (next == -1 || left < next))
            next = left;
    }
    return (int)next;
}

/*** What happens ***/

/* When to start the next one: at once, or later and later for a short life. */
static void
process_ended(struct process *process)
{
    int64_t now = now_ms();

    if (now - process->start_ms >= YOUNG_MS)
        process->pause_ms = 0;
    else if (process->pause_ms == 0)
        process->pause_ms = PAUSE_MIN_MS;
    else if (process->pause_ms < PAUSE_MAX_MS)
        process->pause_ms *= 2;
    process->pid = 0;
    process->start_ms = now + process->pause_ms;
}

static void
log_end(const char *name, pid_t pid, int status)
{
    if (WIFSIGNALED(status))
        log_warn("%s %d was ended by SIG%s", name, (int)pid,
                 sigabbrev_np(WTERMSIG(status)));
    else
        log_warn("%s %d ended with status %d", name, (int)pid,
                 WEXITSTATUS(status));
}

static void
zygote_line(struct master *master, const char *line)
{
    if (strncmp(line, PROBE_IN_FORCE, strlen(PROBE_IN_FORCE)) == 0) {
        log_info("zygote: %s", line);
        scoreboard_set(master->scoreboard->layers,
                       line + strlen(PROBE_IN_FORCE));
        return;
    }
    if (strncmp(line, ZYGOTE_ABOUT, strlen(ZYGOTE_ABOUT)) == 0) {
        strncpy(master->scoreboard->about, line + strlen(ZYGOTE_ABOUT),
                SCOREBOARD_ABOUT - 1);
        return;
    }
    log_warn("zygote: %s", line);
    scoreboard_set(master->last_line, line);
    /* A child that cannot be set up is no end of the zygote. */
    if (strncmp(line, CHILD_SAYS, strlen(CHILD_SAYS)) == 0) {
        scoreboard_set(master->scoreboard->reason, line);
        master->scoreboard->is_failing = true;
    }
}

/* Returns whether there may be more. */
static bool
zygote_said(struct master *master)
{
    char *line = master->line, *newline;
    ssize_t len = read(master->zygote_log_fd, line + master->line_len,
                       sizeof(master->line) - 1 - master->line_len);

    if (len <= 0) {
        if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(master->zygote_log_fd);
            master->zygote_log_fd = -1;
        }
        return false;
    }
    master->line_len += (size_t)len;
    line[master->line_len] = '\0';
    while ((newline = strchr(line, '\n')) != NULL ||
           master->line_len == sizeof(master->line) - 1) {
        if (newline == NULL)
            newline = line + master->line_len;  /* too long for one line */
        else
            *newline++ = '\0';
        zygote_line(master, line);
        master->line_len -= (size_t)(newline - line);
        memmove(line, newline, master->line_len + 1);
    }
    return true;
}

static void
zygote_ended(struct master *master)
{
    while (master->zygote_log_fd != -1 && zygote_said(master))
        continue;  /* its last words are why */
    if (master->scoreboard->is_warm)
        scoreboard_set(master->scoreboard->reason, STARTING);
    else if (master->last_line[0] != '\0')
        scoreboard_set(master->scoreboard->reason, master->last_line);
    master->scoreboard->is_warm = false;
    ready_drain(master->queue_read_fd);
    cgroup_remove(master->zygote_cgroup);
    process_ended(&master->zygote);
}

/* Returns whether there may be more. */
static bool
reap_one(struct master *master)
{
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);

    if (pid <= 0)
        return false;
    if (pid == master->zygote.pid) {
        log_end("zygote", pid, status);
        master->scoreboard->zygote_restarts++;
        zygote_ended(master);
        return true;
    }
    for (int i = 0; i < master->config->workers; i++) {
        if (pid == master->workers[i].pid) {
            log_end("worker", pid, status);
            master->scoreboard->worker_restarts++;
            process_ended(&master->workers[i]);
        }
    }
    return true;  /* or one of a dead zygote's children, that came to us */
}

/* Returns false when the service is to end. */
static bool
take_signal(struct master *master)
{
    struct signalfd_siginfo info;
    bool goes_on = true;

    while (read(master->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo != SIGCHLD) {
            log_info("ending on SIG%s", sigabbrev_np((int)info.ssi_signo));
            goes_on = false;
        }
    }
    while (reap_one(master))
        continue;
    return goes_on;
}

/*** Stopping ***/

static void
signal_all(const struct master *master, int number)
{
    if (master->zygote.pid > 0)
        kill(master->zygote.pid, number);
    for (int i = 0; i < master->config->workers; i++)
        if (master->workers[i].pid > 0)
            kill(master->workers[i].pid, number);
}

/* Reap until nothing is left, at most so long. Returns whether it is so. */
static bool
wait_for_all(int within_ms)
{
    const struct timespec moment = {0, 5 * 1000 * 1000};
    int64_t until = now_ms() + within_ms;
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) != -1) {
        if (pid == 0 && now_ms() >= until)
            return false;
        if (pid == 0)
            nanosleep(&moment, NULL);
    }
    return true;
}

static void
stop(struct master *master)
{
    signal_all(master, SIGTERM);
    if (!wait_for_all(STOP_MS)) {
        signal_all(master, SIGKILL);
        /* The zygote's children die with it and, as orphans, come to us. */
        if (!wait_for_all(LEFTOVER_MS))
            log_warn("some processes have not ended yet");
    }
}

/* Without a cgroup of its own the service makes do, unless told otherwise. */
static bool
set_up_cgroup(const struct config *config)
{
    char why[1024];

    if (!config->zygote ||
        cgroup_start(config, user_of_runs(), why, sizeof(why)) == 0)
        return true;
    if (strcmp(config->cgroup, "auto") == 0)
        log_warn("%s; runs are bounded without it", why);
    else
        log_error("%s", why);
    return strcmp(config->cgroup, "auto") == 0;
}

static bool
set_up(struct master *master)
{
    int ends[2];
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    master->scoreboard = scoreboard_new(master->config->workers);
    master->market = market_shared_new(master->config);
    if (master->scoreboard == NULL || master->market == NULL ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1 ||
        sigprocmask(SIG_BLOCK, &signals, NULL) == -1 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
        return false;
    master->queue_read_fd = ends[0];
    master->queue_write_fd = ends[1];
    master->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    scoreboard_set(master->scoreboard->reason, STARTING);
    return master->signal_fd != -1;
}

int
master_run(const struct config *config, int listen_fd)
{
    struct master master = {
        .config = config, .listen_fd = listen_fd, .zygote_log_fd = -1,
    };
    bool goes_on = true;

    if (!set_up_cgroup(config))
        return 111;
    if (!set_up(&master)) {
        log_error("cannot set up: %m");
        return 111;
    }
    master.workers = must_alloc((size_t)config->workers *
                                sizeof(*master.workers));
    title_set("sandbox-fcgi: master");
    log_info("serving with %d workers, %d runs at once", config->workers,
             config->max_runs);
    if (strcmp(config->isolation, "strict") != 0)
        log_warn("isolation is %s", config->isolation);
    while (goes_on) {
        int wait_ms = start_missing(&master);
        struct pollfd polled[] = {
            {master.signal_fd, POLLIN, 0},
            {master.zygote_log_fd, POLLIN, 0},
        };

        if (poll(polled, 2, wait_ms) == -1)
            continue;
        if (polled[1].revents != 0)
            zygote_said(&master);
        if (polled[0].revents != 0)
            goes_on = take_signal(&master);
    }
    stop(&master);
    cgroup_stop();
    free(master.workers);
    return 0;
}

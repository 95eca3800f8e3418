/*
 * Generations
 *
 * A generation is a configuration at work: a zygote, and the workers that take
 * its children from its queue. A reload makes another one beside the one that
 * serves, and so does the renewal of a zygote that has become old. Its zygote
 * warms up; with the first child in its queue it takes over: its workers
 * start, those of the old one are told to leave. They do so when they have
 * answered; with the last of them the old zygote's queue has no reader, which
 * ends it. A fresh zygote that ends before it is warm ends the attempt, and
 * nothing has changed.
 */

#include "master.h"

#include "cgroup.h"
#include "clock.h"
#include "handover.h"
#include "listen.h"
#include "log.h"
#include "market.h"
#include "notify.h"
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
    RENEW_AGAIN_MS = 60 * 1000,  /* after one that did not start */
    STOP_MS = 1000,       /* from SIGTERM to SIGKILL */
    LEFTOVER_MS = 1500,   /* for the kernel to end the last runs */
    /* What a request may take besides queue_wait, timeout and grace: 30 s to
     * come in (http.c), 10 s to die (run.c), 300 s to be sent (http.c). */
    REQUEST_MS = (30 + 10 + 300) * 1000,
    /* One serves, one warms up, two see their runs end. */
    GENERATIONS_MAX = ZYGOTES_MAX,
    SPARE_SEATS = 1024
};

#define STARTING "Python is starting."
#define CHILD_SAYS "sandbox-child: "

/* A process that there is always one of. pid 0: to be started at start_ms. */
struct process {
    pid_t pid;
    int seat;           /* a worker's, in the scoreboard */
    int64_t start_ms;
    int64_t pause_ms;
};

/* A worker that ends when it has answered, or is ended at kill_ms. */
struct leaver {
    struct leaver *next;
    pid_t pid;
    int seat;
    int64_t kill_ms;
};

enum stage { WARMING, SERVING, RETIRED };

struct generation {
    enum stage stage;
    bool is_reload;             /* else the configuration is another's too */
    bool is_worn;
    struct config config;       /* until it is retired, as all but the zygote */
    struct market_shared *market;
    struct process *workers;
    int queue_read_fd, queue_write_fd;  /* of ready children; -1: closed */
    struct process zygote;
    char cgroup[CGROUP_PATH_MAX];
    int log_fd;                         /* what the zygote says, to read */
    char line[SCOREBOARD_ABOUT];        /* of it, so far */
    size_t line_len;
    char last_line[SCOREBOARD_TEXT];    /* it is why, when it never got warm */
    char layers[SCOREBOARD_TEXT];       /* as in the scoreboard */
    char about[SCOREBOARD_ABOUT];
    int64_t kill_ms;                    /* of the zygote, when retired */
};

struct master {
    struct generation *generations[GENERATIONS_MAX];  /* some NULL */
    struct generation *serving, *fresh;  /* of them; fresh: warming, or NULL */
    struct leaver *leavers;
    struct scoreboard *scoreboard;
    master_reload *reload;
    struct config wanted;      /* what a reload waits with for its place */
    bool has_wanted;
    bool is_leaving;
    int64_t renew_ms;          /* not before */
    int listen_fd;
    int seats;
    int signal_fd;
};

/* The sooner of two times or spans; -1 is never. */
static int64_t
sooner(int64_t one, int64_t other)
{
    return one == -1 || (other != -1 && other < one) ? other : one;
}

static void
close_fd(int *fd)
{
    if (*fd != -1)
        close(*fd);
    *fd = -1;
}

/*** Starting ***/

/* An empty seat, or -1. */
static int
find_seat(struct master *master)
{
    struct scoreboard *scoreboard = master->scoreboard;
    int seat = 0;

    while (seat < scoreboard->seat_count &&
           scoreboard->seats[seat] != SEAT_EMPTY)
        seat++;
    if (seat == master->seats)
        return -1;
    scoreboard->seats[seat] = SEAT_IDLE;
    if (seat == scoreboard->seat_count)
        scoreboard->seat_count++;
    return seat;
}

/* Its worker is no more. */
static void
free_seat(struct master *master, int seat)
{
    scoreboard_leave(master->scoreboard, PLACES_MAX, seat);
    master->scoreboard->seats[seat] = SEAT_EMPTY;
}

/* What is the master's alone, or of other generations. A zygote whose readers
 * are all gone must notice it. */
static void
close_others(struct master *master, const struct generation *own)
{
    close(master->signal_fd);
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        struct generation *generation = master->generations[i];

        if (generation == NULL)
            continue;
        close_fd(&generation->queue_write_fd);
        close_fd(&generation->log_fd);
        if (generation != own)
            close_fd(&generation->queue_read_fd);
    }
}

static void
start_worker(struct master *master, struct generation *generation,
             struct process *process)
{
    const struct config *config = &generation->config;
    struct worker worker = {
        .config = config,
        .scoreboard = master->scoreboard,
        .seat = find_seat(master),
        .listen_fd = master->listen_fd,
        .queue_fd = config->zygote ? generation->queue_read_fd : -1,
    };
    pid_t parent = getpid();

    process->pid = -1;
    if (worker.seat == -1)
        return;
    process->start_ms = now_ms();
    process->seat = worker.seat;
    process->pid = fork();
    if (process->pid == -1)
        master->scoreboard->seats[worker.seat] = SEAT_EMPTY;
    if (process->pid != 0)
        return;
    close_others(master, generation);
    worker.market = market_open(config, generation->market);
    if (drop_privileges() == -1 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
        getppid() != parent) {
        log_error("cannot start a worker: %m");
        _exit(111);
    }
    worker_run(&worker);
}

/* Where it stands among the generations. */
static int
place_of(const struct master *master, const struct generation *generation)
{
    int place = 0;

    while (master->generations[place] != generation)
        place++;
    return place;
}

static void
start_zygote(struct master *master, struct generation *generation,
             struct process *process)
{
    bool is_serving = generation->stage == SERVING;
    struct config config = generation->config;
    const char *cgroup = cgroup_make();
    int ends[2];

    /* Runs of others may still have theirs. */
    if (config.run_ids != 0)
        config.run_ids += place_of(master, generation) * ZYGOTE_IDS;
    process->start_ms = now_ms();
    process->pid = -1;
    generation->is_worn = false;
    if (cgroup == NULL) {
        log_error("cannot make a cgroup: %m");
        return;
    }
    snprintf(generation->cgroup, sizeof(generation->cgroup), "%s", cgroup);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1) {
        log_error("cannot make a pipe: %m");
        cgroup_remove(cgroup);
        return;
    }
    process->pid = ready_start_zygote(&config, generation->queue_write_fd,
                                      ends[1], cgroup,
                                      is_serving ? ZYGOTE_SERVE
                                                 : ZYGOTE_TAKE_OVER);
    close(ends[1]);
    if (process->pid == -1) {
        log_error("cannot fork: %m");
        cgroup_remove(cgroup);
    }
    if (is_serving)
        master->scoreboard->is_loading = true;
    close_fd(&generation->log_fd);
    generation->log_fd = ends[0];
    generation->line_len = 0;
    generation->last_line[0] = '\0';
}

/* Start it when its time has come. Returns the ms until then, or -1. */
static int64_t
start_when_due(struct master *master, struct process *process,
               void (*start)(struct master *, struct generation *,
                             struct process *))
{
    int64_t left;

    if (process->pid > 0)
        return -1;
    left = process->start_ms - now_ms();
    if (left > 0)
        return left;
    start(master, master->serving, process);
    if (process->pid > 0)
        return -1;
    process->pid = 0;
    process->start_ms = now_ms() + PAUSE_MAX_MS;  /* no fork to be had */
    return PAUSE_MAX_MS;
}

/* Start all that is missing. Returns the ms until more is to be, or -1. */
static int64_t
start_missing(struct master *master)
{
    struct generation *serving = master->serving;
    int64_t next = -1;

    if (serving->config.zygote)
        next = start_when_due(master, &serving->zygote, start_zygote);
    for (int i = 0; i < serving->config.workers && !master->is_leaving; i++)
        next = sooner(next, start_when_due(master, &serving->workers[i],
                                           start_worker));
    return next;
}

/*** Generations ***/

/* A place for one more, or NULL. */
static struct generation **
find_place(struct master *master)
{
    for (int i = 0; i < GENERATIONS_MAX; i++)
        if (master->generations[i] == NULL)
            return &master->generations[i];
    return NULL;
}

/* Make one at that place; config is taken over. NULL with errno. */
static struct generation *
generation_new(struct generation **place, const struct config *config,
               struct market_shared *market)
{
    struct generation *generation;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
        return NULL;
    generation = must_alloc(sizeof(*generation));
    *generation = (struct generation){
        .config = *config, .market = market, .log_fd = -1,
        .queue_read_fd = ends[0], .queue_write_fd = ends[1],
        .workers = must_alloc((size_t)config->workers *
                              sizeof(*generation->workers)),
    };
    *place = generation;
    return generation;
}

/* Its zygote, the last of it, has ended. */
static void
generation_free(struct master *master, struct generation *generation)
{
    close_fd(&generation->log_fd);
    master->generations[place_of(master, generation)] = NULL;
    free(generation);
}

/* How long a request of it may still take. */
static int64_t
leave_ms(const struct config *config)
{
    return now_ms() + REQUEST_MS + config->queue_wait + config->timeout +
           config->grace;
}

static void
tell_to_leave(struct master *master, struct process *worker, int64_t kill_ms)
{
    struct leaver *leaver;

    if (worker->pid > 0) {
        leaver = must_alloc(sizeof(*leaver));
        *leaver = (struct leaver){master->leavers, worker->pid, worker->seat,
                                  kill_ms};
        master->leavers = leaver;
        kill(worker->pid, SIGQUIT);
    }
    *worker = (struct process){0};
}

static void
tell_workers_to_leave(struct master *master, struct generation *generation)
{
    int64_t kill_ms = leave_ms(&generation->config);

    for (int i = 0; i < generation->config.workers; i++)
        tell_to_leave(master, &generation->workers[i], kill_ms);
}

/* What goes on with `other` is kept: its configuration, its market. */
static void
retire(struct master *master, struct generation *generation,
       const struct generation *other)
{
    generation->stage = RETIRED;
    generation->kill_ms = leave_ms(&generation->config);
    tell_workers_to_leave(master, generation);
    close_fd(&generation->queue_read_fd);
    close_fd(&generation->queue_write_fd);
    free(generation->workers);
    if (generation->config.child != other->config.child)
        config_clear(&generation->config);
    if (generation->market != other->market)
        market_shared_free(generation->market);
    if (generation->zygote.pid <= 0)
        generation_free(master, generation);
}

/* The first time, it ends systemd's start; later, a reload. */
static void
notify_serving(const struct config *config)
{
    notify("READY=1\nSTATUS=Serving with %d workers, %d runs at once",
           config->workers, config->max_runs);
}

/* Give the one that warms up up. */
static void
drop_fresh(struct master *master)
{
    struct generation *fresh = master->fresh;

    master->fresh = NULL;
    if (fresh == NULL)
        return;
    master->renew_ms = now_ms() + RENEW_AGAIN_MS;
    if (fresh->zygote.pid > 0)
        kill(fresh->zygote.pid, SIGKILL);
    retire(master, fresh, master->serving);
    notify_serving(&master->serving->config);
}

/* What the scoreboard tells of the zygote is now about this one. */
static void
show(struct master *master, const struct generation *generation)
{
    scoreboard_set(master->scoreboard->layers, generation->layers);
    memcpy(master->scoreboard->about, generation->about, SCOREBOARD_ABOUT);
}

static void
reopen_log(const struct config *config)
{
    log_as_json(strcmp(config->log_format, "json") == 0);
    if (log_open(config->log) == -1)
        log_error("cannot open %s: %m", config->log);
}

static void
take_over(struct master *master)
{
    struct generation *fresh = master->fresh, *old = master->serving;

    fresh->stage = SERVING;
    master->serving = fresh;
    master->fresh = NULL;
    if (strcmp(fresh->config.log, old->config.log) != 0)
        reopen_log(&fresh->config);
    show(master, fresh);
    master->scoreboard->is_warm = fresh->config.zygote;
    master->scoreboard->is_loading = false;
    master->scoreboard->is_failing = false;
    start_missing(master);  /* before the others leave */
    retire(master, old, fresh);
    log_info("%s has taken over: %d workers, %d runs at once",
             fresh->is_reload ? "the new configuration" : "a fresh zygote",
             fresh->config.workers, fresh->config.max_runs);
    notify_serving(&fresh->config);
}

/* A market for config: the one at work, unless it has other sizes. */
static struct market_shared *
market_for(const struct generation *serving, const struct config *config)
{
    if (config->fmp_cache == serving->config.fmp_cache &&
        config->fmp_rate == serving->config.fmp_rate)
        return serving->market;
    return market_shared_new(config);
}

/* Start another generation, with that configuration, which is taken over. */
static void
start_fresh(struct master *master, struct generation **place,
            struct config *config, bool is_reload)
{
    struct market_shared *market = market_for(master->serving, config);
    struct generation *fresh = NULL;

    if (market != NULL)
        fresh = generation_new(place, config, market);
    if (fresh == NULL) {
        log_error("cannot set up: %m; all stays as it was");
        notify_serving(&master->serving->config);
        if (market != NULL && market != master->serving->market)
            market_shared_free(market);
        if (is_reload)
            config_clear(config);
        return;
    }
    fresh->is_reload = is_reload;
    master->fresh = fresh;
    if (!fresh->config.zygote) {
        take_over(master);
        return;
    }
    start_zygote(master, fresh, &fresh->zygote);
    if (fresh->zygote.pid <= 0) {
        log_error("cannot start a zygote; all stays as it was");
        drop_fresh(master);
    }
}

/* The ms until the zygote is to be renewed: 0 when it is; -1: never. */
static int64_t
time_to_renewal(const struct master *master)
{
    const struct generation *serving = master->serving;
    int64_t due = serving->zygote.start_ms + serving->config.zygote_age;
    int64_t now = now_ms();

    if (serving->zygote.pid <= 0 || master->fresh != NULL ||
        (!serving->is_worn && serving->config.zygote_age == 0))
        return -1;
    if (serving->is_worn)
        due = now;
    if (due < master->renew_ms)
        due = master->renew_ms;
    return due > now ? due - now : 0;
}

/*
 * Begin a reload or a renewal that is due, where there is a place for it: at
 * most two that are retired have runs going on. Returns the ms until one is
 * due, or -1.
 */
static int64_t
begin_due(struct master *master)
{
    struct generation **place = find_place(master);
    int64_t left;

    if (master->is_leaving || place == NULL)
        return -1;  /* an end, that makes place, wakes us */
    if (master->has_wanted) {
        master->has_wanted = false;
        start_fresh(master, place, &master->wanted, true);
        return 0;
    }
    left = time_to_renewal(master);
    if (left != 0)
        return left;
    log_info("starting a fresh zygote, since this one has %s",
             master->serving->is_worn ? "forked zygote_runs times"
                                      : "reached zygote_age");
    start_fresh(master, place, &master->serving->config, false);
    return 0;
}

/* End what has outstayed its time. Returns the ms until more has, or -1. */
static int64_t
end_overdue(struct master *master)
{
    int64_t now = now_ms(), next = -1;

    for (struct leaver *leaver = master->leavers; leaver != NULL;
         leaver = leaver->next) {
        if (leaver->kill_ms <= now)
            kill(leaver->pid, SIGKILL);
        next = sooner(next, leaver->kill_ms);
    }
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        struct generation *generation = master->generations[i];

        if (generation == NULL || generation->stage != RETIRED)
            continue;
        if (generation->kill_ms <= now)
            kill(generation->zygote.pid, SIGKILL);
        next = sooner(next, generation->kill_ms);
    }
    return next == -1 ? -1 : next <= now ? PAUSE_MAX_MS : next - now;
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
zygote_line(struct master *master, struct generation *generation,
            const char *line)
{
    if (strcmp(line, ZYGOTE_WORN) == 0) {
        generation->is_worn = true;
        return;
    }
    if (strcmp(line, ZYGOTE_LOADED) == 0) {
        if (generation->stage == SERVING) {
            ready_drop_early(generation->queue_read_fd);
            master->scoreboard->is_loading = false;
            notify_serving(&generation->config);
        }
        return;
    }
    if (strncmp(line, PROBE_IN_FORCE, strlen(PROBE_IN_FORCE)) == 0) {
        log_info("zygote: %s", line);
        scoreboard_set(generation->layers, line + strlen(PROBE_IN_FORCE));
    } else if (strncmp(line, ZYGOTE_ABOUT, strlen(ZYGOTE_ABOUT)) == 0) {
        strncpy(generation->about, line + strlen(ZYGOTE_ABOUT),
                SCOREBOARD_ABOUT - 1);
    } else {
        log_warn("zygote: %s", line);
        scoreboard_set(generation->last_line, line);
    }
    if (generation->stage != SERVING)
        return;
    show(master, generation);
    /* A child that cannot be set up is no end of the zygote. */
    if (strncmp(line, CHILD_SAYS, strlen(CHILD_SAYS)) == 0) {
        scoreboard_set(master->scoreboard->reason, line);
        master->scoreboard->is_failing = true;
    }
}

/* Returns whether there may be more. */
static bool
zygote_said(struct master *master, struct generation *generation)
{
    char *line = generation->line, *newline;
    ssize_t len = read(generation->log_fd, line + generation->line_len,
                       sizeof(generation->line) - 1 - generation->line_len);

    if (len <= 0) {
        if (len == 0 || (errno != EAGAIN && errno != EINTR))
            close_fd(&generation->log_fd);
        return false;
    }
    generation->line_len += (size_t)len;
    line[generation->line_len] = '\0';
    while ((newline = strchr(line, '\n')) != NULL ||
           generation->line_len == sizeof(generation->line) - 1) {
        if (newline == NULL)
            newline = line + generation->line_len;  /* too long for a line */
        else
            *newline++ = '\0';
        zygote_line(master, generation, line);
        generation->line_len -= (size_t)(newline - line);
        memmove(line, newline, generation->line_len + 1);
    }
    return true;
}

static void
zygote_ended(struct master *master, struct generation *generation, int status)
{
    pid_t pid = generation->zygote.pid;

    while (generation->log_fd != -1 && zygote_said(master, generation))
        continue;  /* its last words are why */
    cgroup_remove(generation->cgroup);
    if (generation->stage == RETIRED) {
        log_info("the retired zygote %d has ended", (int)pid);
        generation_free(master, generation);
        return;
    }
    log_end("zygote", pid, status);
    process_ended(&generation->zygote);
    if (generation->stage == WARMING) {
        log_error("the fresh zygote did not start%s%s; all stays as it was",
                  generation->last_line[0] != '\0' ? ": " : "",
                  generation->last_line);
        drop_fresh(master);
        return;
    }
    master->scoreboard->zygote_restarts++;
    if (master->scoreboard->is_warm)
        scoreboard_set(master->scoreboard->reason, STARTING);
    else if (generation->last_line[0] != '\0')
        scoreboard_set(master->scoreboard->reason, generation->last_line);
    master->scoreboard->is_warm = false;
    /* It serves all the same: it tells each client why nothing runs. */
    notify("READY=1\nSTATUS=Nothing runs: %s", master->scoreboard->reason);
    ready_drain(generation->queue_read_fd);
}

static void
worker_ended(struct master *master, struct process *worker, int status)
{
    free_seat(master, worker->seat);
    if (status == 0) {  /* after worker_requests */
        *worker = (struct process){0};
        return;
    }
    log_end("worker", worker->pid, status);
    master->scoreboard->worker_restarts++;
    process_ended(worker);
}

/* Returns whether it was one that was to leave. */
static bool
leaver_ended(struct master *master, pid_t pid, int status)
{
    for (struct leaver **link = &master->leavers; *link != NULL;
         link = &(*link)->next) {
        struct leaver *leaver = *link;

        if (leaver->pid != pid)
            continue;
        if (status != 0)
            log_end("worker", pid, status);
        free_seat(master, leaver->seat);
        *link = leaver->next;
        free(leaver);
        return true;
    }
    return false;
}

/* Returns whether there may be more. */
static bool
reap_one(struct master *master)
{
    struct generation *serving = master->serving;
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);

    if (pid <= 0)
        return false;
    if (leaver_ended(master, pid, status))
        return true;
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        struct generation *generation = master->generations[i];

        if (generation != NULL && pid == generation->zygote.pid) {
            zygote_ended(master, generation, status);
            return true;
        }
    }
    for (int i = 0; i < serving->config.workers; i++)
        if (pid == serving->workers[i].pid)
            worker_ended(master, &serving->workers[i], status);
    return true;  /* or one of a dead zygote's children, that came to us */
}

static void
read_again(struct master *master)
{
    struct config fresh;

    log_info("reading the configuration again, on SIGHUP");
    if (master->is_leaving ||
        master->reload(&master->serving->config, &fresh) == -1)
        return;
    if (fresh.workers > master->seats - SPARE_SEATS / 2) {
        log_error("workers: %d of them take a restart", fresh.workers);
        config_clear(&fresh);
        return;
    }
    if (master->has_wanted)
        config_clear(&master->wanted);
    master->wanted = fresh;
    master->has_wanted = true;
    drop_fresh(master);
    notify_reloading();
    if (find_place(master) == NULL)
        log_info("the new configuration waits for the runs of earlier ones "
                 "to end");
}

/* At once, so that another instance may have the address. */
static void
stop_listening(struct master *master)
{
    if (master->listen_fd != -1)
        listen_remove(&master->serving->config);
    close_fd(&master->listen_fd);
}

/* End when all that has been accepted is answered. */
static void
begin_to_leave(struct master *master)
{
    log_info("ending on SIGQUIT, when all requests are answered");
    master->is_leaving = true;
    stop_listening(master);
    drop_fresh(master);
    tell_workers_to_leave(master, master->serving);
}

/* Returns false when the service is to end now. */
static bool
take_signal(struct master *master, int number)
{
    if (number == SIGHUP) {
        read_again(master);
    } else if (number == SIGUSR1) {
        reopen_log(&master->serving->config);
        log_info("the log is open again, on SIGUSR1");
        /* Who has another account may not be able to open it. */
        tell_workers_to_leave(master, master->serving);
    } else if (number == SIGQUIT && !master->is_leaving) {
        begin_to_leave(master);
    } else if (number != SIGCHLD) {
        log_info("ending on SIG%s", sigabbrev_np(number));
        return false;
    }
    return true;
}

/* Returns false when the service is to end now. */
static bool
take_signals(struct master *master)
{
    struct signalfd_siginfo info;
    bool goes_on = true;

    while (read(master->signal_fd, &info, sizeof(info)) == sizeof(info))
        goes_on &= take_signal(master, (int)info.ssi_signo);
    while (reap_one(master))
        continue;
    return goes_on;
}

/*** Stopping ***/

static void
signal_all(const struct master *master, int number)
{
    const struct generation *serving = master->serving;

    for (int i = 0; i < GENERATIONS_MAX; i++)
        if (master->generations[i] != NULL &&
            master->generations[i]->zygote.pid > 0)
            kill(master->generations[i]->zygote.pid, number);
    for (int i = 0; i < serving->config.workers; i++)
        if (serving->workers[i].pid > 0)
            kill(serving->workers[i].pid, number);
    for (const struct leaver *leaver = master->leavers; leaver != NULL;
         leaver = leaver->next)
        kill(leaver->pid, number);
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

static void
fill_signals(sigset_t *signals)
{
    static const int numbers[] = {
        SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1,
    };

    sigemptyset(signals);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaddset(signals, numbers[i]);
}

void
master_block_signals(void)
{
    sigset_t signals;

    fill_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, NULL);
}

static bool
set_up(struct master *master, struct config *config)
{
    struct market_shared *market = market_shared_new(config);
    sigset_t signals;

    fill_signals(&signals);
    master->seats = config->workers + SPARE_SEATS;
    master->scoreboard = scoreboard_new(master->seats);
    if (master->scoreboard == NULL || market == NULL ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
        return false;
    master->scoreboard->seat_count = 0;
    master->serving = generation_new(&master->generations[0], config, market);
    master->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (master->serving == NULL || master->signal_fd == -1)
        return false;
    master->serving->stage = SERVING;
    scoreboard_set(master->scoreboard->reason, STARTING);
    return true;
}

/* Wait for something to happen, and see to it. */
static bool
wait_and_act(struct master *master, int wait_ms)
{
    struct pollfd polled[GENERATIONS_MAX + 2] = {
        {master->signal_fd, POLLIN, 0},
        {master->fresh != NULL ? master->fresh->queue_read_fd : -1, POLLIN, 0},
    };

    for (int i = 0; i < GENERATIONS_MAX; i++)
        polled[i + 2] = (struct pollfd){
            master->generations[i] != NULL ? master->generations[i]->log_fd
                                           : -1, POLLIN, 0};
    if (poll(polled, GENERATIONS_MAX + 2, wait_ms) == -1)
        return true;
    for (int i = 0; i < GENERATIONS_MAX; i++)
        if (polled[i + 2].revents != 0)
            zygote_said(master, master->generations[i]);
    if (polled[1].revents & POLLIN)
        take_over(master);
    return polled[0].revents == 0 || take_signals(master);
}

static void
serve(struct master *master)
{
    bool goes_on = true;

    while (goes_on && (!master->is_leaving || master->leavers != NULL)) {
        int64_t wait_ms = begin_due(master);

        wait_ms = sooner(wait_ms, start_missing(master));
        wait_ms = sooner(wait_ms, end_overdue(master));
        goes_on = wait_and_act(master, notify_alive((int)wait_ms));
    }
}

int
master_run(struct config *config, int listen_fd, master_reload *reload)
{
    static struct master master;  /* it lives as long as the process */

    master.listen_fd = listen_fd;
    master.reload = reload;
    if (!set_up_cgroup(config))
        return 111;
    if (!set_up(&master, config)) {
        log_error("cannot set up: %m");
        return 111;
    }
    title_set("sandbox-fcgi: master");
    log_info("serving with %d workers, %d runs at once", config->workers,
             config->max_runs);
    if (strcmp(config->isolation, "strict") != 0)
        log_warn("isolation is %s", config->isolation);
    if (!config->zygote)
        notify_serving(config);
    serve(&master);
    notify("STOPPING=1");
    stop_listening(&master);
    stop(&master);
    cgroup_stop();
    *config = master.serving->config;
    return 0;
}

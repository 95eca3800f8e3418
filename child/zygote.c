#include "zygote.h"

#include "clock.h"
#include "die.h"
#include "handover.h"
#include "leaf.h"
#include "memory.h"
#include "python.h"
#include "root.h"
#include "title.h"
#include "touch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAUSE_MS = 1000,  /* after a child that could not be set up, or forked */
    LULL_MS = 1       /* after a child was taken: a small run ends sooner */
};

enum state {
    FREE,
    STARTING,  /* forked; has not said "ready" yet */
    READY,     /* handed over, in the queue */
    RUNNING    /* taken by a worker */
};

struct child {
    enum state state;
    bool is_early;  /* forked before all was loaded */
    pid_t pid;
    int pidfd;      /* all three owned until the child's end */
    int status_fd;
    int mounts_fd;  /* its mount namespace, which takes the kernel a while to
                       end; not before the worker has been told */
    int theirs[HANDOVER_FD_COUNT];  /* the worker's ends, until handed over */
    unsigned long inherited_kib;  /* anonymous */
    unsigned long kills_before;     /* for memory, of its slot's earlier runs */
};

struct zygote {
    const struct zygote_plan *plan;
    const struct limits *limits;
    int queue_fd;
    struct child *children;  /* plan->max_runs of them */
    struct pollfd *polled;   /* POLLED for each, and the queue */
    bool is_loaded;
    size_t forks;            /* so far */
    int64_t pause_until_ms;
    int64_t lull_until_ms;
};

static void
pause_forking(struct zygote *zygote)
{
    zygote->pause_until_ms = now_ms() + PAUSE_MS;
}

/* Early children are as good as none when all is loaded. */
static int
count(const struct zygote *zygote, enum state state)
{
    int found = 0;

    for (int i = 0; i < zygote->plan->max_runs; i++)
        found += zygote->children[i].state == state &&
                 !(zygote->children[i].is_early && zygote->is_loaded);
    return found;
}

/* What of this process's memory is in no file, and what is; in KiB. Returns
 * false where /proc is empty. */
static bool
resident_kib(unsigned long *anonymous, unsigned long *of_files)
{
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    unsigned long kib = (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
    char text[128] = "", *next = text;

    if (fd == -1)
        return false;
    if (read(fd, text, sizeof(text) - 1) == -1)
        die("cannot read /proc/self/statm: %m");
    close(fd);
    strtoul(next, &next, 10);
    *anonymous = strtoul(next, &next, 10) * kib;
    *of_files = strtoul(next, &next, 10) * kib;
    *anonymous -= *of_files;
    return true;
}

/*
 * Tell what a run has had of its own at most. The kernel keeps that with what
 * it has looked at of the zygote's memory, which is in files and everyone's.
 */
static void
say_peak(void)
{
    unsigned long own, of_files, most;
    struct rusage usage;

    if (!resident_kib(&own, &of_files) || getrusage(RUSAGE_SELF, &usage) == -1)
        return;
    most = (unsigned long)usage.ru_maxrss;  /* not told to the last page */
    if (most > own + of_files)
        own = most - of_files;
    dprintf(CHILD_REPORT, REPORT_PEAK "%lu\n", own);
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

static void
make_socket_pair(int *mine, int *theirs)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
        die("cannot make a socket pair: %m");
    *mine = ends[0];
    *theirs = ends[1];
}

static void
close_theirs(struct child *child)
{
    for (int i = 0; i < HANDOVER_FD_COUNT; i++)
        if (i != HANDOVER_PIDFD && i != HANDOVER_OWNER)  /* not copies */
            close(child->theirs[i]);
}

/* The child's life, from the fork to its end. */
static _Noreturn void
live(const struct limits *limits, int slot, int work_fd, const int *fds)
{
    struct pollfd job = {CHILD_JOB, POLLIN, 0};
    int status;

    die_to(fds[CHILD_REPORT], REPORT_FAILED);
    confine_enter(limits, slot, work_fd, fds);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);  /* libc's prints, in order */
    touch_pages();
    python_prepare();
    if (write(CHILD_REPORT, REPORT_READY "\n", sizeof(REPORT_READY)) == -1)
        die("cannot report: %m");
    title_set("sandbox-child: ready");
    while (poll(&job, 1, -1) == -1)
        continue;
    title_set("sandbox-child: run");
    status = python_live();
    fflush(NULL);  /* what libc still holds of the program's output */
    say_peak();
    _exit(status);
}

static void
fork_child(struct zygote *zygote, struct child *child)
{
    int slot = (int)(child - zygote->children);
    int fds[CHILD_FD_COUNT];
    int *theirs = child->theirs;
    unsigned long of_files;

    make_pipe(&fds[CHILD_JOB], &theirs[HANDOVER_JOB]);
    make_pipe(&theirs[HANDOVER_OUTPUT], &fds[CHILD_OUTPUT]);
    make_pipe(&theirs[HANDOVER_REPORT], &fds[CHILD_REPORT]);
    make_socket_pair(&fds[CHILD_MARKET], &theirs[HANDOVER_MARKET]);
    make_socket_pair(&child->status_fd, &theirs[HANDOVER_STATUS]);
    theirs[HANDOVER_WORK] = root_work_open(zygote->limits->work_size,
                                          zygote->limits->work_inodes,
                                          confine_id(zygote->limits, slot));
    fds[CHILD_OUTPUT + 1] = fds[CHILD_OUTPUT];
    child->is_early = !zygote->is_loaded;
    if (!resident_kib(&child->inherited_kib, &of_files))
        die("cannot open /proc/self/statm: %m");
    child->kills_before = leaf_is_open() ? leaf_kills(slot) : 0;

    confine_before_fork(zygote->limits, slot);
    /* Python is not told of it, whose preparations are for the locks of other
     * threads. There are none (main.c), and each library's random state is
     * seen to by sandbox.run. */
    child->pid = fork();
    if (child->pid == 0)
        live(zygote->limits, slot, theirs[HANDOVER_WORK], fds);
    confine_after_fork();

    for (int i = 0; i < CHILD_FD_COUNT; i++)
        if (i != CHILD_OUTPUT + 1)
            close(fds[i]);
    if (child->pid == -1) {
        fprintf(stderr, "sandbox-child: cannot fork: %s\n", strerror(errno));
        close_theirs(child);
        close(child->status_fd);
        pause_forking(zygote);
        return;
    }
    child->pidfd = pidfd_open(child->pid, 0);
    if (child->pidfd == -1)
        die("cannot open a pidfd: %m");
    theirs[HANDOVER_PIDFD] = child->pidfd;
    theirs[HANDOVER_OWNER] = confine_user_namespace();
    child->mounts_fd = -1;
    child->state = STARTING;
    if (++zygote->forks == zygote->plan->forks)
        fputs(ZYGOTE_WORN "\n", stderr);
}

/*
 * The child has written its first line, and has read no user byte yet.
 * Returns whether it is ready; says why not.
 */
static bool
child_is_ready(const struct child *child)
{
    char line[512];
    ssize_t len = read(child->theirs[HANDOVER_REPORT], line, sizeof(line) - 1);

    line[len > 0 ? len : 0] = '\0';
    if (strcmp(line, REPORT_READY "\n") == 0)
        return true;
    fprintf(stderr, "sandbox-child: %s",
            line[0] != '\0' ? line : "a child died while it was set up\n");
    return false;
}

/* -1 where it cannot be: then the child's end takes a little longer. */
static int
open_mounts(pid_t pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Put the child into the queue. Returns false when nobody reads it. */
static bool
hand_over(struct zygote *zygote, struct child *child)
{
    unsigned char bytes[HANDOVER_BYTES];
    union {
        char space[CMSG_SPACE(sizeof(child->theirs))];
        struct cmsghdr align;
    } control;
    struct iovec data = {bytes, sizeof(bytes)};
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control.space,
        .msg_controllen = sizeof(control.space),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    pack(bytes, child->inherited_kib, 4);
    pack(bytes + 4, child->is_early, 1);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(child->theirs));
    memcpy(CMSG_DATA(header), child->theirs, sizeof(child->theirs));
    if (sendmsg(zygote->queue_fd, &message, MSG_NOSIGNAL) == -1) {
        if (errno == EPIPE || errno == ECONNRESET)
            return false;
        die("cannot hand a child over: %m");
    }
    close_theirs(child);
    child->mounts_fd = open_mounts(child->pid);
    child->state = READY;
    return true;
}

/* The child and all that it started are dead: reap it and tell the worker. */
static void
child_ended(struct zygote *zygote, struct child *child)
{
    unsigned char bytes[STATUS_BYTES];
    unsigned long kills = 0;
    struct rusage usage;
    int status;

    if (wait4(child->pid, &status, 0, &usage) != child->pid)
        die("cannot wait for a child: %m");
    if (child->state == STARTING) {
        close_theirs(child);
        pause_forking(zygote);
    }
    pack(bytes, (uint64_t)status, 4);
    pack(bytes + 4, (uint64_t)usage.ru_utime.tv_sec * 1000000 +
         (uint64_t)usage.ru_utime.tv_usec, 8);
    pack(bytes + 12, (uint64_t)usage.ru_stime.tv_sec * 1000000 +
         (uint64_t)usage.ru_stime.tv_usec, 8);
    pack(bytes + 20, (uint64_t)usage.ru_maxrss, 8);
    if (leaf_is_open())
        kills = leaf_kills((int)(child - zygote->children)) -
                child->kills_before;
    pack(bytes + 28, kills, 4);
    /* A worker that is gone needs no answer. */
    (void)!send(child->status_fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
    close(child->status_fd);
    close(child->pidfd);
    if (child->mounts_fd != -1)
        close(child->mounts_fd);
    child->state = FREE;
    zygote->lull_until_ms = 0;
}

static void
child_status(struct zygote *zygote, struct child *child, short events)
{
    char taken;

    if (events & POLLIN) {
        ssize_t len = recv(child->status_fd, &taken, 1, MSG_DONTWAIT);

        if (len == 1 && taken == STATUS_TAKEN && child->state == READY) {
            child->state = RUNNING;
            zygote->lull_until_ms = now_ms() + LULL_MS;
            return;
        }
    }
    /* The worker let go of the child: nobody waits for it any more. */
    if (events & (POLLIN | POLLHUP | POLLERR))
        kill(child->pid, SIGKILL);
}

/*
 * Fork a child, if one is wanted. One at a time, since a worker whose run ends
 * meanwhile waits to be told; and not right after a child was taken, while
 * others are left, since the run would share the processors with it. Returns
 * for how long to wait at most, in ms, before this is called again.
 */
static int
fork_ahead(struct zygote *zygote)
{
    const struct zygote_plan *plan = zygote->plan;
    int ready = count(zygote, READY), starting = count(zygote, STARTING);
    int64_t now = now_ms();

    if (ready + starting >= plan->ready || now < zygote->pause_until_ms)
        return PAUSE_MS;
    if (ready > 0 && now < zygote->lull_until_ms)
        return (int)(zygote->lull_until_ms - now);
    for (int i = 0; i < plan->max_runs; i++) {
        if (zygote->children[i].state == FREE) {
            fork_child(zygote, &zygote->children[i]);
            return 0;
        }
    }
    return PAUSE_MS;
}

/* What is waited for of a child, in order. */
enum { POLLED_END, POLLED_STATUS, POLLED_REPORT, POLLED };

/* Act on what poll() found of one child, whose entries begin at polled. */
static bool
child_events(struct zygote *zygote, struct child *child,
             const struct pollfd *polled)
{
    if (child->state == STARTING && polled[POLLED_REPORT].revents != 0) {
        if (!child_is_ready(child)) {
            kill(child->pid, SIGKILL);
            child_ended(zygote, child);
            return true;
        }
        return hand_over(zygote, child);
    }
    if (polled[POLLED_END].revents != 0) {
        child_ended(zygote, child);
        return !zygote->plan->once;
    }
    if (polled[POLLED_STATUS].revents != 0)
        child_status(zygote, child, polled[POLLED_STATUS].revents);
    return true;
}

/*** The loop ***/

static void
look_at(const struct child *child, struct pollfd *polled)
{
    bool is_free = child->state == FREE;

    polled[POLLED_END] = (struct pollfd){
        is_free ? -1 : child->pidfd, POLLIN, 0};
    polled[POLLED_STATUS] = (struct pollfd){
        is_free ? -1 : child->status_fd, POLLIN, 0};
    polled[POLLED_REPORT] = (struct pollfd){
        child->state == STARTING ? child->theirs[HANDOVER_REPORT] : -1,
        POLLIN, 0};
}

/* Wait, and act on all that has happened. Returns false at the end. */
static bool
step(struct zygote *zygote, int wait_ms)
{
    int count = zygote->plan->max_runs;
    struct pollfd *polled = zygote->polled, *queue = &polled[POLLED * count];

    for (int i = 0; i < count; i++)
        look_at(&zygote->children[i], &polled[POLLED * i]);
    /* No events asked for: only whether the other end is still there. */
    *queue = (struct pollfd){zygote->queue_fd, 0, 0};
    if (poll(polled, POLLED * (nfds_t)count + 1, wait_ms) == -1 &&
        errno != EINTR)
        die("cannot wait: %m");
    if (queue->revents != 0)
        return false;
    for (int i = 0; i < count; i++)
        if (zygote->children[i].state != FREE &&
            !child_events(zygote, &zygote->children[i], &polled[POLLED * i]))
            return false;
    return true;
}

struct zygote *
zygote_new(const struct zygote_plan *plan, const struct limits *limits,
           int queue_fd)
{
    struct zygote *zygote = calloc(1, sizeof(*zygote));
    size_t count = (size_t)plan->max_runs;

    if (zygote == NULL)
        die("out of memory");
    *zygote = (struct zygote){
        .plan = plan, .limits = limits, .queue_fd = queue_fd,
        .children = calloc(count, sizeof(*zygote->children)),
        .polled = calloc(POLLED * count + 1, sizeof(*zygote->polled)),
    };
    if (zygote->children == NULL || zygote->polled == NULL)
        die("out of memory");
    return zygote;
}

void
zygote_look(struct zygote *zygote)
{
    int wait_ms;

    do {
        wait_ms = fork_ahead(zygote);
        if (!step(zygote, count(zygote, STARTING) > 0 ? PAUSE_MS : 0))
            _exit(0);
    } while (wait_ms == 0 || count(zygote, STARTING) > 0);
}

void
zygote_run(struct zygote *zygote)
{
    zygote->is_loaded = true;
    if (!zygote->plan->once) {
        zygote_look(zygote);
        memory_unmap();
        fputs(ZYGOTE_LOADED "\n", stderr);
    }
    while (step(zygote, fork_ahead(zygote)))
        continue;
}

bool
zygote_holds(const struct zygote *zygote, int fd)
{
    for (int i = 0; i < zygote->plan->max_runs; i++) {
        const struct child *child = &zygote->children[i];

        if (child->state != FREE &&
            (fd == child->pidfd || fd == child->status_fd ||
             fd == child->mounts_fd))
            return true;
    }
    return false;
}

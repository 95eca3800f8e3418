#include "ready.h"

#include "clock.h"
#include "handover.h"
#include "log.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 160,
    COLD_START_MS = 30000  /* on top of queue_wait: it loads libraries */
};

static uid_t user_id;
static gid_t group_id;

/*** Who the zygote and the workers are ***/

int
find_user(const struct config *config)
{
    struct passwd *account;

    if (geteuid() != 0)
        return 0;
    account = getpwnam(config->user);
    if (account == NULL || account->pw_uid == 0)
        return -1;
    user_id = account->pw_uid;
    group_id = account->pw_gid;
    return 0;
}

uid_t
user_of_runs(void)
{
    return geteuid() == 0 ? user_id : geteuid();
}

int
drop_privileges(void)
{
    if (geteuid() != 0)
        return 0;
    if (setgroups(0, NULL) == -1 || setgid(group_id) == -1 ||
        setuid(user_id) == -1)
        return -1;
    return 0;
}

unsigned int
find_taken_id(const struct config *config)
{
    for (int part = 0; config->run_ids != 0 && part < ZYGOTES_MAX; part++)
        for (int slot = 0; slot < config->max_runs; slot++) {
            unsigned int id = (unsigned int)(config->run_ids +
                                             part * ZYGOTE_IDS + slot);

            if (getpwuid(id) != NULL || getgrgid(id) != NULL)
                return id;
        }
    return 0;
}

/*** Starting a zygote ***/

static void
argument_add(char **arguments, const char *key, const char *value, size_t len)
{
    size_t used = 0;

    while (arguments[used] != NULL)
        used++;
    if (used == ARGUMENTS_MAX)
        return;  /* the configuration's lists are far shorter */
    arguments[used] = must_alloc(strlen(key) + 1 + len);
    sprintf(arguments[used], "%s=%.*s", key, (int)len, value);
}

static void
argument_number(char **arguments, const char *key, size_t value)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%zu", value);

    argument_add(arguments, key, text, (size_t)len);
}

/* One argument for each part of list between any of separators. */
static void
argument_list(char **arguments, const char *key, const char *list,
              const char *separators)
{
    while (*(list += strspn(list, separators)) != '\0') {
        size_t len = strcspn(list, separators);

        argument_add(arguments, key, list, len);
        list += len;
    }
}

/* Only root can give ids away. */
static bool
has_own_ids(const struct config *config)
{
    return config->run_ids != 0 && geteuid() == 0;
}

static void
zygote_arguments(const struct config *config, const char *cgroup,
                 enum zygote_purpose purpose, char **arguments)
{
    static const char reduced[] = "reduced:";
    bool once = purpose == ZYGOTE_ONE_RUN;

    arguments[0] = must_copy(config->child);
    argument_number(arguments, "memory", config->memory);
    argument_number(arguments, "processes", (size_t)config->processes);
    argument_number(arguments, "work_size", config->work_size);
    argument_number(arguments, "work_inodes", (size_t)config->work_inodes);
    argument_number(arguments, "ready", once ? 1 : (size_t)config->ready);
    argument_number(arguments, "max_runs", once ? 1 : (size_t)config->max_runs);
    argument_number(arguments, "forks", (size_t)config->zygote_runs);
    argument_number(arguments, "once", once);
    argument_number(arguments, "early", purpose == ZYGOTE_SERVE);
    argument_number(arguments, "check", purpose == ZYGOTE_CHECK);
    argument_number(arguments, "own_ids", has_own_ids(config));
    if (*cgroup != '\0')
        argument_add(arguments, "cgroup", cgroup, strlen(cgroup));
    argument_list(arguments, "python_path", config->python_path, ":");
    argument_list(arguments, "preload", config->preload, ", ");
    if (strncmp(config->isolation, reduced, strlen(reduced)) == 0)
        argument_list(arguments, "without",
                      config->isolation + strlen(reduced), ",");
}

/* Between fork and exec: nothing that allocates or locks. */
static _Noreturn void
become_zygote(const struct config *config, char **arguments, pid_t parent,
              int queue_fd, int log_fd, int ids_fd)
{
    static const char message[] = "cannot start the sandbox-child program: ";
    const char *why;
    char *const no_environment[] = {NULL};
    sigset_t none;
    int null = open("/dev/null", O_RDWR);

    /* Above the numbers that they go to, so that no dup2 hits another. */
    queue_fd = fcntl(queue_fd, F_DUPFD, 16);
    log_fd = fcntl(log_fd, F_DUPFD, 16);
    ids_fd = fcntl(ids_fd, F_DUPFD, 16);
    sigemptyset(&none);
    if (null != -1 && queue_fd != -1 && log_fd != -1 && ids_fd != -1 &&
        dup2(null, 0) != -1 && dup2(log_fd, 1) != -1 &&
        dup2(log_fd, 2) != -1 && dup2(queue_fd, ZYGOTE_QUEUE_FD) != -1 &&
        dup2(ids_fd, ZYGOTE_IDS_FD) != -1 &&
        close_range(ZYGOTE_IDS_FD + 1, ~0U, 0) != -1 &&
        drop_privileges() != -1 &&
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != -1 &&
        getppid() == parent &&
        sigprocmask(SIG_SETMASK, &none, NULL) != -1 &&
        signal(SIGPIPE, SIG_DFL) != SIG_ERR &&
        signal(SIGCHLD, SIG_DFL) != SIG_ERR)
        execve(config->child, arguments, no_environment);
    why = strerrordesc_np(errno);
    (void)!write(2, message, sizeof(message) - 1);
    (void)!write(2, why, strlen(why));
    (void)!write(2, "\n", 1);
    _exit(111);
}

/* Returns 0, or -1 with errno. */
static int
write_map(int proc_fd, const char *name, unsigned int service,
          const struct config *config)
{
    char map[96];
    int len = snprintf(map, sizeof(map), "%d %u 1\n%d %d %d\n", INSIDE_ID,
                       service, INSIDE_RUN_IDS, config->run_ids,
                       config->max_runs);
    int fd = openat(proc_fd, name, O_WRONLY | O_CLOEXEC);

    return fd != -1 && write(fd, map, (size_t)len) == len ? 0 : -1;
}

/*
 * A process that stays root for a moment: when the zygote asks, having entered
 * its user namespace, it maps the range into that. proc_fd is the zygote's
 * directory in /proc, so that it can be nobody else's.
 */
static _Noreturn void
give_ids(const struct config *config, int proc_fd, int ids_fd)
{
    char byte;

    proc_fd = fcntl(proc_fd, F_DUPFD, 16);
    ids_fd = fcntl(ids_fd, F_DUPFD, 16);
    if (dup2(proc_fd, 3) == -1 || dup2(ids_fd, 4) == -1 ||
        close_range(5, ~0U, 0) == -1 || read(4, &byte, 1) != 1)
        _exit(0);  /* a zygote that is not given them says so */
    if (write_map(3, "uid_map", user_id, config) == 0 &&
        write_map(3, "gid_map", group_id, config) == 0)
        (void)!write(4, &byte, 1);
    _exit(0);
}

/* Start that process, or leave the zygote without. */
static void
start_giver(const struct config *config, pid_t zygote, int ids_fd)
{
    char path[32];
    int proc_fd;

    snprintf(path, sizeof(path), "/proc/%d", (int)zygote);
    proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc_fd != -1 && fork() == 0)
        give_ids(config, proc_fd, ids_fd);
    if (proc_fd != -1)
        close(proc_fd);
}

pid_t
ready_start_zygote(const struct config *config, int queue_fd, int log_fd,
                   const char *cgroup, enum zygote_purpose purpose)
{
    char *arguments[ARGUMENTS_MAX + 1] = {NULL};
    pid_t parent = getpid(), pid;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1)
        return -1;
    zygote_arguments(config, cgroup, purpose, arguments);
    pid = fork();
    if (pid == 0)
        become_zygote(config, arguments, parent, queue_fd, log_fd, ends[1]);
    close(ends[1]);
    if (pid > 0 && has_own_ids(config))
        start_giver(config, pid, ends[0]);
    close(ends[0]);
    for (size_t i = 0; arguments[i] != NULL; i++)
        free(arguments[i]);
    return pid;
}

/*** Children ***/

static void
child_init(struct child *child)
{
    *child = (struct child){
        .job_fd = -1, .output_fd = -1, .report_fd = -1, .market_fd = -1,
        .work_fd = -1, .pidfd = -1, .status_fd = -1, .owner_fd = -1,
        .queue_fd = -1,
    };
}

void
child_close(struct child *child)
{
    /* The zygote kills a child whose status socket is let go. */
    int *const fds[] = {
        &child->job_fd, &child->output_fd, &child->report_fd,
        &child->market_fd, &child->work_fd, &child->pidfd, &child->status_fd,
        &child->owner_fd, &child->queue_fd,
    };

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] != -1)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

/* Unpack one handed-over child. Returns whether the packet was whole. */
static bool
child_unpack(struct msghdr *message, const unsigned char *bytes,
             struct child *child)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fds[HANDOVER_FD_COUNT];

    child_init(child);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof(fds)))
        return false;
    memcpy(fds, CMSG_DATA(header), sizeof(fds));
    child->job_fd = fds[HANDOVER_JOB];
    child->output_fd = fds[HANDOVER_OUTPUT];
    child->report_fd = fds[HANDOVER_REPORT];
    child->market_fd = fds[HANDOVER_MARKET];
    child->work_fd = fds[HANDOVER_WORK];
    child->pidfd = fds[HANDOVER_PIDFD];
    child->status_fd = fds[HANDOVER_STATUS];
    child->owner_fd = fds[HANDOVER_OWNER];
    child->inherited = (size_t)unpack(bytes, 4) * 1024;
    child->is_early = bytes[4] != 0;
    return true;
}

/*
 * Receive what is in the queue, without waiting. Returns 1 with *child
 * filled, 0 when there is nothing, -1 when nothing can come any more.
 */
static int
receive(int queue_fd, struct child *child)
{
    unsigned char bytes[HANDOVER_BYTES];
    union {
        char space[CMSG_SPACE(sizeof(int[HANDOVER_FD_COUNT]))];
        struct cmsghdr align;
    } control;
    struct iovec data = {bytes, sizeof(bytes)};
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control.space,
        .msg_controllen = sizeof(control.space),
    };
    ssize_t len = recvmsg(queue_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (len == -1)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (len != HANDOVER_BYTES || !child_unpack(&message, bytes, child))
        return -1;
    return 1;
}

void
ready_drop_early(int queue_fd)
{
    struct child child = {.is_early = true};

    while (child.is_early && receive(queue_fd, &child) == 1)
        child_close(&child);
}

void
ready_drain(int queue_fd)
{
    struct child child;

    while (receive(queue_fd, &child) == 1)
        child_close(&child);
}

int
ready_count(int queue_fd)
{
    int bytes = 0;

    (void)ioctl(queue_fd, FIONREAD, &bytes);  /* of all packets together */
    return bytes / HANDOVER_BYTES;
}

/* Make sure that it and the zygote are there: either may have died while the
 * child was in the queue. */
static bool
child_claim(const struct child *child)
{
    const int fds[] = {child->job_fd, child->output_fd, child->report_fd};
    struct pollfd ended[] = {{child->pidfd, POLLIN, 0},
                             {child->status_fd, 0, 0}};

    if (poll(ended, 2, 0) != 0)
        return false;
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fcntl(fds[i], F_SETFL, O_NONBLOCK) == -1)
            return false;
    return true;
}

void
child_taken(const struct child *child)
{
    static const char taken = STATUS_TAKEN;

    /* A zygote that is gone is heard of as the run's end. */
    (void)!send(child->status_fd, &taken, 1, MSG_NOSIGNAL);
}

static enum ready_outcome
wait_for_child(int queue_fd, struct pollfd client, int wait_ms,
               struct child *child)
{
    int64_t until = now_ms() + wait_ms;

    for (;;) {
        struct pollfd polled[] = {
            {queue_fd, POLLIN, 0},
            {client.fd, client.events & ~POLLIN, 0},
        };
        int64_t left = until - now_ms();

        switch (receive(queue_fd, child)) {
        case 1:
            if (child_claim(child))
                return READY_TAKEN;
            child_close(child);
            continue;
        case -1:
            return READY_FAILED;
        default:
            break;
        }
        if (left <= 0)
            return READY_BUSY;
        if (poll(polled, 2, (int)left) == -1 && errno != EINTR)
            return READY_FAILED;
        if (polled[1].revents != 0)
            return READY_CLIENT_GONE;
    }
}

static enum ready_outcome
start_cold(const struct config *config, struct pollfd client,
           struct child *child)
{
    int ends[2];
    enum ready_outcome outcome;
    pid_t zygote;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
        log_error("cannot make a socket pair: %m");
        return READY_FAILED;
    }
    zygote = ready_start_zygote(config, ends[1], STDERR_FILENO, "",
                                ZYGOTE_ONE_RUN);
    close(ends[1]);
    if (zygote == -1) {
        log_error("cannot fork: %m");
        close(ends[0]);
        return READY_FAILED;
    }
    outcome = wait_for_child(ends[0], client, COLD_START_MS, child);
    if (outcome == READY_TAKEN)
        child->queue_fd = ends[0];
    else
        close(ends[0]);  /* the zygote ends when nobody reads its queue */
    return outcome;
}

enum ready_outcome
ready_take(const struct config *config, int queue_fd, struct pollfd client,
           int wait_ms, struct child *child)
{
    if (queue_fd == -1)
        return start_cold(config, client, child);
    return wait_for_child(queue_fd, client, wait_ms, child);
}

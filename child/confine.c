#include "confine.h"

#include "die.h"
#include "filter.h"
#include "handover.h"
#include "leaf.h"
#include "root.h"
#include "title.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int zygote_pid_namespace = -1, zygote_user_namespace = -1;

/* The network namespaces of the slots, and where the zygote itself is. -1:
 * there is none; a child then makes its own. */
static int *networks, network_count, zygote_network = -1;

static const char *const layer_names[] = {
    [LAYER_USER] = "user", [LAYER_ROOT] = "root", [LAYER_PID] = "pid",
    [LAYER_NETWORK] = "network", [LAYER_IPC] = "ipc",
    [LAYER_LIMITS] = "limits", [LAYER_DESCRIPTORS] = "descriptors",
    [LAYER_CAPABILITIES] = "capabilities", [LAYER_LANDLOCK] = "landlock",
    [LAYER_DUMPABLE] = "dumpable", [LAYER_SECCOMP] = "seccomp",
    [LAYER_CGROUP] = "cgroup",
};

/* What may be left out: another layer stands behind each. */
#ifdef TEST_LAYERS
enum { OPTIONAL = ~0 };
#else
enum {
    OPTIONAL = 1 << LAYER_NETWORK | 1 << LAYER_IPC | 1 << LAYER_LANDLOCK
};
#endif

const char *
confine_layer_name(enum layer layer)
{
    return layer_names[layer];
}

void
confine_leave_out(struct limits *limits, const char *name)
{
    for (int i = 0; i < LAYER_COUNT; i++) {
        if (strcmp(name, layer_names[i]) == 0 && (OPTIONAL & 1 << i)) {
            limits->without |= 1U << i;
            return;
        }
    }
    die("isolation: %s cannot be left out", name);
}

static int
landlock_abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
                        LANDLOCK_CREATE_RULESET_VERSION);
}

bool
confine_wants(const struct limits *limits, enum layer layer)
{
    if ((layer == LAYER_LANDLOCK && landlock_abi() < 1) ||
        (layer == LAYER_CGROUP && !leaf_is_open()))
        return false;
    return !(limits->without & 1U << layer);
}

/*** Small steps that both halves take ***/

/*
 * Enter a new user namespace in which `outside` is INSIDE_ID and nobody else
 * exists. self is /proc/self, opened while the process could still see it.
 */
static void
enter_user_namespace(int flags, int self, unsigned int uid, unsigned int gid)
{
    char map[64];

    if (unshare(CLONE_NEWUSER | flags) == -1)
        die("cannot create a user namespace: %m (is it allowed here? see "
            "kernel.unprivileged_userns_clone, user.max_user_namespaces and "
            "AppArmor)");
    write_file(self, "setgroups", "deny");
    snprintf(map, sizeof(map), "%d %u 1", INSIDE_ID, uid);
    write_file(self, "uid_map", map);
    snprintf(map, sizeof(map), "%d %u 1", INSIDE_ID, gid);
    write_file(self, "gid_map", map);
}

/* The same with the ids of the runs beside, which only root can give. */
static void
enter_with_ids(int flags)
{
    char byte = 0;

    if (unshare(CLONE_NEWUSER | flags) == -1)
        die("cannot create a user namespace: %m");
    if (write(ZYGOTE_IDS_FD, &byte, 1) != 1 ||
        read(ZYGOTE_IDS_FD, &byte, 1) != 1)
        die("cannot have the ids that run_ids names");
}

static int
open_self(void)
{
    int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (self == -1)
        die("cannot open /proc/self: %m");
    return self;
}

/*** Once, in the zygote ***/

/*
 * Why: no secret and no whim of the host's environment reaches a program.
 * One BLAS thread: threads and fork do not mix, and the zygote forks.
 */
static void
setup_environment(void)
{
    static const char *const environment[][2] = {
        {"PATH", "/usr/local/bin:/usr/bin:/bin"},
        {"HOME", "/tmp"},
        {"TMPDIR", "/tmp"},
        {"LANG", "C.UTF-8"},
        {"TZ", "UTC"},
        {"PYTHONUNBUFFERED", "1"},
        {"MPLBACKEND", "Agg"},
        {"MPLCONFIGDIR", INSIDE_MATPLOTLIB},
        {"OPENBLAS_NUM_THREADS", "1"},
        {"OMP_NUM_THREADS", "1"},
        {"MKL_NUM_THREADS", "1"},
        {"NUMEXPR_NUM_THREADS", "1"},
        {"NUMEXPR_MAX_THREADS", "1"},
        {"JOBLIB_MULTIPROCESSING", "0"},  /* loky needs more of /proc */
    };

    clearenv();
    for (size_t i = 0; i < sizeof(environment) / sizeof(environment[0]); i++)
        if (setenv(environment[i][0], environment[i][1], 1) == -1)
            die("cannot set the environment: %m");
}

/*** The zygote, as a whole ***/

/*
 * Why: the zygote is the first process of a pid namespace, so that its death
 * ends every run, whatever else fails; and it may return to that namespace
 * after each fork, since its own user namespace owns it.
 * The first process has to be forked: the caller goes on as that, and what
 * called stays behind as its keeper, which ends with it.
 */
static void
enter_pid_namespace(int argc, char **argv)
{
    struct pollfd keeper_gone;
    int ends[2], status;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) == -1)
        die("cannot make a pipe: %m");
    pid = fork();
    if (pid == -1)
        die("cannot fork: %m");
    if (pid > 0) {
        title_init(argc, argv);
        title_set("sandbox-child: keeper");
        close_range(STDERR_FILENO + 1, (unsigned int)ends[1] - 1, 0);
        close_range((unsigned int)ends[1] + 1, ~0U, 0);
        while (waitpid(pid, &status, 0) == -1)
            continue;
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SANDBOX);
    }
    /* The keeper holds the writing end; its end is there to be looked at,
     * since it may have died before we asked to die with it. */
    close(ends[1]);
    keeper_gone = (struct pollfd){ends[0], 0, 0};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
        die("cannot ask to die with the keeper: %m");
    if (poll(&keeper_gone, 1, 0) != 0)
        die("the keeper is gone");
    close(ends[0]);
}

/*
 * Why: the memory of a program belongs to the user namespace that it was
 * exec'ed in. Exec'ed in this one, it can be measured by the worker, which
 * owns the namespace, even when it is not dumpable; and nobody below can.
 * The capabilities over the namespace come along as ambient ones.
 */
static _Noreturn void
exec_again(int argc, char **argv)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    char **arguments = calloc((size_t)argc + 2, sizeof(*arguments));
    char mark[] = CONFINE_AGAIN;

    if (arguments == NULL || syscall(SYS_capget, &header, sets) == -1)
        die("cannot read the capabilities: %m");
    for (int i = 0; i < 2; i++)
        sets[i].inheritable = sets[i].permitted;
    if (syscall(SYS_capset, &header, sets) == -1)
        die("cannot keep the capabilities: %m");
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (sets[i / 32].permitted & 1U << i % 32 &&
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) == -1)
            die("cannot keep capability %d: %m", i);
    memcpy(arguments, argv, (size_t)argc * sizeof(*arguments));
    arguments[argc] = mark;
    /* What is bound before the fork need not be in each child. */
    if (setenv("LD_BIND_NOW", "1", 1) == -1)
        die("cannot set the environment: %m");
    execv("/proc/self/exe", arguments);
    die("cannot start again: %m");
}

void
confine_namespaces(int argc, char **argv, bool own_ids)
{
    const int flags = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWPID;
    unsigned int uid = geteuid(), gid = getegid();
    int self;

    if (strcmp(argv[argc - 1], CONFINE_AGAIN) == 0)
        return;
    /* RLIMIT_NPROC does not bind kuid 0, not even inside a user namespace. */
    if (uid == 0)
        die("must not run as root");
    self = open_self();
    if (own_ids)
        enter_with_ids(flags);
    else
        enter_user_namespace(flags, self, uid, gid);
    close(self);
    close(ZYGOTE_IDS_FD);
    enter_pid_namespace(argc, argv);
    exec_again(argc, argv);
}

/*
 * A network namespace takes the kernel longer to make than all else of a
 * child together. So each slot keeps one, for run after run; they are all
 * made by this process, which needs one of its own to come back to. It is no
 * layer, only a saving: where it fails, each child makes its own.
 */
static void
start_networks(int slots)
{
    if (unshare(CLONE_NEWNET) == -1)
        return;
    zygote_network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    networks = malloc((size_t)slots * sizeof(*networks));
    if (zygote_network == -1 || networks == NULL)
        die("cannot keep network namespaces: %m");
    network_count = slots;
    for (int i = 0; i < slots; i++)
        networks[i] = -1;
}

static void
make_network(int slot)
{
    if (unshare(CLONE_NEWNET) == -1)
        return;
    networks[slot] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (setns(zygote_network, CLONE_NEWNET) == -1)
        die("cannot return to the network namespace: %m");
}

void
confine_zygote(const struct sources *sources, const struct limits *limits,
               const char *cgroup, int slots)
{
    int work_fd;

    if (cgroup != NULL)
        leaf_start(cgroup, limits, slots);
    if (sethostname("sandbox", 7) == -1)
        die("cannot set the host name: %m");
    root_enter(sources);
    /* Libraries want a place for temporary files while they are loaded. Each
     * run covers it with its own. */
    work_fd = root_work_open(limits->work_size, limits->work_inodes,
                             INSIDE_ID);
    root_work_mount(work_fd);
    close(work_fd);
    setup_environment();
    zygote_pid_namespace = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    zygote_user_namespace = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    if (zygote_pid_namespace == -1 || zygote_user_namespace == -1)
        die("cannot open the zygote's namespaces: %m");
    if (confine_wants(limits, LAYER_NETWORK))
        start_networks(slots);
    if (confine_wants(limits, LAYER_SECCOMP))
        filter_start(confine_wants(limits, LAYER_NETWORK));
}

unsigned int
confine_id(const struct limits *limits, int slot)
{
    return limits->own_ids ? INSIDE_RUN_IDS + (unsigned int)slot : INSIDE_ID;
}

static bool
is_network(int fd)
{
    for (int i = 0; i < network_count; i++)
        if (networks[i] == fd)
            return true;
    return false;
}

bool
confine_holds(int fd)
{
    return fd == zygote_pid_namespace || fd == zygote_user_namespace ||
           fd == zygote_network || fd == leaf_fd() || is_network(fd);
}

int
confine_user_namespace(void)
{
    return zygote_user_namespace;
}

/*** Around each fork ***/

/*
 * Why: the death of its first process kills all of a pid namespace, so no
 * run leaves a process behind; and a program sees no process but its own.
 * Why here, and not by clone(): glibc's fork keeps its own books (thread id,
 * locks, handlers) that a bare clone would leave wrong.
 */
void
confine_before_fork(const struct limits *limits, int slot)
{
    if (confine_wants(limits, LAYER_NETWORK) && slot < network_count &&
        networks[slot] == -1)
        make_network(slot);
    if (unshare(CLONE_NEWPID) == -1)
        die("cannot create a pid namespace: %m");
}

void
confine_after_fork(void)
{
    if (setns(zygote_pid_namespace, CLONE_NEWPID) == -1)
        die("cannot return to the pid namespace: %m");
}

/*** In the child ***/

/*
 * Why: System V objects and mounts of its own: nothing that two runs could
 * meet in. And no name of a cgroup outside.
 * Why here: still owned by the zygote's user namespace, so that the run's own
 * (below) owns none of them and can change none.
 */
static void
setup_namespaces(const struct limits *limits)
{
    int flags = CLONE_NEWNS | CLONE_NEWCGROUP |
                (confine_wants(limits, LAYER_IPC) ? CLONE_NEWIPC : 0);

    if (unshare(flags) == -1)
        die("cannot create mount, cgroup and ipc namespaces: %m");
}

/* Whether no socket is left in this process's network namespace: the list has
 * its heading alone. Such as are passed around in a circle outlive a run. */
static bool
is_network_empty(int self)
{
    char text[256];
    int fd = openat(self, "net/unix", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd != -1)
        close(fd);
    if (len <= 0)
        return false;
    text[len] = '\0';
    return strchr(text, '\n') == text + len - 1;
}

/*
 * Why: no network, loopback included, and no abstract socket of another's.
 * The slot's namespace has been another run's, which is dead: nobody had the
 * power to change it, so sockets are all that could be left in it.
 */
static void
setup_network(int slot, int self)
{
    if (slot < network_count && networks[slot] != -1 &&
        setns(networks[slot], CLONE_NEWNET) == 0 && is_network_empty(self))
        return;
    if (unshare(CLONE_NEWNET) == -1)
        die("cannot create a network namespace: %m");
}

/*
 * Why: what the kernel counts by account (descriptors in flight, pipes, epoll)
 * is then each run's own, and none of it the service's.
 * Why here: its files must be its own. No capability is lost by it, since no
 * id involved is root's; the last line makes /proc/self ours again.
 */
static void
setup_ids(unsigned int id)
{
    if (setresgid(id, id, id) == -1 || setresuid(id, id, id) == -1)
        die("cannot become %u: %m", id);
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1)
        die("cannot have /proc/self: %m");
}

/* At most so much, or the less that we ourselves were given. */
static void
limit_resource(int resource, rlim_t most)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) == -1)
        die("cannot read limit %d: %m", resource);
    if (most > limit.rlim_max)
        most = limit.rlim_max;
    limit = (struct rlimit){most, most};
    if (setrlimit(resource, &limit) == -1)
        die("cannot set limit %d: %m", resource);
}

static size_t
mapped_bytes(int self)
{
    char text[64] = "";
    int fd = openat(self, "statm", O_RDONLY | O_CLOEXEC);

    if (fd == -1 || read(fd, text, sizeof(text) - 1) <= 0)
        die("cannot read /proc/self/statm: %m");
    close(fd);
    return strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * Why: bounds for each process of the run; its cgroup and the worker's watchdog
 * bound their sum. RLIMIT_NPROC counts in the run's own user namespace.
 */
static void
setup_limits(const struct limits *limits, size_t mapped)
{
    limit_resource(RLIMIT_AS, mapped + limits->memory);
    limit_resource(RLIMIT_NPROC, limits->processes);
    limit_resource(RLIMIT_NOFILE, 256);
    limit_resource(RLIMIT_FSIZE, limits->work_size);
    limit_resource(RLIMIT_STACK, 8 << 20);
    limit_resource(RLIMIT_MSGQUEUE, 0);
    limit_resource(RLIMIT_MEMLOCK, 0);
    limit_resource(RLIMIT_SIGPENDING, 256);
    /* 1, not 0: a core handler behind a pipe ignores 0 (core(5)). */
    limit_resource(RLIMIT_CORE, 1);
}

/*
 * Why: what is not open cannot be read, written or passed on.
 * In two steps, since a descriptor may stand where another has to go.
 */
static void
setup_descriptors(const int *fds, bool close_others)
{
    int above[CHILD_FD_COUNT];

    for (int i = 0; i < CHILD_FD_COUNT; i++) {
        above[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, CHILD_FD_COUNT);
        if (above[i] == -1)
            die("cannot duplicate a descriptor: %m");
    }
    for (int i = 0; i < CHILD_FD_COUNT; i++)
        if (dup3(above[i], i, i < CHILD_REPORT ? 0 : O_CLOEXEC) == -1)
            die("cannot move a descriptor: %m");
    if (close_others && close_range(CHILD_FD_COUNT, ~0U, 0) == -1)
        die("cannot close descriptors: %m");
}

/*
 * Why: a capability is power even over one's own namespace; with none, and
 * no way to gain any by exec, the namespaces above can only be lived in.
 */
static void
setup_capabilities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    int next = 0;

    while (prctl(PR_CAPBSET_DROP, next, 0, 0, 0) == 0)
        next++;
    if (errno != EINVAL || next == 0)  /* up to the last that there is */
        die("cannot drop capability %d: %m", next);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 ||
        syscall(SYS_capset, &header, none) == -1)
        die("cannot drop the capabilities: %m");
}

/* The rights of Landlock's ABIs, newer than the headers of Debian 12. */
enum {
    LANDLOCK_READ = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                    LANDLOCK_ACCESS_FS_READ_DIR,
    LANDLOCK_FS_1 = (1 << 13) - 1,
    LANDLOCK_FS_REFER = 1 << 13,      /* ABI 2 */
    LANDLOCK_FS_TRUNCATE = 1 << 14,   /* ABI 3 */
    LANDLOCK_FS_IOCTL_DEV = 1 << 15,  /* ABI 5 */
    LANDLOCK_NET_TCP = 3,             /* ABI 4: bind and connect */
    LANDLOCK_SCOPED = 3               /* ABI 6: abstract sockets, signals */
};

static void
landlock_allow(int ruleset, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = access,
        .parent_fd = open(path, O_PATH | O_CLOEXEC),
    };

    if (rule.parent_fd == -1 ||
        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
                &rule, 0) == -1)
        die("cannot allow %s in Landlock: %m", path);
    close(rule.parent_fd);
}

/*
 * Why: a second opinion on files, behind the mounts: reading everywhere below
 * this root, writing in the run's own directories alone; no TCP, and signals
 * and abstract sockets within the run, where the kernel knows of them.
 * Why here: needs no_new_privs, and the mounts that it names. Where the kernel
 * has no Landlock the mounts hold by themselves.
 */
static void
setup_landlock(void)
{
    static const char *const own[] = {
        INSIDE_WORK, "/tmp", "/dev/shm", INSIDE_MATPLOTLIB,
        INSIDE_BOX "/" FIGURE_DIRECTORY,
    };
    int abi = landlock_abi();
    struct {
        uint64_t fs, net, scoped;
    } rights = {LANDLOCK_FS_1, LANDLOCK_NET_TCP, LANDLOCK_SCOPED};
    size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    int ruleset;

    rights.fs |= (abi >= 2 ? LANDLOCK_FS_REFER : 0) |
                 (abi >= 3 ? LANDLOCK_FS_TRUNCATE : 0) |
                 (abi >= 5 ? LANDLOCK_FS_IOCTL_DEV : 0);
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &rights, size, 0);
    if (ruleset == -1)
        die("cannot make a Landlock ruleset: %m");
    landlock_allow(ruleset, "/", LANDLOCK_READ);
    landlock_allow(ruleset, "/dev", rights.fs &
                   (LANDLOCK_READ | LANDLOCK_ACCESS_FS_WRITE_FILE |
                    LANDLOCK_FS_TRUNCATE | LANDLOCK_FS_IOCTL_DEV));
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        landlock_allow(ruleset, own[i], rights.fs);
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) == -1)
        die("cannot enter the Landlock ruleset: %m");
    close(ruleset);
}

/*
 * Why: no process of the same account, inside or out, can look into this one
 * or write to it through /proc; it leaves no core.
 */
static void
setup_dumpable(void)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
        die("cannot become undumpable: %m");
}

void
confine_enter(const struct limits *limits, int slot, int work_fd,
              const int *fds)
{
    int self = open_self();
    size_t mapped;

    /* Why first: what all of the run takes is bounded from here on. */
    if (confine_wants(limits, LAYER_CGROUP))
        leaf_enter(slot);
    if (limits->own_ids)
        setup_ids(confine_id(limits, slot));
    setup_namespaces(limits);
    if (confine_wants(limits, LAYER_NETWORK))
        setup_network(slot, self);
    root_work_mount(work_fd);
    root_proc_mount();
    enter_user_namespace(0, self, geteuid(), getegid());
    mapped = mapped_bytes(self);
    setup_descriptors(fds, confine_wants(limits, LAYER_DESCRIPTORS));
    die_to(CHILD_REPORT, REPORT_FAILED);
    /* Now: the zygote has more descriptors than a run may, with many runs. */
    if (confine_wants(limits, LAYER_LIMITS))
        setup_limits(limits, mapped);
    umask(022);
    if (setsid() == -1 || chdir(INSIDE_WORK) == -1)
        die("cannot start a session in " INSIDE_WORK ": %m");
    if (confine_wants(limits, LAYER_CAPABILITIES))
        setup_capabilities();
    /* After the last change of credentials, since each one clears it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
        die("cannot ask to die with the zygote: %m");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
        die("cannot set no_new_privs: %m");
    if (confine_wants(limits, LAYER_LANDLOCK))
        setup_landlock();
    if (confine_wants(limits, LAYER_DUMPABLE))
        setup_dumpable();
    if (confine_wants(limits, LAYER_SECCOMP))
        filter_finish();
}

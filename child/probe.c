#include "probe.h"

#include "die.h"
#include "handover.h"
#include "leaf.h"
#include "root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The zygote's own, to tell a run's from; read before the probe is forked. */
static char zygote_net[64], zygote_ipc[64];

static void
read_namespace(const char *name, char *link, size_t size)
{
    char path[64];
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    len = readlink(path, link, size - 1);
    link[len > 0 ? len : 0] = '\0';
}

static bool
is_other_namespace(const char *name, const char *zygotes)
{
    char link[64];

    read_namespace(name, link, sizeof(link));
    return strcmp(link, zygotes) != 0;
}

/*** One try a layer: true when what must be refused was refused ***/

static bool
try_user(void)
{
    return getuid() != 0 && geteuid() != 0 && setuid(0) == -1 &&
           setgid(0) == -1;
}

static bool
try_root(void)
{
    static const char *const hidden[] = {
        "/etc/shadow", "/etc/hostname", "/root", "/home", "/sys", "/boot",
        "/var/log", "/proc/1/root/etc/shadow",
    };

    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (access(hidden[i], F_OK) == 0)
            return false;
    return open("/x", O_WRONLY | O_CREAT, 0600) == -1 &&
           open("/usr/x", O_WRONLY | O_CREAT, 0600) == -1 &&
           mount("x", "/tmp", "tmpfs", 0, NULL) == -1;
}

static bool
try_pid(void)
{
    return getpid() == 1 && getppid() == 0 && kill(2, 0) == -1 &&
           errno == ESRCH;
}

static bool
try_network(void)
{
    return is_other_namespace("net", zygote_net);
}

static bool
try_ipc(void)
{
    return is_other_namespace("ipc", zygote_ipc);
}

static bool
try_limits(void)
{
    struct rlimit files, core, raised = {1 << 20, 1 << 20};

    return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max <= 256 &&
           getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max <= 1 &&
           setrlimit(RLIMIT_NOFILE, &raised) == -1;
}

static bool
try_descriptors(void)
{
    for (int fd = CHILD_FD_COUNT; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) != -1)
            return false;
    return true;
}

static bool
try_capabilities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];

    if (syscall(SYS_capget, &header, sets) == -1 ||
        prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0 ||
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return false;
    return (sets[0].effective | sets[1].effective | sets[0].permitted |
            sets[1].permitted | sets[0].inheritable | sets[1].inheritable)
           == 0;
}

/* Its mode allows it, and it is a mount of the run's own: only Landlock
 * speaks against a file here. */
static bool
try_landlock(void)
{
    return open(INSIDE_BOX "/x", O_WRONLY | O_CREAT, 0600) == -1 &&
           errno == EACCES;
}

static bool
try_dumpable(void)
{
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           open("/proc/self/mem", O_RDWR) == -1;
}

/* Each of these an unprivileged process may do without a filter. */
static bool
try_seccomp(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EAFNOSUPPORT &&
           syscall(SYS_unshare, CLONE_NEWUSER) == -1 && errno == EPERM &&
           syscall(SYS_memfd_create, "x", 0) == -1 && errno == EPERM &&
           syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS;
}

/* That its leaf bounds it is tried from outside: trial_is_ended(). An empty
 * /proc (root_proc_mount) tells nothing of where that is. */
static bool
try_cgroup(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[256];
    bool is_root = file == NULL && errno == ENOENT;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        is_root = is_root || strcmp(line, "0::/\n") == 0;
    if (file != NULL)
        fclose(file);
    return is_root;
}

static const struct {
    bool (*holds)(void);
    const char *proof;  /* what was refused */
    const char *mend;   /* what to look at on the machine */
} tries[] = {
    [LAYER_USER] = {try_user, "setuid(0) is refused; ids are not root's",
        "user namespaces must be allowed: kernel.unprivileged_userns_clone, "
        "user.max_user_namespaces, AppArmor"},
    [LAYER_ROOT] = {try_root, "the host's files are not there; nothing can be "
        "written or mounted", "mounts inside a user namespace must be "
        "allowed"},
    [LAYER_PID] = {try_pid, "no process but its own is visible",
        "pid namespaces must be allowed"},
    [LAYER_NETWORK] = {try_network, "a network of its own, with nothing in it",
        "network namespaces must be allowed: user.max_net_namespaces"},
    [LAYER_IPC] = {try_ipc, "System V objects of its own",
        "ipc namespaces must be allowed: user.max_ipc_namespaces"},
    [LAYER_LIMITS] = {try_limits, "the limits are set and cannot be raised",
        "-"},
    [LAYER_DESCRIPTORS] = {try_descriptors, "no descriptor above the five is "
        "open", "-"},
    [LAYER_CAPABILITIES] = {try_capabilities, "all sets are empty; "
        "no_new_privs is set", "-"},
    [LAYER_LANDLOCK] = {try_landlock, "writing outside its directories is "
        "refused where modes allow it", "a kernel with Landlock among its "
        "active security modules (lsm=)"},
    [LAYER_DUMPABLE] = {try_dumpable, "/proc/self/mem cannot be opened", "-"},
    [LAYER_SECCOMP] = {try_seccomp, "socket(AF_INET), unshare, memfd_create "
        "and clone3 are refused", "a kernel with seccomp filters"},
    [LAYER_CGROUP] = {try_cgroup, "a process that took more memory than its "
        "leaf may was ended", "the service needs a cgroup of its own "
        "(Delegate=yes); till then a run's processes are measured together "
        "ten times a second"},
};

/*** The probe, and who asks it ***/

/* In the confined process: one letter a layer, then the end. */
static _Noreturn void
answer(void)
{
    char letters[LAYER_COUNT + 1];

    for (int i = 0; i < LAYER_COUNT; i++)
        letters[i] = tries[i].holds() ? 'y' : 'n';
    letters[LAYER_COUNT] = '\n';
    _exit(write(CHILD_REPORT, letters, sizeof(letters)) != sizeof(letters));
}

/* Fork and confine it; its answer in letters, or die with its words. */
static void
ask(const struct limits *limits, char *letters, size_t size)
{
    int work_fd = root_work_open(limits->work_size, limits->work_inodes,
                                 confine_id(limits, 0));
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int ends[2], status;
    ssize_t len;
    pid_t pid;

    if (null == -1 || pipe2(ends, O_CLOEXEC) == -1)
        die("cannot set the probe up: %m");
    confine_before_fork(limits, 0);
    pid = fork();
    if (pid == 0) {
        const int fds[CHILD_FD_COUNT] = {null, null, null, ends[1], null};

        die_to(ends[1], REPORT_FAILED);
        confine_enter(limits, 0, work_fd, fds);
        answer();
    }
    confine_after_fork();
    close(ends[1]);
    close(null);
    close(work_fd);
    len = pid == -1 ? -1 : read(ends[0], letters, size - 1);
    close(ends[0]);
    letters[len > 0 ? len : 0] = '\0';
    while (pid > 0 && waitpid(pid, &status, 0) == -1)
        continue;
    if (strncmp(letters, REPORT_FAILED, strlen(REPORT_FAILED)) == 0)
        die("%.*s", (int)strcspn(letters + strlen(REPORT_FAILED), "\n"),
            letters + strlen(REPORT_FAILED));
    if (strlen(letters) != LAYER_COUNT + 1)
        die("the probe of the layers ended without an answer");
}

/* Does the kernel end who takes more than a leaf may have? */
static bool
trial_is_ended(void)
{
    unsigned long before = leaf_kills(LEAF_TRIAL);
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        size_t size = 4 * LEAF_TRIAL_BYTES;
        char *memory = malloc(size);

        leaf_enter(LEAF_TRIAL);
        for (size_t at = 0; memory != NULL && at < size; at += 4096)
            ((volatile char *)memory)[at] = 1;
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) == -1)
        continue;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
           leaf_kills(LEAF_TRIAL) > before;
}

static void
show_layer(enum layer layer, bool holds, bool is_wanted)
{
    printf("# %-13s %-9s %s\n", confine_layer_name(layer),
           holds ? "yes" : is_wanted ? "NO" : "no",
           holds ? tries[layer].proof : tries[layer].mend);
}

bool
probe_layers(const struct limits *limits, bool show)
{
    char letters[512];
    bool all = true;

    read_namespace("net", zygote_net, sizeof(zygote_net));
    read_namespace("ipc", zygote_ipc, sizeof(zygote_ipc));
    ask(limits, letters, sizeof(letters));
    if (leaf_is_open() && !trial_is_ended())
        letters[LAYER_CGROUP] = 'n';
    if (show)
        printf("#\n# layer         in force  proved by, or what to change\n");
    for (int i = 0; i < LAYER_COUNT; i++) {
        bool is_wanted = confine_wants(limits, (enum layer)i);
        /* ask() does not return without all of them.
         * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        bool holds = letters[i] == 'y' &&
                     (is_wanted || i != LAYER_CGROUP);

        if (show)
            show_layer((enum layer)i, holds, is_wanted);
        else if (is_wanted && !holds)
            die("isolation: the layer %s does not hold: %s",
                confine_layer_name((enum layer)i), tries[i].mend);
        all = all && (holds || !is_wanted);
    }
    fflush(stdout);
    return all;
}

void
probe_say_in_force(const struct limits *limits)
{
    printf("%s", PROBE_IN_FORCE);
    for (int i = 0; i < LAYER_COUNT; i++)
        if (confine_wants(limits, (enum layer)i))
            printf(" %s", confine_layer_name((enum layer)i));
    printf("\n");
    fflush(stdout);
}

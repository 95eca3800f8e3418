#include "confine.h"

#include "die.h"
#include "handover.h"
#include "title.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Who a program is inside; any id but root's would do. */
enum { INSIDE_ID = 1000 };

/* A place for the new root while it is put together; any directory would do. */
#define STAGE "/tmp"

/* Where the prebuilt list of fonts stands. */
#define FONT_LISTS "/opt/matplotlib"

#define PROC_FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static int zygote_pid_namespace = -1;

/*** Small steps that both halves take ***/

static void
write_file(int directory, const char *name, const char *text)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);

    if (fd == -1 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        die("cannot write %s: %m", name);
    close(fd);
}

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
            "kernel.unprivileged_userns_clone and user.max_user_namespaces)");
    write_file(self, "setgroups", "deny");
    snprintf(map, sizeof(map), "%d %u 1", INSIDE_ID, uid);
    write_file(self, "uid_map", map);
    snprintf(map, sizeof(map), "%d %u 1", INSIDE_ID, gid);
    write_file(self, "gid_map", map);
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

/* What of the host a program may read. Absent ones are left out. */
static const char *const visible[] = {
    "/usr",
    "/bin", "/lib", "/lib64", "/sbin",
    "/etc/alternatives",   /* Debian's choice of BLAS is a link into it */
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/matplotlibrc",
    "/etc/mime.types",
    "/etc/python3",
    "/etc/python3.11", "/etc/python3.13",
    "/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",
};

enum {
    VISIBLE_COUNT = sizeof(visible) / sizeof(visible[0]),
    EXTRA_MAX = 64
};

/* One piece of the new root: a copy of a mount, not attached yet. */
struct piece {
    int tree_fd;
    char path[4096];     /* where it will stand */
    char link[4096];     /* what it points to, when it is a symbolic link */
    bool is_directory;
};

/*
 * Take hold of source, to stand at path in the new root. Returns false when
 * there is no such file. Must come before STAGE is covered, which may hold it.
 */
static bool
piece_take(struct piece *piece, const char *source, const char *path)
{
    struct mount_attr attributes = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
    };
    struct stat status;

    if (lstat(source, &status) == -1) {
        if (errno != ENOENT)
            die("cannot look at %s: %m", source);
        return false;
    }
    memset(piece, 0, sizeof(*piece));
    snprintf(piece->path, sizeof(piece->path), "%s", path);
    if (S_ISLNK(status.st_mode)) {
        if (readlink(source, piece->link, sizeof(piece->link) - 1) == -1)
            die("cannot read the link %s: %m", source);
        return true;
    }
    piece->is_directory = S_ISDIR(status.st_mode);
    if (!S_ISCHR(status.st_mode))
        attributes.attr_set |= MOUNT_ATTR_NODEV;
    piece->tree_fd = open_tree(AT_FDCWD, source,
                               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
                                   AT_RECURSIVE);
    if (piece->tree_fd == -1)
        die("cannot copy the mount of %s: %m", source);
    if (mount_setattr(piece->tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE,
                      &attributes, sizeof(attributes)) == -1)
        die("cannot make %s read-only: %m", source);
    return true;
}

static void
make_parents(char *path)
{
    for (char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        if (*path != '\0' && mkdir(path, 0755) == -1 && errno != EEXIST)
            die("cannot make %s: %m", path);
        *slash = '/';
    }
}

static void
piece_place(struct piece *piece)
{
    char *path = piece->path + 1;  /* relative to the stage */

    make_parents(path);
    if (piece->link[0] != '\0') {
        if (symlink(piece->link, path) == -1)
            die("cannot link %s: %m", path);
        return;
    }
    if (piece->is_directory) {
        if (mkdir(path, 0755) == -1 && errno != EEXIST)
            die("cannot make %s: %m", path);
    } else if (mknod(path, S_IFREG | 0444, 0) == -1) {
        die("cannot make %s: %m", path);
    }
    if (move_mount(piece->tree_fd, "", AT_FDCWD, path,
                   MOVE_MOUNT_F_EMPTY_PATH) == -1)
        die("cannot mount %s: %m", path);
    close(piece->tree_fd);
}

/* Whether every run has something of its own at that path. */
static bool
is_covered(const char *path)
{
    static const char *const covered[] = {
        "/dev", "/proc", "/run", "/tmp", "/var/tmp", INSIDE_WORK,
    };

    for (size_t i = 0; i < sizeof(covered) / sizeof(covered[0]); i++) {
        size_t len = strlen(covered[i]);

        if (strncmp(path, covered[i], len) == 0 &&
            (path[len] == '/' || path[len] == '\0'))
            return true;
    }
    return false;
}

/* The empty directories, links and small files that a root needs. */
static void
make_skeleton(void)
{
    static const char *const directories[] = {
        "dev", "dev/shm", "etc", "mnt", "opt", "proc", "run", "run/box",
        "tmp", "var", "work",
    };
    static const char *const links[][2] = {
        {"/proc/self/fd", "dev/fd"},
        {"/proc/self/fd/0", "dev/stdin"},
        {"/proc/self/fd/1", "dev/stdout"},
        {"/proc/self/fd/2", "dev/stderr"},
        {"/tmp", "var/tmp"},
        {INSIDE_WORK, "mnt/data"},  /* what models call it out of habit */
    };

    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
        if (mkdir(directories[i], 0755) == -1)
            die("cannot make %s: %m", directories[i]);
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        if (symlink(links[i][0], links[i][1]) == -1)
            die("cannot link %s: %m", links[i][1]);
    write_file(AT_FDCWD, "etc/passwd",
               "user:x:1000:1000:user:/tmp:/bin/sh\n");
    write_file(AT_FDCWD, "etc/group", "user:x:1000:\n");
    write_file(AT_FDCWD, "etc/nsswitch.conf", "passwd: files\n"
               "group: files\nhosts: files\n");
    write_file(AT_FDCWD, "etc/hosts", "127.0.0.1 localhost\n");
}

/*
 * Why: a file that is not in the tree cannot be read, whatever its mode; nor
 * can a unix socket of the host be reached by its path.
 * Why here: once, since every run sees the same; each run then gets a copy of
 * this mount namespace, which costs tens of microseconds.
 */
static void
setup_root(const struct sources *sources)
{
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    struct piece *pieces = calloc(VISIBLE_COUNT + EXTRA_MAX, sizeof(*pieces));
    size_t count = 0;

    if (pieces == NULL)
        die("out of memory");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
        die("cannot make the mounts private: %m");

    for (size_t i = 0; i < VISIBLE_COUNT; i++)
        count += piece_take(&pieces[count], visible[i], visible[i]);
    if (!piece_take(&pieces[count++], sources->package,
                    INSIDE_PYTHON "/sandbox"))
        die("there is no directory %s", sources->package);
    if (sources->matplotlib != NULL)
        count += piece_take(&pieces[count], sources->matplotlib, FONT_LISTS);
    for (char **path = sources->python_path; *path != NULL; path++) {
        if (is_covered(*path))
            die("python_path: %s would be hidden by what a run has of its "
                "own there; choose a directory elsewhere", *path);
        if (count == VISIBLE_COUNT + EXTRA_MAX)
            die("python_path has too many directories");
        if (!piece_take(&pieces[count++], *path, *path))
            die("there is no directory %s (python_path)", *path);
    }

    if (mount("sandbox", STAGE, "tmpfs", MS_NOSUID | MS_NODEV,
              "mode=755,size=1m") == -1 || chdir(STAGE) == -1)
        die("cannot mount a new root: %m");
    make_skeleton();
    for (size_t i = 0; i < count; i++)
        piece_place(&pieces[i]);
    free(pieces);
    /* Kept whole: a run may mount a /proc of its own only where one is fully
     * visible, which it then covers. In some containers there is none. */
    if (mount("proc", "proc", "proc", PROC_FLAGS, NULL) == -1 &&
        mount("/proc", "proc", NULL, MS_BIND | MS_REC, NULL) == -1)
        die("cannot mount /proc: %m");

    /* The old root ends up over the new one and is let go from there; see
     * the notes of pivot_root(2). */
    if (syscall(SYS_pivot_root, ".", ".") == -1)
        die("cannot change the root: %m");
    if (umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
        die("cannot let go of the old root: %m");
    if (mount_setattr(AT_FDCWD, "/", 0, &read_only, sizeof(read_only)) == -1)
        die("cannot make the root read-only: %m");
}

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

/*** The run's own file system ***/

int
confine_work_open(const struct limits *limits)
{
    char size[32], inodes[32];
    int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    int work_fd;

    snprintf(size, sizeof(size), "%zu", limits->work_size);
    snprintf(inodes, sizeof(inodes), "%zu", limits->work_inodes);
    if (context == -1 ||
        fsconfig(context, FSCONFIG_SET_STRING, "size", size, 0) == -1 ||
        fsconfig(context, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) == -1 ||
        fsconfig(context, FSCONFIG_SET_STRING, "mode", "0700", 0) == -1 ||
        fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == -1)
        die("cannot make a tmpfs: %m");
    work_fd = fsmount(context, FSMOUNT_CLOEXEC,
                      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (work_fd == -1)
        die("cannot make a tmpfs: %m");
    close(context);
    return work_fd;
}

static void
bind_work(const char *name, const char *path)
{
    char source[64];

    snprintf(source, sizeof(source), "/run/box/%s", name);
    if (mkdir(source, 0700) == -1 ||
        mount(source, path, NULL, MS_BIND, NULL) == -1)
        die("cannot mount %s: %m", path);
}

/*
 * matplotlib wants a directory that it can write to; what would take it
 * seconds to write there is made beforehand, at the build.
 */
static void
link_font_list(void)
{
    char target[512], name[512];
    static char list[256];  /* found once, in the zygote */
    struct dirent *entry;
    DIR *directory;

    if (list[0] == '\0' && (directory = opendir(FONT_LISTS)) != NULL) {
        while ((entry = readdir(directory)) != NULL)
            if (strncmp(entry->d_name, "fontlist", 8) == 0)
                snprintf(list, sizeof(list), "%s", entry->d_name);
        closedir(directory);
    }
    if (list[0] == '\0')
        return;
    snprintf(target, sizeof(target), "%s/%s", FONT_LISTS, list);
    snprintf(name, sizeof(name), "%s/%s", INSIDE_MATPLOTLIB, list);
    if (symlink(target, name) == -1)
        die("cannot link the list of fonts: %m");
}

/*
 * Why: all that a program can write is this tmpfs: bounded in bytes and
 * files, gone with the run, and in the worker's hands for collecting.
 */
static void
setup_work(int work_fd)
{
    if (move_mount(work_fd, "", AT_FDCWD, "/run/box",
                   MOVE_MOUNT_F_EMPTY_PATH) == -1)
        die("cannot mount the working directory: %m");
    bind_work(WORK_DIRECTORY, INSIDE_WORK);
    bind_work("tmp", "/tmp");
    bind_work("shm", "/dev/shm");
    if (mkdir("/run/box/" FIGURE_DIRECTORY, 0700) == -1 ||
        mkdir(INSIDE_MATPLOTLIB, 0700) == -1)
        die("cannot make a directory: %m");
    link_font_list();
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
enter_pid_namespace(void)
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

void
confine_zygote(const struct sources *sources, const struct limits *limits)
{
    unsigned int uid = geteuid(), gid = getegid();
    int self = open_self(), work_fd;

    /* RLIMIT_NPROC does not bind kuid 0, not even inside a user namespace. */
    if (uid == 0)
        die("must not run as root");
    enter_user_namespace(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWCGROUP |
                             CLONE_NEWPID,
                         self, uid, gid);
    close(self);
    enter_pid_namespace();
    if (sethostname("sandbox", 7) == -1)
        die("cannot set the host name: %m");
    setup_root(sources);
    /* Libraries want a place for temporary files while they are loaded. Each
     * run covers it with its own. */
    work_fd = confine_work_open(limits);
    setup_work(work_fd);
    close(work_fd);
    setup_environment();
    zygote_pid_namespace = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    if (zygote_pid_namespace == -1)
        die("cannot open the pid namespace: %m");
}

/*** Around each fork ***/

/*
 * Why: the death of its first process kills all of a pid namespace, so no
 * run leaves a process behind; and a program sees no process but its own.
 * Why here, and not by clone(): glibc's fork keeps its own books (thread id,
 * locks, handlers) that a bare clone would leave wrong.
 */
void
confine_before_fork(void)
{
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
 * Why: network, abstract sockets, System V objects and mounts of its own:
 * nothing that two runs could meet in.
 * Why here: still owned by the zygote's user namespace, so that the run's own
 * (below) owns none of them and can change none.
 */
static void
setup_namespaces(void)
{
    if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) == -1)
        die("cannot create mount, network and ipc namespaces: %m");
}

/*
 * Why: Python and its libraries look at /proc/self. Where the kernel refuses
 * a new /proc (inside some containers) an empty directory covers the old one:
 * everything works without, and nothing may be seen through it.
 */
static void
setup_proc(void)
{
    if (mount("proc", "/proc", "proc", PROC_FLAGS, "subset=pid") == 0)
        return;
    if (mount("empty", "/proc", "tmpfs", PROC_FLAGS | MS_RDONLY,
              "size=4k") == -1)
        die("cannot cover /proc: %m");
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
 * Why: bounds for each process of the run; the worker's watchdog bounds their
 * sum. RLIMIT_NPROC counts in the run's own user namespace.
 */
static void
setup_limits(const struct limits *limits, int self)
{
    limit_resource(RLIMIT_AS, mapped_bytes(self) + limits->memory);
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
setup_descriptors(const int *fds)
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
    if (close_range(CHILD_FD_COUNT, ~0U, 0) == -1)
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

    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == -1)
            die("cannot drop capability %d: %m", i);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 ||
        syscall(SYS_capset, &header, none) == -1)
        die("cannot drop the capabilities: %m");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
        die("cannot set no_new_privs: %m");
}

void
confine_enter(const struct limits *limits, int work_fd, const int *fds)
{
    unsigned int uid = geteuid(), gid = getegid();
    int self = open_self();

    setup_namespaces();
    setup_work(work_fd);
    setup_proc();
    enter_user_namespace(0, self, uid, gid);
    setup_limits(limits, self);
    setup_descriptors(fds);
    die_to(CHILD_REPORT, REPORT_FAILED);
    umask(022);
    if (setsid() == -1 || chdir(INSIDE_WORK) == -1)
        die("cannot start a session in " INSIDE_WORK ": %m");
    setup_capabilities();
    /* After the last change of credentials, since each one clears it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
        die("cannot ask to die with the zygote: %m");
}

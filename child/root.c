#include "root.h"

#include "die.h"
#include "handover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A place for the new root while it is put together; any directory would do. */
#define STAGE "/tmp"

/* Where the prebuilt list of fonts stands. */
#define FONT_LISTS "/opt/matplotlib"

#define PROC_FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

void
write_file(int directory, const char *name, const char *text)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);

    if (fd == -1 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        die("cannot write %s: %m", name);
    close(fd);
}

/*** The tree for all ***/

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
    /* Not /dev/zero: mapped shared, it is memory that nothing bounds. */
    "/dev/full", "/dev/null", "/dev/random", "/dev/urandom",
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
void
root_enter(const struct sources *sources)
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

/*** A run's own ***/

int
root_work_open(size_t size_bytes, size_t inode_count, unsigned int id)
{
    char size[32], inodes[32], owner[16];
    int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    int work_fd;

    snprintf(size, sizeof(size), "%zu", size_bytes);
    snprintf(inodes, sizeof(inodes), "%zu", inode_count);
    snprintf(owner, sizeof(owner), "%u", id);
    if (context == -1 ||
        fsconfig(context, FSCONFIG_SET_STRING, "size", size, 0) == -1 ||
        fsconfig(context, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) == -1 ||
        fsconfig(context, FSCONFIG_SET_STRING, "uid", owner, 0) == -1 ||
        fsconfig(context, FSCONFIG_SET_STRING, "gid", owner, 0) == -1 ||
        fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) == -1 ||
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

    snprintf(source, sizeof(source), INSIDE_BOX "/%s", name);
    if (mkdir(source, 0755) == -1 ||
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
void
root_work_mount(int work_fd)
{
    if (move_mount(work_fd, "", AT_FDCWD, INSIDE_BOX,
                   MOVE_MOUNT_F_EMPTY_PATH) == -1)
        die("cannot mount the working directory: %m");
    bind_work(WORK_DIRECTORY, INSIDE_WORK);
    bind_work("tmp", "/tmp");
    bind_work("shm", "/dev/shm");
    /* The worker may have another id than the run, and puts its files here. */
    if (chmod(INSIDE_BOX "/" WORK_DIRECTORY, 0777) == -1 ||
        mkdir(INSIDE_BOX "/" FIGURE_DIRECTORY, 0755) == -1 ||
        mkdir(INSIDE_MATPLOTLIB, 0755) == -1)
        die("cannot make a directory: %m");
    link_font_list();
}

/*
 * Why: Python and its libraries look at /proc/self. Where the kernel refuses
 * a new /proc (inside some containers) an empty directory covers the old one:
 * everything works without, and nothing may be seen through it.
 */
void
root_proc_mount(void)
{
    if (mount("proc", "/proc", "proc", PROC_FLAGS, "subset=pid") == 0)
        return;
    if (mount("empty", "/proc", "tmpfs", PROC_FLAGS | MS_RDONLY,
              "size=4k") == -1)
        die("cannot cover /proc: %m");
}

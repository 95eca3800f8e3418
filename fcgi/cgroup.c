#include "cgroup.h"

#include "log.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SERVICE "service"
#define ZYGOTE "zygote."

/* What fits with the names of ours behind it. */
enum { BASE_MAX = CGROUP_PATH_MAX / 2 };

static char base[CGROUP_PATH_MAX];  /* empty: there is no subtree */
static uid_t owner_id;

/*** Small steps ***/

static void
path_of(const char *directory, const char *name, char path[CGROUP_PATH_MAX])
{
    snprintf(path, CGROUP_PATH_MAX, "%.*s/%.*s", BASE_MAX, directory,
             CGROUP_PATH_MAX - BASE_MAX - 2, name);
}

/* Returns 0, or -1 with errno. */
static int
write_to(const char *directory, const char *name, const char *text)
{
    char path[CGROUP_PATH_MAX];
    int fd, rc;

    path_of(directory, name, path);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd == -1)
        return -1;
    rc = write(fd, text, strlen(text)) == -1 ? -1 : 0;
    close(fd);
    return rc;
}

static bool
has_word(const char *directory, const char *name, const char *word)
{
    char path[CGROUP_PATH_MAX], text[256] = " ", wanted[32];
    int fd;
    ssize_t len;

    path_of(directory, name, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    len = fd == -1 ? 0 : read(fd, text + 1, sizeof(text) - 3);
    if (fd != -1)
        close(fd);
    text[len > 0 ? len : 0] = ' ';  /* in place of the newline */
    snprintf(wanted, sizeof(wanted), " %s ", word);
    return strstr(text, wanted) != NULL;
}

/* Let what is below directory be bounded. */
static int
enable(const char *directory)
{
    (void)write_to(directory, "cgroup.subtree_control", "+cpu");
    return write_to(directory, "cgroup.subtree_control", "+memory +pids");
}

/*** Finding the subtree ***/

static bool
find_mount(char path[CGROUP_PATH_MAX])
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent *entry;
    bool found = false;

    while (mounts != NULL && !found && (entry = getmntent(mounts)) != NULL) {
        found = strcmp(entry->mnt_type, "cgroup2") == 0;
        if (found)
            snprintf(path, CGROUP_PATH_MAX, "%s", entry->mnt_dir);
    }
    if (mounts != NULL)
        endmntent(mounts);
    return found;
}

/* This process's own cgroup, if systemd says that it is ours to divide. */
static bool
find_delegated(char path[CGROUP_PATH_MAX])
{
    static const char *const marks[] = {"user.delegate", "trusted.delegate"};
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[CGROUP_PATH_MAX], value[2];
    size_t len;

    if (!find_mount(path)) {
        if (file != NULL)
            fclose(file);
        return false;
    }
    len = strlen(path);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "0::", 3) == 0)
            snprintf(path + len, CGROUP_PATH_MAX - len, "%.*s",
                     (int)strcspn(line + 3, "\n"), line + 3);
    if (file != NULL)
        fclose(file);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (getxattr(path, marks[i], value, sizeof(value)) == 1 &&
            value[0] == '1')
            return true;
    return false;
}

/*** Making and removing ***/

void
cgroup_remove(const char *path)
{
    DIR *directory = *path != '\0' ? opendir(path) : NULL;
    char leaf[CGROUP_PATH_MAX];

    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        path_of(path, entry->d_name, leaf);
        rmdir(leaf);
    }
    closedir(directory);
    if (rmdir(path) == -1)
        log_warn("cannot remove the cgroup %s: %m", path);
}

/* What a master that was killed has left. */
static void
remove_old(void)
{
    DIR *directory = opendir(base);
    char path[CGROUP_PATH_MAX];

    for (struct dirent *entry; directory != NULL &&
         (entry = readdir(directory)) != NULL;) {
        if (strncmp(entry->d_name, ZYGOTE, strlen(ZYGOTE)) != 0)
            continue;
        path_of(base, entry->d_name, path);
        cgroup_remove(path);
    }
    if (directory != NULL)
        closedir(directory);
}

/* Returns NULL, or the name of what cannot be done, with errno. */
static const char *
divide(void)
{
    char service[CGROUP_PATH_MAX], procs[CGROUP_PATH_MAX];

    path_of(base, SERVICE, service);
    path_of(base, "cgroup.procs", procs);
    if (mkdir(service, 0755) == -1 && errno != EEXIST)
        return "make a directory";
    if (write_to(service, "cgroup.procs", "0") == -1)
        return "move into it";
    remove_old();
    if (enable(base) == -1)
        return "enable memory and pids (are other processes in it?)";
    /* Whoever moves a process needs to write here, above both places. */
    if (geteuid() == 0 && chown(procs, owner_id, (gid_t)-1) == -1)
        return "give cgroup.procs away";
    /* The service answers, whatever all runs together do. */
    (void)write_to(service, "cpu.weight", "1000");
    return NULL;
}

int
cgroup_start(const struct config *config, uid_t owner, char *why,
             size_t why_size)
{
    char path[CGROUP_PATH_MAX];
    const char *failed;

    if (strcmp(config->cgroup, "off") == 0)
        return 0;
    if (strcmp(config->cgroup, "auto") != 0)
        snprintf(path, sizeof(path), "%s", config->cgroup);
    else if (!find_delegated(path))
        return 0;
    if (strlen(path) > BASE_MAX - 64 ||
        !has_word(path, "cgroup.controllers", "memory") ||
        !has_word(path, "cgroup.controllers", "pids")) {
        snprintf(why, why_size, "cgroup: %.250s is no cgroup with the "
                 "controllers memory and pids", path);
        return -1;
    }
    memcpy(base, path, sizeof(base));
    owner_id = owner;
    failed = divide();
    if (failed == NULL)
        return 0;
    snprintf(why, why_size, "cgroup: cannot %s in %.250s: %s", failed, base,
             strerrordesc_np(errno));
    base[0] = '\0';
    return -1;
}

const char *
cgroup_make(void)
{
    static char path[CGROUP_PATH_MAX];
    static unsigned int count;
    char name[32];

    if (base[0] == '\0')
        return "";
    snprintf(name, sizeof(name), ZYGOTE "%u", ++count);
    path_of(base, name, path);
    if (mkdir(path, 0755) == -1 || enable(path) == -1 ||
        (geteuid() == 0 && chown(path, owner_id, (gid_t)-1) == -1))
        return NULL;
    return path;
}

void
cgroup_stop(void)
{
    char service[CGROUP_PATH_MAX];

    if (base[0] == '\0')
        return;
    remove_old();
    path_of(base, SERVICE, service);
    (void)write_to(base, "cgroup.subtree_control", "-cpu");
    if (write_to(base, "cgroup.subtree_control", "-memory -pids") == -1 ||
        write_to(base, "cgroup.procs", "0") == -1 || rmdir(service) == -1)
        log_warn("cannot leave the cgroup %s: %m", base);
}

/*
 * sandbox-child - the program in which strangers' code runs.
 *
 * The responder starts it, with an empty environment, as the zygote:
 *
 *     sandbox-child KEY=VALUE ...       (the keys are in the table below)
 *
 * descriptor 3 is the queue of ready children. It shuts itself in, starts
 * Python, loads the libraries, and forks a child for each run, from the start
 * on if it is asked to (early); each of those closes the remaining layers before it reads a byte of its job. It never
 * sees a key, a request or the network, and it links no FastCGI and no curl.
 */

#include "confine.h"
#include "die.h"
#include "handover.h"
#include "memory.h"
#include "probe.h"
#include "python.h"
#include "title.h"
#include "touch.h"
#include "zygote.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 64 };

struct options {
    size_t memory, processes, work_size, work_inodes;
    size_t ready, max_runs, forks, once, early, check, own_ids;
    char *cgroup[LIST_MAX + 1];
    char *without[LIST_MAX + 1];
    char *python_path[LIST_MAX + 1];
    char *preload[LIST_MAX + 1];
};

static size_t
number(const char *key, const char *value)
{
    char *end;
    unsigned long parsed;

    errno = 0;
    parsed = strtoul(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0')
        die("%s: %s is not a number", key, value);
    return parsed;
}

static void
list_add(char **list, const char *value)
{
    size_t used = 0;

    while (list[used] != NULL)
        used++;
    if (used == LIST_MAX)
        die("more than %d entries in a list", LIST_MAX);
    list[used] = strdup(value);
    if (list[used] == NULL)
        die("out of memory");
}

static void
option_set(struct options *options, char *argument)
{
    const struct {
        const char *key;
        size_t *number;
        char **list;
    } table[] = {
        {"memory", &options->memory, NULL},
        {"processes", &options->processes, NULL},
        {"work_size", &options->work_size, NULL},
        {"work_inodes", &options->work_inodes, NULL},
        {"ready", &options->ready, NULL},
        {"max_runs", &options->max_runs, NULL},
        {"forks", &options->forks, NULL},
        {"once", &options->once, NULL},
        {"early", &options->early, NULL},
        {"check", &options->check, NULL},
        {"own_ids", &options->own_ids, NULL},
        {"cgroup", NULL, options->cgroup},
        {"without", NULL, options->without},
        {"python_path", NULL, options->python_path},
        {"preload", NULL, options->preload},
    };
    char *value = strchr(argument, '=');

    for (size_t i = 0; value && i < sizeof(table) / sizeof(table[0]); i++) {
        if (strncmp(argument, table[i].key, (size_t)(value - argument)) != 0 ||
            table[i].key[value - argument] != '\0')
            continue;
        if (table[i].list != NULL)
            list_add(table[i].list, value + 1);
        else
            *table[i].number = number(table[i].key, value + 1);
        return;
    }
    die("unknown argument %s; the responder starts this program", argument);
}

/* The package and the prebuilt configuration stand beside the executable. */
static void
sources_find(struct sources *sources, char *const *python_path)
{
    static char package[PATH_MAX + 32], matplotlib[PATH_MAX + 32];
    char executable[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", executable, PATH_MAX - 1);
    const char *directory;

    if (len == -1)
        die("cannot find my own executable: %m");
    executable[len] = '\0';
    directory = dirname(executable);
    snprintf(package, sizeof(package), "%s/python/sandbox", directory);
    snprintf(matplotlib, sizeof(matplotlib), "%s/matplotlib", directory);
    sources->package = package;
    sources->matplotlib = matplotlib;
    sources->python_path = (char **)python_path;
}

/* Fork copies one thread alone; a lock held by another stays held for ever. */
static void
check_single_threaded(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int threads = 0;

    if (tasks == NULL)
        die("cannot count threads: %m");
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        threads += entry->d_name[0] != '.';
    closedir(tasks);
    if (threads != 1)
        die("the zygote has %d threads after its imports; a preloaded module "
            "starts them", threads);
}

/*
 * A descriptor that a library has opened would be closed under it in each
 * child. So there must be none but ours.
 */
static void
check_descriptors(const struct zygote *zygote)
{
    DIR *directory = opendir("/proc/self/fd");
    char target[256];

    if (directory == NULL)
        die("cannot list the descriptors: %m");
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        int fd = atoi(entry->d_name);
        ssize_t len = readlinkat(dirfd(directory), entry->d_name, target,
                                 sizeof(target) - 1);

        target[len > 0 ? len : 0] = '\0';
        if (fd > ZYGOTE_QUEUE_FD && fd != dirfd(directory) &&
            !confine_holds(fd) && !zygote_holds(zygote, fd))
            die("the zygote has %s open after its imports; a preloaded "
                "module keeps it so", target);
    }
    closedir(directory);
}

/*
 * Load and use all libraries. Where runs are wanted meanwhile there are
 * children between any two, which load what their programs name.
 */
static void
warm(struct zygote *zygote, bool is_early, char **preload)
{
    python_call("sandbox.warm", "warm", preload);
    while (python_call("sandbox.warm", "step", NULL) != 0) {
        if (!is_early)
            continue;
        check_single_threaded();
        zygote_look(zygote);
    }
    python_call("sandbox.about", "say", (char *[]){ZYGOTE_ABOUT, NULL});
    python_settle();
    memory_settle();
    touch_learn();
}

int
main(int argc, char **argv)
{
    struct options options = {0};
    struct sources sources;
    struct limits limits;
    struct zygote_plan plan;
    struct zygote *zygote;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], CONFINE_AGAIN) != 0)
            option_set(&options, argv[i]);
    if (options.max_runs == 0 || options.ready == 0)
        die("is started by sandbox-fcgi, not by hand");
    limits = (struct limits){options.memory, options.processes,
                             options.work_size, options.work_inodes,
                             options.own_ids != 0, 0};
    for (char **name = options.without; *name != NULL; name++)
        confine_leave_out(&limits, *name);
    plan = (struct zygote_plan){(int)options.ready, (int)options.max_runs,
                                options.once != 0, options.forks};
    confine_namespaces(argc, argv, limits.own_ids);
    title_init(argc, argv);
    title_set("sandbox-child: zygote");

    sources_find(&sources, options.python_path);
    confine_zygote(&sources, &limits, options.cgroup[0], plan.max_runs);
    if (options.check != 0)
        _exit(probe_layers(&limits, true) ? 0 : 1);
    probe_layers(&limits, false);
    if (!plan.once)
        probe_say_in_force(&limits);
    if (!plan.once)
        memory_start();
    python_start(options.python_path);
    zygote = zygote_new(&plan, &limits, ZYGOTE_QUEUE_FD);
    if (plan.once)
        python_call("sandbox.warm", "cold", options.preload);
    else
        warm(zygote, options.early != 0, options.preload);
    check_single_threaded();
    check_descriptors(zygote);
    zygote_run(zygote);
    _exit(0);
}

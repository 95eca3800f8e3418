/*
 * sandbox-fcgi - runs strangers' Python behind nginx.
 *
 * How the processes fit together
 *
 *     nginx -- FastCGI --> master            starts, replaces, stops
 *                           +- worker x N    trusted: one request at a time
 *                           +- keeper        waits for the zygote's end
 *                               +- zygote    Python and its libraries, warm
 *                                   +- ready x K  forked, confined, waiting
 *                                   +- run        one program; dies with it
 *
 * The master (master.c) keeps N workers and one zygote alive. The zygote is
 * the other program, sandbox-child, exec'ed with an empty environment, so
 * that nothing the responder knows is in the memory that runs are forked
 * from; it is the first process of a pid namespace, which takes a keeper
 * outside. It forks children ahead of need; each closes every layer of its
 * sandbox before it reads a byte, and then waits. The zygote hands it over
 * as a packet of descriptors (handover.h) on a queue that all workers share:
 * one recvmsg takes one child.
 *
 * A worker (worker.c) reads a request, parses it (request.c), takes a child
 * (ready.c), sends it the job and watches it (run.c): one loop over output,
 * report, market, end, client and clock. The output is a pipe, so that what was
 * printed survives any crash; files and figures stay in the run's own tmpfs,
 * which the worker holds open and collects from (collect.c) when every
 * process of the run is dead. The child's parent is the zygote: it tells the
 * worker how the child ended, and kills it when the worker lets go. A worker
 * believes the kernel and its own clock first, the child's report last
 * (verdict.c).
 *
 * While a zygote loads its libraries, after the start or when another was
 * lost, it forks children between any two of them: early ones, which load what
 * their program names, and go when there are others.
 *
 * Market data come through the worker: the program names what it wants on a
 * descriptor of its own, the broker in the worker (market.c) asks for it with
 * the key, which no program ever sees. Workers share the answers that are
 * kept and the rate of calls, in memory that the master makes before its
 * first fork; the key in fmp_key_file is read by each worker, so that master
 * and zygote never hold it.
 *
 * Where the service has a cgroup subtree (cgroup.c), its processes stand in one
 * part of it and each run in a leaf of its own. Where root names a range of
 * ids, each run has one, which a process that stays root for a moment maps
 * into the zygote's user namespace (ready.c).
 *
 * Without a zygote (zygote = off, CGI, --stdio) a worker starts one of its
 * own for a single run; all else is the same.
 *
 * A reload, and a zygote that has become old, begin with a fresh zygote beside
 * the old one (master.c).
 *
 * What dies takes what depends on it along: a worker its run, the zygote its
 * children, the master everything.
 */

#include "cgroup.h"
#include "config.h"
#include "listen.h"
#include "log.h"
#include "machine.h"
#include "market.h"
#include "market_key.h"
#include "master.h"
#include "ready.h"
#include "scoreboard.h"
#include "text.h"
#include "title.h"
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "0.1"
#endif

/* s6's: used wrongly, and the system failed. */
enum { EXIT_USAGE = 100, EXIT_SYSTEM = 111 };

static int
serve_one(struct config *config, enum http_front front)
{
    struct market_shared *market = market_shared_new(config);
    static struct worker worker;  /* what it has is the process's */

    worker = (struct worker){
        .config = config,
        .scoreboard = scoreboard_new(1),
        .listen_fd = -1,
        .queue_fd = -1,
    };
    if (market != NULL)
        worker.market = market_open(config, market);
    if (worker.scoreboard == NULL || market == NULL ||
        drop_privileges() == -1) {
        log_error("cannot set up: %m");
        return EXIT_SYSTEM;
    }
    return worker_once(&worker, front);
}

/*
 * As many descriptors as we may have: what is passed between processes counts
 * for the account, programs' too, and nobody may pass more when it is as many
 * as this limit; theirs is far lower.
 */
static void
raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Print what is in force, and try it. Returns 0 when all of it holds. */
static int
check(const struct config *config)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), status;
    const char *cgroup;
    char why[1024];
    pid_t zygote;

    config_print(config, stdout);
    printf("#\n# workers, max_runs and ready, where left at 0, are chosen: here "
           "for\n# %ld of the processors, and %zu MiB of memory\n",
           machine_cores(), machine_memory() >> 20);
    if (cgroup_start(config, user_of_runs(), why, sizeof(why)) == -1)
        printf("# %s\n", why);
    cgroup = cgroup_make();
    fflush(stdout);
    zygote = ready_start_zygote(config, null, STDOUT_FILENO,
                                cgroup != NULL ? cgroup : "", ZYGOTE_CHECK);
    if (null == -1 || zygote == -1 || waitpid(zygote, &status, 0) == -1) {
        log_error("cannot try the isolation: %m");
        status = EXIT_SYSTEM << 8;
    }
    cgroup_stop();
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SYSTEM;
}

/* Are the files there that market data needs? */
static bool
check_market(const struct config *config)
{
    char why[512];

    if (market_key_check(config->fmp_key_file, why, sizeof(why)) == -1) {
        log_error("%s", why);
        return false;
    }
    if (config->fmp_ca[0] != '\0' && access(config->fmp_ca, R_OK) == -1) {
        log_error("fmp_ca: cannot read %s: %m", config->fmp_ca);
        return false;
    }
    return true;
}

/* Is there what the configuration names? Returns 0, or an exit status. */
static int
look_up(const struct config *config)
{
    unsigned int taken;

    if (access(config->child, X_OK) == -1) {
        log_error("cannot run %s: %m (child)", config->child);
        return EXIT_SYSTEM;
    }
    if (find_user(config) == -1) {
        log_error("user: there is no account %s other than root's",
                  config->user);
        return EXIT_USAGE;
    }
    taken = find_taken_id(config);
    if (taken != 0) {
        log_error("run_ids: %u, of the %d from %d on, belongs to an account",
                  taken, ZYGOTES_MAX * ZYGOTE_IDS, config->run_ids);
        return EXIT_USAGE;
    }
    return check_market(config) ? 0 : EXIT_USAGE;
}

/* How this program was called, for a reload. */
static int given_count;
static char **given;

/* What shows as the process's title from now on is the memory of argv. */
static void
keep_arguments(int argc, char **argv)
{
    given_count = argc;
    given = must_alloc((size_t)(argc + 1) * sizeof(*given));
    for (int i = 0; i < argc; i++)
        given[i] = must_copy(argv[i]);
}

/* What is bound to the start stays as it is. */
static void
keep_string(const char *key, const char *old, char **fresh)
{
    if (strcmp(old, *fresh) == 0)
        return;
    log_warn("%s: a change takes a restart; it stays \"%s\"", key, old);
    free(*fresh);
    *fresh = must_copy(old);
}

/* A master_reload. */
static int
reload(const struct config *old, struct config *fresh)
{
    enum config_action action;
    char why[1024];

    if (config_load(given_count, given, fresh, &action, why,
                    sizeof(why)) == -1) {
        log_error("%s; all stays as it was", why);
        return -1;
    }
    keep_string("listen", old->listen, &fresh->listen);
    keep_string("user", old->user, &fresh->user);
    keep_string("cgroup", old->cgroup, &fresh->cgroup);
    if (fresh->listen_mode != old->listen_mode)
        log_warn("listen_mode: a change takes a restart; it stays %04o",
                 (unsigned int)old->listen_mode);
    fresh->listen_mode = old->listen_mode;
    /* While runs have some of them, others might begin in their middle. */
    if (fresh->run_ids != old->run_ids)
        log_warn("run_ids: a change takes a restart; it stays %d",
                 old->run_ids);
    fresh->run_ids = old->run_ids;
    if (look_up(fresh) == 0)
        return 0;
    log_error("all stays as it was");
    config_clear(fresh);
    return -1;
}

static int
serve(struct config *config)
{
    char why[512];
    int listen_fd;

    master_block_signals();
    listen_fd = listen_open(config, why, sizeof(why));
    if (listen_fd == -1) {
        log_error("%s", why);
        return EXIT_SYSTEM;
    }
    raise_descriptors();
    return master_run(config, listen_fd, reload);
}

static int
act(struct config *config, enum config_action action)
{
    int status;

    log_as_json(strcmp(config->log_format, "json") == 0);
    if (config->log[0] != '\0' && log_open(config->log) == -1) {
        log_error("cannot open %s: %m", config->log);
        return EXIT_SYSTEM;
    }
    status = look_up(config);
    if (status != 0)
        return status;
    if (action == CONFIG_CHECK)
        return check(config);
    if (action == CONFIG_STDIO)
        return serve_one(config, HTTP_STDIO);
    if (getenv("GATEWAY_INTERFACE") != NULL && !is_listening(STDIN_FILENO))
        return serve_one(config, HTTP_CGI);
    return serve(config);
}

int
main(int argc, char **argv)
{
    enum config_action action;
    struct config config;
    char why[1024];
    int status = 0;

    if (config_load(argc, argv, &config, &action, why, sizeof(why)) == -1) {
        fprintf(stderr, "%s\n", why);
        return EXIT_USAGE;
    }
    keep_arguments(argc, argv);
    title_init(argc, argv);
    if (action == CONFIG_HELP)
        config_usage(stdout);
    else if (action == CONFIG_VERSION)
        printf("sandbox-fcgi %s\n", VERSION);
    else
        status = act(&config, action);
    config_clear(&config);
    return status;
}

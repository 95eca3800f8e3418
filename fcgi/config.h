/*
 * config.h - what an administrator may choose: defaults, ini file, options.
 *
 * Options outrank the file, the file outranks the defaults. One table in
 * config.c holds every default and range. Nothing here logs, prints unasked
 * or exits.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum config_action {
    CONFIG_SERVE,
    CONFIG_CHECK,
    CONFIG_STDIO,
    CONFIG_HELP,
    CONFIG_VERSION
};

/*
 * Every key of the ini file under its own name. The strings are owned, never
 * NULL once loaded, and empty where nothing was chosen.
 */
struct config {
    char *file;                 /* the ini file that was read; empty: none */

    char *listen;               /* unix:/path, /path, host:port, [v6]:port;
                                   empty: descriptor 0 is the socket */
    int listen_mode;            /* permissions of a Unix socket */
    char *user;                 /* of workers and sandbox, if root starts us */
    int workers;
    int max_runs;
    int ready;                  /* children kept waiting for a job */
    int queue_wait;             /* ms */
    bool zygote;
    int zygote_runs;            /* forks until it is renewed; 0: any */
    int zygote_age;             /* ms until then; 0: any */
    int worker_requests;        /* until one is renewed; 0: any */
    char *child;                /* absolute path of sandbox-child */
    char *python_path;          /* absolute directories, ':' between them */
    char *preload;              /* module names, commas or spaces between */
    char *isolation;            /* strict, or reduced:LAYER,LAYER */
    int run_ids;                /* first of 65536 user and group ids for
                                   runs, if root starts us; 0: none */
    char *cgroup;               /* auto, off, or a directory to divide */
    char *log;                  /* absolute path; empty: stderr */
    char *log_format;           /* text or json */
    int slow_after;             /* ms after which a run is logged; 0: never */

    int timeout;                /* ms */
    int grace;                  /* ms from interrupting a run to killing it */
    size_t memory;              /* bytes of one run */
    int processes;              /* of one run */
    size_t work_size;           /* bytes in a run's directory */
    int work_inodes;

    size_t max_body;            /* bytes, as all that follow */
    size_t max_code;
    size_t max_output;
    int max_figures;
    int max_figure_pixels;      /* of one figure */
    size_t max_figure_bytes;    /* of all figures of a run */
    int max_files;
    size_t max_file_bytes;      /* of all files of a run */

    char *fmp_url;              /* of the market-data server, below which the
                                   paths are; no '/' at its end */
    char *fmp_key_file;         /* absolute path; empty: no key of our own */
    char *fmp_ca;               /* absolute path; empty: the system's */
    int fmp_calls;              /* of one run; 0: none */
    int fmp_rate;               /* calls a minute of all runs; 0: no limit */
    size_t fmp_cache;           /* bytes; 0: none */
    char *fmp_note;             /* for the reply of each run with calls */
};

/*
 * Read the command line and the ini file it names (without --config, the
 * default one if there is one).
 *
 * On success fills *config, which owns its strings until config_clear(), sets
 * *action and returns 0. For CONFIG_HELP and CONFIG_VERSION no file is read
 * and *config is all zero, which config_clear() takes as well.
 * On failure leaves *config and *action alone, so that a reload can go on with
 * what it has, writes one printable line to why and returns -1.
 */
int config_load(int argc, char **argv, struct config *config,
                enum config_action *action, char *why, size_t why_size);

/*
 * Replace each 0 that means "automatic" by a number fit for that many cores
 * and bytes of physical memory, then check what only makes sense together.
 * config_load() has done so already; it stands apart to be tested.
 *
 * Returns 0, or -1 with a line in why that names both keys.
 */
int config_finish(struct config *config, long cores, size_t memory,
                  char *why, size_t why_size);

/* Write the values in force as an ini file that reads back to the same. */
void config_print(const struct config *config, FILE *out);

/* Write the help: every option with its default, in 80 columns. */
void config_usage(FILE *out);

/* Free the strings and leave *config all zero; harmless to repeat. */
void config_clear(struct config *config);

#endif

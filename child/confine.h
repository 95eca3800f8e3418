/*
 * confine.h - the layers around a run, and the order in which they close.
 *
 * Every function dies when a layer cannot be set up: nothing half confined
 * ever reads a user's byte. The only file that changes what the process is.
 */

#ifndef SANDBOX_CONFINE_H
#define SANDBOX_CONFINE_H

#include <stddef.h>
#include <sys/types.h>

/* What one run may use. */
struct limits {
    size_t memory;       /* bytes a process may map beyond what it inherits */
    size_t processes;    /* processes and threads of one run */
    size_t work_size;    /* bytes of the run's tmpfs */
    size_t work_inodes;
};

/* Where things are outside; inside they stand at the paths below. */
struct sources {
    const char *package;     /* the Python package sandbox */
    const char *matplotlib;  /* prebuilt configuration, or NULL */
    char **python_path;      /* further directories, NULL-terminated */
};

#define INSIDE_PYTHON "/opt/python"
#define INSIDE_MATPLOTLIB "/run/box/matplotlib"
#define INSIDE_WORK "/work"

/*
 * Once, in the zygote, before the interpreter starts: own user and mount
 * namespaces and a root that holds, read-only, what Python needs and nothing
 * else. The environment becomes the sandbox's. Must not be called as root.
 *
 * Returns in a forked process, the first of a pid namespace of its own; the
 * caller waits for its end and ends as it did.
 */
void confine_zygote(const struct sources *sources,
                    const struct limits *limits);

/*
 * Make the file system of one run, not mounted anywhere yet. Returns its
 * descriptor, owned by the caller; whoever holds it can read the files after
 * everything else of the run is gone.
 */
int confine_work_open(const struct limits *limits);

/*
 * Before and after the zygote's fork: the child between them is the first
 * process of a pid namespace of its own.
 */
void confine_before_fork(void);
void confine_after_fork(void);

/*
 * In the forked child: all that remains. fds holds the CHILD_FD_COUNT
 * descriptors (handover.h) that the run keeps, in order; work_fd comes from
 * confine_work_open. Afterwards no other descriptor is open, and die() writes
 * to CHILD_REPORT.
 */
void confine_enter(const struct limits *limits, int work_fd, const int *fds);

#endif

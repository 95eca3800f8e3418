/*
 * confine.h - the layers around a run, and the order in which they close.
 *
 * Every function dies when a layer cannot be set up: nothing half confined
 * ever reads a user's byte. The only file that changes what the process is.
 */

#ifndef SANDBOX_CONFINE_H
#define SANDBOX_CONFINE_H

#include "root.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What one run may use. */
struct limits {
    size_t memory;       /* bytes a process may map beyond what it inherits */
    size_t processes;    /* processes and threads of one run */
    size_t work_size;    /* bytes of the run's tmpfs */
    size_t work_inodes;
    bool own_ids;        /* each slot has an id of its own outside */
    unsigned int without;  /* a bit for each layer that is left out */
};

/* The layers that a probe can tell apart. */
enum layer {
    LAYER_USER,
    LAYER_ROOT,
    LAYER_PID,
    LAYER_NETWORK,
    LAYER_IPC,
    LAYER_LIMITS,
    LAYER_DESCRIPTORS,
    LAYER_CAPABILITIES,  /* and no_new_privs */
    LAYER_LANDLOCK,
    LAYER_DUMPABLE,
    LAYER_SECCOMP,
    LAYER_CGROUP,        /* where the service has a subtree */
    LAYER_COUNT
};

const char *confine_layer_name(enum layer layer);

/*
 * Leave the layer of that name out. Only those that others stand behind can
 * be: network, ipc and landlock. (A test build, made with TEST_LAYERS, lets
 * go of more.) Dies for any other name.
 */
void confine_leave_out(struct limits *limits, const char *name);

/* Is the layer asked for? Where there is no Landlock or cgroup, those are not. */
bool confine_wants(const struct limits *limits, enum layer layer);

/*
 * First of all: enter user, mount, pid and uts namespaces. The caller
 * stays behind as the keeper of a process that is the first of its pid
 * namespace, starts this program again with the same arguments, and comes
 * back here, where it returns. Must not be called as root; the ids of runs,
 * if they are to have their own, are asked for on ZYGOTE_IDS_FD.
 */
void confine_namespaces(int argc, char **argv, bool own_ids);

/* The last argument of a program that has been started again. */
#define CONFINE_AGAIN "confined"

/*
 * Then, before the interpreter starts: a root that holds, read-only, what
 * Python needs and nothing else. The environment becomes the sandbox's. The
 * directory cgroup, or NULL, gets a leaf for each slot.
 */
void confine_zygote(const struct sources *sources,
                    const struct limits *limits, const char *cgroup,
                    int slots);

/* The id of a slot's run in the zygote's user namespace. */
unsigned int confine_id(const struct limits *limits, int slot);

/* Whether the zygote keeps this descriptor for what is above; and the one of
 * its user namespace. */
bool confine_holds(int fd);
int confine_user_namespace(void);

/*
 * Before and after the zygote's fork: the child between them is the first
 * process of a pid namespace of its own. Before it the slot gets a network,
 * if it has none yet.
 */
void confine_before_fork(const struct limits *limits, int slot);
void confine_after_fork(void);

/*
 * In the forked child: all that remains. No two living children may have the
 * same slot. fds holds the CHILD_FD_COUNT descriptors (handover.h) that the
 * run keeps, in order; work_fd comes from root_work_open. Afterwards no other descriptor is open, and die() writes
 * to CHILD_REPORT.
 */
void confine_enter(const struct limits *limits, int slot, int work_fd,
                   const int *fds);

#endif

/*
 * leaf.h - a leaf of the service's cgroup subtree for each run.
 *
 * Where the service has a subtree of its own (fcgi/cgroup.h), the kernel
 * bounds a run as a whole: all its processes together, and what the kernel
 * itself holds for them. A leaf serves one slot, run after run. Every
 * function but leaf_is_open() dies on failure.
 */

#ifndef SANDBOX_LEAF_H
#define SANDBOX_LEAF_H

#include "confine.h"

#include <stdbool.h>

/* Beside the runs': one that is known to be small, to try it. */
enum { LEAF_TRIAL = -1, LEAF_TRIAL_BYTES = 16 << 20 };

/*
 * Take hold of the directory and make its leaves. In the zygote, while it
 * still sees the host's files. Keeps one descriptor, for good.
 */
void leaf_start(const char *directory, const struct limits *limits,
                int slots);

bool leaf_is_open(void);
int leaf_fd(void);  /* the one that is kept, or -1 */

/* Move this process into a slot's leaf; all that it forks is born there. */
void leaf_enter(int slot);

/* How many processes of the slot the kernel has ended for memory, ever. */
unsigned long leaf_kills(int slot);

#endif

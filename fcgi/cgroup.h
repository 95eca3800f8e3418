/*
 * cgroup.h - the service's own subtree of the cgroups (version 2), if any.
 *
 * In it the kernel bounds each run as a whole. The master makes there:
 *
 *     service/     master, workers and zygotes
 *     zygote.N/    the leaves of one zygote's runs (child/leaf.h)
 *
 * For the master alone. The subtree is one that systemd has delegated to the
 * service, or a directory that the configuration names.
 */

#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include "config.h"

#include <stddef.h>
#include <sys/types.h>

/* Where directories of cgroups are named: their longest path. */
enum { CGROUP_PATH_MAX = 512 };

/*
 * Find the subtree and move this process into it, so that all it starts is
 * born there; `owner` is to make the leaves. Returns 0, also without one
 * (config->cgroup off; auto, and nothing delegated); or -1 with a sentence.
 */
int cgroup_start(const struct config *config, uid_t owner, char *why,
                 size_t why_size);

/*
 * Make a directory for the leaves of a new zygote. Returns its path, to be
 * given to cgroup_remove() after the zygote's end; "" without a subtree; or
 * NULL with errno.
 */
const char *cgroup_make(void);

/* Remove such a directory, if there is one; its processes are all dead. */
void cgroup_remove(const char *path);

/* Go back to where this process came from, and remove the rest. */
void cgroup_stop(void);

#endif

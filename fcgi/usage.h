/*
 * usage.h - how much memory a run uses, all its processes together.
 *
 * The watchdog's measure where no memory cgroup is: looked at from outside,
 * in /proc.
 */

#ifndef SANDBOX_USAGE_H
#define SANDBOX_USAGE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Bytes of anonymous memory in a process and all its descendants, less
 * `inherited` that the first one shares with the zygote. Mapped files do not
 * count: they are the system's, or the run's own tmpfs with its own bound.
 * More than a few sockets count with all that their buffers may hold.
 * Pages that the run's processes share count once when that makes the
 * difference between at most `most` and more. 0 when the process is gone.
 */
size_t usage_memory(int pidfd, size_t inherited, size_t most);

#endif

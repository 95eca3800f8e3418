/*
 * machine.h - how much of the machine this process may use.
 *
 * What its affinity and its cgroups (version 2; a container's, a service's)
 * leave it; without such, all there is.
 */

#ifndef SANDBOX_MACHINE_H
#define SANDBOX_MACHINE_H

#include <stddef.h>

/* Processors, rounded up; at least 1. */
long machine_cores(void);

/* Bytes. */
size_t machine_memory(void);

#endif

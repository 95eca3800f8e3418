/*
 * filter.h - which system calls a run may make.
 *
 * The list is a table in filter.c, the one file that knows libseccomp. It is
 * put over the zygote, and so over all that it forks, but for the few calls
 * that set a child up; those are taken from each child as its last layer, by
 * a second filter that is small: to install the whole one takes ten times as
 * long. A call must pass both.
 */

#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <stdbool.h>

/*
 * Compile the table and bind this process and all it forks to it, for good.
 * Once, in the zygote, which still has its capabilities: it takes
 * milliseconds and memory. allow_sockets: unix sockets, which need a network
 * namespace around them. Dies on failure.
 */
void filter_start(bool allow_sockets);

/*
 * Bind this process, its threads to come and all it starts to the rest, for
 * good. Needs no_new_privs. Dies on failure.
 */
void filter_finish(void);

#endif

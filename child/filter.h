/*
 * filter.h - which system calls a run may make.
 *
 * The list is a table in filter.c, the one file that knows libseccomp. It is
 * compiled once, in the zygote, and installed in each child as its last
 * layer, since setting up the others needs more than running does.
 */

#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <stdbool.h>

/*
 * Compile the table. Once, in the zygote: it takes milliseconds and memory.
 * allow_sockets: unix sockets, which need a network namespace around them.
 * Dies on failure.
 */
void filter_compile(bool allow_sockets);

/*
 * Bind this process, its threads to come and all it starts to the compiled
 * filter, for good. Needs no_new_privs. Dies on failure.
 */
void filter_install(void);

#endif

/*
 * master.h - starts, replaces, renews and stops the workers and the zygote.
 */

#ifndef SANDBOX_MASTER_H
#define SANDBOX_MASTER_H

#include "config.h"

/*
 * Read the configuration anew: fill *fresh, to be owned by the caller, with
 * what can be in force without a restart after old. Returns 0, or -1 when it
 * cannot be in force, which is logged.
 */
typedef int master_reload(const struct config *old, struct config *fresh);

/* Once, early: those that come before master_run() wait for it. */
void master_block_signals(void);

/*
 * Serve on listen_fd, which is owned and in the end removed here, until a
 * signal ends it; then end all processes and return the exit status.
 *
 *     SIGTERM, SIGINT   end at once
 *     SIGQUIT           end when what has been accepted is answered
 *     SIGHUP            go on with what reload gives, and a fresh zygote
 *     SIGUSR1           open the log again
 *
 * All of them are blocked before. *config is taken over, and is in the end
 * what was in force last.
 */
int master_run(struct config *config, int listen_fd, master_reload *reload);

#endif

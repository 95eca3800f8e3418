/*
 * master.h - starts, replaces and stops the workers and the zygote.
 */

#ifndef SANDBOX_MASTER_H
#define SANDBOX_MASTER_H

#include "config.h"

/*
 * Serve on listen_fd until SIGTERM or SIGINT; then end all processes and
 * return the exit status. listen_fd is borrowed.
 */
int master_run(const struct config *config, int listen_fd);

#endif

/*
 * listen.h - the socket that requests come in on.
 */

#ifndef SANDBOX_LISTEN_H
#define SANDBOX_LISTEN_H

#include "config.h"

#include <stddef.h>

/*
 * Open the socket that config->listen names, or take the one that was handed
 * over: descriptor 0 (spawn-fcgi, systemd's StandardInput=socket) or systemd's
 * first. A stale unix socket is replaced, one that is served is not.
 *
 * Returns the descriptor; -1 with one line in why.
 */
int listen_open(const struct config *config, char *why, size_t why_size);

/* Remove the unix socket that listen_open() made. */
void listen_remove(const struct config *config);

/* Whether fd is a socket that listens. */
bool is_listening(int fd);

#endif

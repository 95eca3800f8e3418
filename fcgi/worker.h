/*
 * worker.h - one process that serves one request at a time.
 */

#ifndef SANDBOX_WORKER_H
#define SANDBOX_WORKER_H

#include "config.h"
#include "http.h"
#include "market.h"
#include "scoreboard.h"

struct worker {
    const struct config *config;
    struct scoreboard *scoreboard;
    int seat;       /* this worker's, in the scoreboard */
    struct market *market;
    int listen_fd;  /* unused where there is one request only */
    int queue_fd;   /* of ready children; -1: a cold start for each run */
};

/*
 * Serve requests until SIGQUIT, after which it ends when it has answered the
 * one it has, or until it has served config->worker_requests. Called with all
 * signals blocked that mean something to the master.
 */
_Noreturn void worker_run(const struct worker *worker);

/*
 * Serve the one request that this process was started for. Returns the exit
 * status: 0 when the run ended well, 1 when not, 2 when no run came of it.
 */
int worker_once(const struct worker *worker, enum http_front front);

#endif

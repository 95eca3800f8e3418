/*
 * metrics.h - what the service says of itself, for Prometheus.
 *
 * Pure: from the scoreboard to text.
 */

#ifndef SANDBOX_METRICS_H
#define SANDBOX_METRICS_H

#include "config.h"
#include "scoreboard.h"
#include "text.h"

/* The media type of what metrics_print() prints. */
extern const char metrics_type[];

/* Append the body of /metrics. ready: children that wait for a job. */
void metrics_print(const struct scoreboard *scoreboard,
                   const struct config *config, int ready, struct text *text);

#endif

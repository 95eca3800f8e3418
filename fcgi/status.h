/*
 * status.h - what the service says of itself, as JSON.
 *
 * Pure: from the scoreboard to text.
 */

#ifndef SANDBOX_STATUS_H
#define SANDBOX_STATUS_H

#include "config.h"
#include "scoreboard.h"
#include "text.h"

#include <stdbool.h>

struct cJSON;

/* Append the body of /healthz; reason is not used when it is well. */
void status_health(bool is_well, const char *reason, struct text *text);

/* Append the body of /status. ready: children that wait for a job. */
void status_print(const struct scoreboard *scoreboard,
                  const struct config *config, int ready, struct text *text);

/* The same as an object, the caller's to delete. */
struct cJSON *status_object(const struct scoreboard *scoreboard,
                            const struct config *config, int ready);

/* The isolation layers in force: a new array of their names. */
struct cJSON *status_layers(const struct scoreboard *scoreboard);

#endif

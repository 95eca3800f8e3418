/*
 * reply.h - what the responder answers, as JSON.
 *
 * Pure: memory in, text out through a json_write function, whose failure (the
 * reader went away) ends the printing.
 */

#ifndef SANDBOX_REPLY_H
#define SANDBOX_REPLY_H

#include "request.h"
#include "run.h"

struct cJSON;

/* Print the reply of a run. Returns 0, or -1 as soon as write does. */
int reply_print(const struct result *result, const char *id,
                json_write *write, void *context);

/* Append a problem (RFC 9457) to text. */
void reply_problem(const struct problem *problem, struct text *text);

/* Append a small object, and free it. */
void reply_object(struct cJSON *object, struct text *text);

/* The media type that the file's name promises. Static. */
const char *media_type(const char *name);

#endif

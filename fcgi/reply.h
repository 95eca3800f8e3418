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
#include "sink.h"

struct cJSON;

/* Print the reply of a run. Returns 0, or -1 as soon as write does. */
int reply_print(const struct result *result, const char *id,
                json_write *write, void *context);

/* Its parts, for other forms of it: an element of figures and of files, and
 * the members of the object before and behind those two. */
void reply_figure(const struct found_file *figure, struct sink *sink);
void reply_file(const struct found_file *file, struct sink *sink);
void reply_outcome(const struct result *result, uint64_t dropped,
                   struct sink *sink);
void reply_costs(const struct ending *ending, const char *id,
                 struct sink *sink);

/* Append a problem (RFC 9457) to text. */
void reply_problem(const struct problem *problem, struct text *text);

/* Append a small object, and free it. */
void reply_object(struct cJSON *object, struct text *text);

/* The media type that the file's name promises. Static. */
const char *media_type(const char *name);

#endif

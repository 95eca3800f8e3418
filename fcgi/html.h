/*
 * html.h - what the responder answers, as a page for a browser.
 *
 * Pure. A page stands alone: no script, no request of its own, everything
 * that a program or a client wrote escaped.
 */

#ifndef SANDBOX_HTML_H
#define SANDBOX_HTML_H

#include "request.h"
#include "run.h"

struct cJSON;

/* Goes with every page: its one style sheet and its images, nothing else. */
extern const char html_policy[];  /* a header */

/*
 * Print the reply of a run of code, a raw JSON string. Returns 0, or -1 as
 * soon as write does.
 */
int html_reply(const struct result *result, struct span code, const char *id,
               json_write *write, void *context);

/* Print a problem. Returns the same. */
int html_problem(const struct problem *problem, json_write *write,
                 void *context);

/* Print an object of numbers, words, and objects of such, as tables: /status.
 * The names in it are our own. Returns the same. */
int html_status(const struct cJSON *status, json_write *write,
                void *context);

#endif

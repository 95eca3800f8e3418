/*
 * events.h - a run as a stream of events (text/event-stream).
 *
 * While the program runs, what it prints; when it has ended, the rest:
 *
 *     output  {"text": "..."}, as often as there is more; the texts, one
 *             behind the other, are the JSON reply's output
 *     figure  an element of the JSON reply's figures
 *     file    an element of its files
 *     done    its other members
 *
 * What a reader does not take in time is not lost: it comes in the end. So
 * does what is printed beyond the head of the output, of which only the end
 * knows what is left out.
 */

#ifndef SANDBOX_EVENTS_H
#define SANDBOX_EVENTS_H

#include "capture.h"
#include "http.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct result;

struct events {
    struct http *http;    /* borrowed */
    size_t at;            /* bytes of the output that are sent, or on the way */
    int64_t last_ms;      /* when there was an event */
};

/* The reply has begun, with http_begin(): send that much. */
void events_begin(struct events *events, struct http *http);

/*
 * While the program runs: what to wait for (fd -1: nothing), and what to do
 * when that is so. Never blocks. events may be NULL, for nobody who listens.
 */
struct pollfd events_poll(struct events *events, const struct capture *output);
void events_step(struct events *events, const struct capture *output);

/*
 * Send all the rest. Blocks, for as long as a whole reply may take. Returns
 * 0, or -1 when the reader has gone away.
 */
int events_end(struct events *events, const struct result *result,
               const char *id);

#endif

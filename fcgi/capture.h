/*
 * capture.h - what a program printed: its head and its tail, within a bound.
 *
 * Pure. Takes any amount and keeps at most `max` bytes of it: three quarters
 * from the beginning, one quarter from the end.
 */

#ifndef SANDBOX_CAPTURE_H
#define SANDBOX_CAPTURE_H

#include "text.h"

#include <stddef.h>
#include <stdint.h>

struct capture {
    struct text kept;
    size_t max;      /* at least 4 */
    uint64_t total;  /* bytes seen */
};

void capture_init(struct capture *capture, size_t max);
void capture_add(struct capture *capture, const char *data, size_t len);

/*
 * Append what was kept to text; when something was left out, a line between
 * head and tail says how many bytes. No character is cut in two. Returns the
 * bytes left out.
 */
uint64_t capture_print(const struct capture *capture, struct text *text);

/*
 * How many bytes from number `from` on are sure to be printed as they are,
 * whatever comes yet, and end with a whole character: of the head, at most
 * `most` (8 or more). They stand at kept.data + from.
 */
size_t capture_whole(const struct capture *capture, size_t from, size_t most);

void capture_clear(struct capture *capture);

#endif

/*
 * form.h - the bodies of web forms, a field or a file at a time.
 *
 * application/x-www-form-urlencoded (WHATWG's URL standard) and
 * multipart/form-data (RFC 7578). What the fields mean is the caller's. Pure:
 * no descriptors, no logging; total on any bytes, in time and memory that grow
 * as the body does. Running out of memory ends the process, as in text.h.
 */

#ifndef SANDBOX_FORM_H
#define SANDBOX_FORM_H

#include "json.h"

#include <stdbool.h>
#include <stddef.h>

enum { FORM_MAX_BOUNDARY = 70 };  /* RFC 2046, 5.1.1 */

/* Decoded. Owned by the form, until the next call with it. */
struct form_part {
    struct span name;
    char *filename;  /* UTF-8, ends in NUL; NULL when this is no file */
    char *data;      /* a NUL behind it; take it by setting this to NULL */
    size_t size;
};

struct form {
    struct span body;  /* borrowed */
    size_t at;
    size_t count;      /* parts begun */
    bool is_closed;    /* the last delimiter is behind us */
    char delimiter[4 + FORM_MAX_BOUNDARY + 1];  /* "\r\n--boundary", or
                                                   empty: not multipart */
    struct form_part part;
    char why[256];     /* what is wrong, a sentence; empty while all is well */
};

/* Stand before the first field of a body, which is borrowed. */
void form_open_urlencoded(struct form *form, struct span body);

/*
 * The same for a multipart body; content_type is the whole header. Returns 0,
 * or -1 with form->why set.
 */
int form_open_multipart(struct form *form, const char *content_type,
                        struct span body);

/*
 * Decode the next field or file. Returns 1 with form->part set; 0 behind the
 * last; -1 with form->why set. Not to be called again after 0 or -1.
 */
int form_next(struct form *form);

/* Wipe and free what the form owns: the key may stand in it. */
void form_close(struct form *form);

#endif

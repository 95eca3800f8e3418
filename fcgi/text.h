/*
 * text.h - a string that grows, for what the responder says.
 *
 * Begin with a zeroed struct. Running out of memory ends the process: a worker
 * that cannot hold a few kilobytes serves nobody, and the master replaces it.
 */

#ifndef SANDBOX_TEXT_H
#define SANDBOX_TEXT_H

#include "json.h"

#include <stddef.h>

struct text {
    char *data;  /* owned; ends in NUL once anything was added */
    size_t len;
    size_t size;
};

/* Append len bytes. Returns 0, always: fits json_write. */
int text_add(void *text, const char *data, size_t len);

/* Append as printf does. */
void text_print(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append a JSON string that says the same, or raw JSON as it is. */
void text_quote(struct text *text, const char *data, size_t len);
void text_raw(struct text *text, struct span raw);

/* Free the memory; the text is empty again. */
void text_clear(struct text *text);

/* malloc and strdup that end the process, as above. */
void *must_alloc(size_t size);
char *must_copy(const char *string);

/* What a hexadecimal digit stands for, or -1. */
int hex_digit(char byte);

#endif

/*
 * sink.h - where a reply is printed to, piece by piece.
 *
 * Pure. Begin with {write, context, 0}; write is not called again once it has
 * failed, and what is printed then goes nowhere.
 */

#ifndef SANDBOX_SINK_H
#define SANDBOX_SINK_H

#include "json.h"

#include <stddef.h>

struct sink {
    json_write *write;
    void *context;  /* borrowed */
    int rc;         /* -1 once write has failed */
};

/* Print bytes, a string, or as printf does. */
void sink_bytes(struct sink *sink, const char *data, size_t len);
void sink_string(struct sink *sink, const char *string);
void sink_print(struct sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print any bytes as a JSON string. */
void sink_quote(struct sink *sink, const char *data, size_t len);

/* Print base64 of any bytes, without a copy of it all. */
void sink_base64(struct sink *sink, const char *data, size_t size);

/*
 * Print any bytes as text of an HTML element, or of an attribute in double
 * quotes. Controls are made visible, what is no UTF-8 becomes U+FFFD.
 */
void sink_html(struct sink *sink, const char *data, size_t len);

#endif

/*
 * market_request.h - what a program may ask of the market-data server.
 *
 * The grammar of the packets on the market descriptor: fields, never a URL
 * and never text that is encoded already. Pure: no descriptors, no logging;
 * total on any bytes.
 */

#ifndef SANDBOX_MARKET_REQUEST_H
#define SANDBOX_MARKET_REQUEST_H

#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes, but for the number of parameters. */
enum {
    MARKET_PATH_MAX = 128,
    MARKET_NAME_MAX = 64,
    MARKET_VALUE_MAX = 2048,
    MARKET_PARAMETERS_MAX = 32
};

struct market_parameter {
    char *name;   /* owned; letters, digits, '_' and '-' */
    char *value;  /* owned; UTF-8 without control characters */
};

struct market_request {
    uint32_t call;  /* the program's own number for it */
    char *path;     /* owned; letters, digits, '-' and, between them, '/' */
    struct market_parameter *parameters;  /* owned; sorted, no name twice */
    size_t parameter_count;
    bool refresh;   /* nothing that is kept will do */
};

/*
 * Read the packet of len bytes, which is not kept.
 *
 * On success fills *request, to be given to market_request_clear(); returns
 * 0. On failure *request is empty but for call, which is 0 where no number
 * could be read; writes a sentence to why, that names the member at fault;
 * returns -1.
 */
int market_request_parse(const char *packet, size_t len,
                         struct market_request *request,
                         char *why, size_t why_size);

/* The value of a parameter: borrowed, or NULL when it is not there. */
const char *market_request_value(const struct market_request *request,
                                 const char *name);

/*
 * Append what is asked for: the same text for the same path and parameters in
 * whatever order they came, another for anything else.
 */
void market_request_print(const struct market_request *request,
                          struct text *text);

/* Free what is owned; call stays. Harmless to repeat. */
void market_request_clear(struct market_request *request);

#endif

/*
 * request.h - from a request's body to the job that it asks for.
 *
 * The whole contract of a POST is checked here, before anything is spawned.
 * Pure: no descriptors, no logging, no exit.
 */

#ifndef SANDBOX_REQUEST_H
#define SANDBOX_REQUEST_H

#include "json.h"

#include <stddef.h>

/* One file for the working directory. */
struct input_file {
    char *name;  /* owned; relative, safe to open below a directory */
    char *data;  /* owned */
    size_t size;
};

struct job {
    struct span code;          /* raw JSON string; borrowed from the body, or
                                  from text where that is a form */
    struct span context;       /* raw JSON object, likewise, or at == NULL */
    char *text;                /* owned: a form's fields as JSON, or NULL */
    size_t text_len;
    char *key;                 /* owned, NUL-terminated, or NULL */
    struct input_file *files;  /* owned; sorted, no name twice and none the
                                  directory of another */
    size_t file_count;
    double timeout;            /* seconds, more than 0 however little */
};

/* Why there is no job, fit to be sent to anyone (RFC 9457). */
struct problem {
    int status;
    char title[32];
    char detail[512];  /* one sentence: UTF-8, no control characters */
    char member[64];   /* the member at fault, or empty */
};

struct request_limits {
    size_t max_body;        /* bytes */
    size_t max_code;        /* bytes of the decoded program */
    size_t max_files;
    size_t max_file_bytes;  /* of all files, decoded */
    double timeout;         /* seconds; also what a job gets that asks none */
    int max_depth;          /* of nested arrays and objects */
};

/*
 * Read the job in the len bytes at body, which need not end in NUL.
 * content_type is the header's value, or NULL; it tells which of three ways
 * the job is carried: JSON, or a form of either kind.
 *
 * On success fills *job, to be given to job_clear(), and returns 0; its spans
 * live as long as the body. An empty key counts as none. On failure leaves
 * *job alone, fills *problem with a status of 400, 413 or 415 (503 without
 * memory) and returns -1. No byte of the key gets into *problem; where it
 * stands in the body, it is the caller's to wipe.
 */
int request_parse(const char *content_type, const char *body, size_t len,
                  const struct request_limits *limits, struct job *job,
                  struct problem *problem);

/* Wipe the key, free what is owned, and leave an empty job. */
void job_clear(struct job *job);

#endif

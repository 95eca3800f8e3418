/*
 * collect.h - files into a run's file system, and out of it again.
 *
 * Out of an untrusted tree, by the worker, when nothing of the run is alive:
 * regular files alone, below one descriptor, bounded before they are read;
 * names are data and never a path of the host.
 */

#ifndef SANDBOX_COLLECT_H
#define SANDBOX_COLLECT_H

#include "request.h"
#include "text.h"

#include <stdbool.h>
#include <stddef.h>

struct found_file {
    char *name;        /* owned; as the working directory has it */
    char *data;        /* owned; the file itself, in the run's file system */
    size_t size;
};

struct collected {
    struct found_file *files;    /* owned; sorted by name */
    size_t file_count;
    struct found_file *figures;  /* owned; PNG, in order */
    size_t figure_count;
    struct text notes;           /* a sentence a line */
    struct text limits;          /* likewise: what a cap left out */
    bool was_denied;             /* something that is there was not opened */
};

struct collect_limits {
    size_t files, file_bytes;             /* in all */
    size_t figures, figure_bytes, figure_pixels;
};

/*
 * Put the job's input files into the working directory below work_fd, before
 * the job is sent. Returns 0, or -1 with errno (ENOSPC: they do not fit).
 */
int collect_put(int work_fd, const struct job *job);

/*
 * Take files and figures, when nothing of the run is alive. Files that are as
 * the job brought them are left out. owner_fd: the user namespace with power
 * over them, for those whose mode forbids us to read them; one that has it
 * is forked for that. Fills *collected, for collect_clear().
 */
void collect_take(int work_fd, int owner_fd, const struct job *job,
                  const struct collect_limits *limits,
                  struct collected *collected);

void collect_clear(struct collected *collected);

#endif

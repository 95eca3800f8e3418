/*
 * root.h - the file tree that a run lives in.
 *
 * One tree for all, put together once and read-only: what Python needs of the
 * host and nothing else. And for each run a tmpfs, the one place it can write
 * to. Every function dies on failure.
 */

#ifndef SANDBOX_ROOT_H
#define SANDBOX_ROOT_H

#include <stddef.h>

/* Where things are outside; inside they stand at the paths below. */
struct sources {
    const char *package;     /* the Python package sandbox */
    const char *matplotlib;  /* prebuilt configuration, or NULL */
    char **python_path;      /* further directories, NULL-terminated */
};

#define INSIDE_PYTHON "/opt/python"
#define INSIDE_BOX "/run/box"        /* the run's tmpfs, as a whole */
#define INSIDE_WORK "/work"
#define INSIDE_MATPLOTLIB INSIDE_BOX "/matplotlib"

/*
 * Put the tree together and make it this process's root. Needs a mount
 * namespace of its own, and the power over it. Once, in the zygote.
 */
void root_enter(const struct sources *sources);

/*
 * Make the file system of one run, not mounted anywhere yet. It belongs to
 * that user and group of this user namespace. Returns its
 * descriptor, owned by the caller; whoever holds it can read the files after
 * everything else of the run is gone.
 */
int root_work_open(size_t size, size_t inodes, unsigned int id);

/*
 * Mount it, in this process's mount namespace: at INSIDE_BOX, and parts of it
 * as INSIDE_WORK, /tmp and /dev/shm.
 */
void root_work_mount(int work_fd);

/* Give the run a /proc that shows its own processes alone, or none. */
void root_proc_mount(void);

/* Create a file below directory with that text, or write into it. */
void write_file(int directory, const char *name, const char *text);

#endif

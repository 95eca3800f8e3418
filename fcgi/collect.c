#include "collect.h"

#include "handover.h"
#include "log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 16,
    NOTES_MAX = 20,
    NAME_MAX_BYTES = 1024,
    LISTED_MAX = 5       /* names in one sentence */
};

static const unsigned char png_signature[8] = {
    0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',
};

/* Open below a directory, through no link and onto no other file system. */
static int
open_below(int directory, const char *path, uint64_t flags)
{
    struct open_how how = {
        .flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
        .mode = flags & O_CREAT ? 0666 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };

    return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

/*** In ***/

static int
write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t len = write(fd, data, size);

        if (len == -1)
            return -1;
        data += len;
        size -= (size_t)len;
    }
    return 0;
}

static int
make_parents(int directory, const char *name)
{
    char path[NAME_MAX_BYTES + 1];

    snprintf(path, sizeof(path), "%s", name);
    for (char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        if ((mkdirat(directory, path, 0777) == -1 ||
             fchmodat(directory, path, 0777, 0) == -1) && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return 0;
}

static int
put(int directory, const struct input_file *file)
{
    int fd, rc;

    if (make_parents(directory, file->name) == -1)
        return -1;
    fd = open_below(directory, file->name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd == -1)
        return -1;
    rc = write_all(fd, file->data, file->size);
    if (rc == 0)
        rc = fchmod(fd, 0666);  /* the run may have another id */
    close(fd);
    return rc;
}

int
collect_put(int work_fd, const struct job *job)
{
    int directory = open_below(work_fd, WORK_DIRECTORY, O_RDONLY | O_DIRECTORY);
    int rc = directory == -1 ? -1 : 0;

    for (size_t i = 0; rc == 0 && i < job->file_count; i++)
        rc = put(directory, &job->files[i]);
    if (directory != -1)
        close(directory);
    return rc;
}

/*** Out: which files there are ***/

struct entry {
    char *name;  /* owned */
    size_t size;
};

struct listing {
    struct collected *collected;
    struct entry *entries;  /* owned */
    size_t count, room;
    size_t notes;
    struct text *said;
};

/* A sentence on a file that does not come back; the first few of them. */
static void
note(struct listing *listing, const char *name, const char *why)
{
    if (listing->notes++ < NOTES_MAX)
        text_print(listing->said, "The file %s was left out: %s.\n", name,
                   why);
}

/* UTF-8 without control, direction or backslash: data for anyone. */
static bool
name_is_plain(const char *name)
{
    size_t len = strlen(name);

    while (len > 0) {
        int32_t code;
        size_t step = utf8_step(name, len, &code);

        if (utf8_is_unprintable(code) || code == '\\')
            return false;
        name += step;
        len -= step;
    }
    return true;
}

static void
add_entry(struct listing *listing, const char *name, off_t size)
{
    if (listing->count == listing->room) {
        listing->room = listing->room * 2 + 64;
        listing->entries = realloc(listing->entries, listing->room *
                                   sizeof(*listing->entries));
        if (listing->entries == NULL)
            _Exit(111);
    }
    listing->entries[listing->count++] =
        (struct entry){must_copy(name), (size_t)size};
}

static void list_directory(struct listing *listing, int parent,
                           const char *name, const char *prefix, int depth);

/* Look at one entry, `name` in the directory fd, `path` as it is reported. */
static void
list_entry(struct listing *listing, int fd, const char *name,
           const char *path, int depth)
{
    struct stat status;

    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    if (!name_is_plain(name))
        note(listing, "with an odd name", "it is not UTF-8, or has control "
             "or direction characters or a backslash");
    else if (S_ISDIR(status.st_mode))
        list_directory(listing, fd, name, path, depth + 1);
    else if (S_ISREG(status.st_mode))
        add_entry(listing, path, status.st_size);
    else
        note(listing, path, S_ISLNK(status.st_mode)
                 ? "it is a symbolic link; write the file itself"
                 : "it is no regular file");
}

static void
list_directory(struct listing *listing, int parent, const char *name,
               const char *prefix, int depth)
{
    int fd = open_below(parent, name, O_RDONLY | O_DIRECTORY);
    DIR *directory = fd == -1 ? NULL : fdopendir(fd);
    char path[NAME_MAX_BYTES + 1];
    struct dirent *entry;

    if (directory == NULL) {
        listing->collected->was_denied = true;
        if (depth == 0)
            text_print(listing->said, "No files come back: the directory "
                       "cannot be read; the program moved it away, or changed "
                       "its mode.\n");
        else
            note(listing, prefix, "the directory cannot be read");
        if (fd != -1)
            close(fd);
        return;
    }
    while ((entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (depth > DEPTH_MAX ||
            snprintf(path, sizeof(path), "%s%s%s", prefix,
                     *prefix == '\0' ? "" : "/",
                     entry->d_name) >= (int)sizeof(path))
            note(listing, prefix, "its directories are too deep");
        else
            list_entry(listing, fd, entry->d_name, path, depth);
    }
    closedir(directory);
}

static int
by_name(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;

    return strcmp(first->name, second->name);
}

static void
list(struct listing *listing, int work_fd, const char *directory,
     struct collected *collected, struct text *said)
{
    *listing = (struct listing){.collected = collected, .said = said};
    list_directory(listing, work_fd, directory, "", 0);
    if (listing->count > 0)
        qsort(listing->entries, listing->count, sizeof(*listing->entries),
              by_name);
    if (listing->notes > NOTES_MAX)
        text_print(said, "%zu more files were left out.\n",
                   listing->notes - NOTES_MAX);
}

static void
listing_clear(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->entries[i].name);
    free(listing->entries);
}

/*** Out: what is in them ***/

/*
 * Map size bytes, and one more, since there is no map of nothing: of fd, or
 * blank ones where that is -1. A map of a file that could be written to would
 * be populated with copies.
 */
static char *
must_map(int fd, size_t size)
{
    bool is_blank = fd == -1;
    char *data = mmap(NULL, size + 1, PROT_READ | (is_blank ? PROT_WRITE : 0),
                      MAP_PRIVATE | MAP_POPULATE |
                          (is_blank ? MAP_ANONYMOUS : 0), fd, 0);

    if (data == MAP_FAILED) {
        log_error("out of memory");
        _Exit(111);
    }
    return data;
}

static void
unmap(char *data, size_t size)
{
    if (data != NULL)
        munmap(data, size + 1);
}

/*
 * The data of one file of a known size, for unmap(), or NULL. They are not
 * copied: nothing of the run is alive, so the file keeps its size. One that
 * has holes is, since to touch a hole takes a page of the file system, and
 * where that is full the signal SIGBUS comes instead.
 */
static char *
take_data(int directory, const struct entry *entry)
{
    int fd = open_below(directory, entry->name, O_RDONLY);
    size_t size = entry->size;
    struct stat status;
    char *data = NULL;

    if (fd == -1)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        (size_t)status.st_size == size) {
        bool has_holes = lseek(fd, 0, SEEK_HOLE) != status.st_size;

        data = must_map(has_holes ? -1 : fd, size);
        if (has_holes && read(fd, data, size) != (ssize_t)size) {
            unmap(data, size);
            data = NULL;
        }
    }
    close(fd);
    return data;
}

static const struct input_file *
find_input(const struct job *job, const char *name)
{
    for (size_t i = 0; i < job->file_count; i++)
        if (strcmp(job->files[i].name, name) == 0)
            return &job->files[i];
    return NULL;
}

static bool
is_unchanged(const struct job *job, const struct entry *entry,
             const char *data)
{
    const struct input_file *input = find_input(job, entry->name);

    return input != NULL && input->size == entry->size &&
           memcmp(input->data, data, entry->size) == 0;
}

/* The caps on a kind of files, and what they left out so far. */
struct budget {
    size_t count, bytes;  /* still to be had */
    size_t left_out;
    struct text names;
};

static bool
budget_allows(struct budget *budget, const struct entry *entry)
{
    if (budget->count > 0 && entry->size <= budget->bytes)
        return true;
    if (budget->left_out++ < LISTED_MAX)
        text_print(&budget->names, "%s%s", budget->left_out > 1 ? ", " : "",
                   entry->name);
    return false;
}

static void
take_one(struct collected *collected, const struct job *job, int directory,
         const struct entry *entry, struct budget *budget)
{
    char *data;

    /* An input that was not touched costs nothing of the caps; one that was
     * grown over them is not read for that. */
    if (!(find_input(job, entry->name) != NULL &&
          entry->size <= find_input(job, entry->name)->size) &&
        !budget_allows(budget, entry))
        return;
    data = take_data(directory, entry);
    if (data == NULL) {
        collected->was_denied = true;
        text_print(&collected->notes, "The file %s was left out: it cannot be "
                   "read (its mode forbids it).\n", entry->name);
        return;
    }
    if (is_unchanged(job, entry, data) ||
        (find_input(job, entry->name) != NULL &&
         !budget_allows(budget, entry))) {
        unmap(data, entry->size);
        return;
    }
    budget->count--;
    budget->bytes -= entry->size;
    collected->files[collected->file_count++] =
        (struct found_file){must_copy(entry->name), data, entry->size};
}

static void
take_files(int work_fd, const struct job *job,
           const struct collect_limits *limits, struct collected *collected)
{
    struct budget budget = {.count = limits->files,
                            .bytes = limits->file_bytes};
    struct listing listing;
    int directory = open_below(work_fd, WORK_DIRECTORY, O_RDONLY | O_DIRECTORY);

    list(&listing, work_fd, WORK_DIRECTORY, collected, &collected->notes);
    collected->files = must_alloc((listing.count + 1) *
                                  sizeof(*collected->files));
    for (size_t i = 0; directory != -1 && i < listing.count; i++)
        take_one(collected, job, directory, &listing.entries[i], &budget);
    if (budget.left_out > 0)
        text_print(&collected->limits, "%zu file%s left out (%s%s): at most "
                   "%zu files with %zu MiB in all come back. Write fewer or "
                   "smaller ones.\n", budget.left_out,
                   budget.left_out == 1 ? " was" : "s were",
                   budget.names.data, budget.left_out > LISTED_MAX ? ", ..."
                                                                   : "",
                   limits->files, limits->file_bytes >> 20);
    text_clear(&budget.names);
    listing_clear(&listing);
    if (directory != -1)
        close(directory);
}

static uint32_t
big_endian(const char *at)
{
    const unsigned char *byte = (const unsigned char *)at;

    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 |
           (uint32_t)byte[2] << 8 | byte[3];
}

/* Looks like a PNG of bounded size; nothing is decoded here. */
static bool
is_figure(const char *data, size_t size, size_t pixels)
{
    if (size < 33 || memcmp(data, png_signature, sizeof(png_signature)) != 0 ||
        memcmp(data + 12, "IHDR", 4) != 0)
        return false;
    return (uint64_t)big_endian(data + 16) * big_endian(data + 20) <= pixels;
}

/* The sweep in the child keeps to the caps; a forger of it meets them here. */
static void
take_figures(int work_fd, const struct collect_limits *limits,
             struct collected *collected)
{
    size_t bytes = limits->figure_bytes;
    struct listing listing;
    struct text ignored = {0};
    int directory = open_below(work_fd, FIGURE_DIRECTORY,
                               O_RDONLY | O_DIRECTORY);

    list(&listing, work_fd, FIGURE_DIRECTORY, collected, &ignored);
    collected->figures = must_alloc((listing.count + 1) *
                                    sizeof(*collected->figures));
    for (size_t i = 0; directory != -1 && i < listing.count &&
                       collected->figure_count < limits->figures; i++) {
        const struct entry *entry = &listing.entries[i];
        char *data;

        if (entry->size > bytes || strlen(entry->name) != 7 ||
            strcmp(entry->name + 3, ".png") != 0)
            continue;
        data = take_data(directory, entry);
        if (data == NULL || !is_figure(data, entry->size,
                                       limits->figure_pixels)) {
            unmap(data, entry->size);
            continue;
        }
        bytes -= entry->size;
        collected->figures[collected->figure_count++] =
            (struct found_file){must_copy(entry->name), data, entry->size};
    }
    text_clear(&ignored);
    listing_clear(&listing);
    if (directory != -1)
        close(directory);
}

/*** Modes ***/

/* Let everybody read what is in a directory, and what is below it. Nobody is
 * there to put a link in the way. Takes fd over. */
static void
open_up(int fd, int depth)
{
    DIR *directory = fdopendir(fd);
    struct stat status;

    for (struct dirent *entry; directory != NULL &&
         (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        if (S_ISREG(status.st_mode))
            (void)!fchmodat(fd, entry->d_name, 0644, 0);
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX &&
            fchmodat(fd, entry->d_name, 0755, 0) == 0)
            open_up(open_below(fd, entry->d_name, O_RDONLY | O_DIRECTORY),
                    depth + 1);
    }
    if (directory != NULL)
        closedir(directory);
}

/* Do so with the power of the namespace that the files belong to: in a
 * process of its own, since there is no way back from there. */
static void
open_up_as_owner(int work_fd, int owner_fd)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (setns(owner_fd, CLONE_NEWUSER) == 0)
            open_up(open_below(work_fd, ".", O_RDONLY | O_DIRECTORY), 0);
        _exit(0);
    }
    /* Where SIGCHLD is ignored, this waits as well. */
    while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
        continue;
}

/*** Both ***/

static void
take(int work_fd, const struct job *job, const struct collect_limits *limits,
     struct collected *collected)
{
    *collected = (struct collected){0};
    take_files(work_fd, job, limits, collected);
    take_figures(work_fd, limits, collected);
}

void
collect_take(int work_fd, int owner_fd, const struct job *job,
             const struct collect_limits *limits, struct collected *collected)
{
    take(work_fd, job, limits, collected);
    if (!collected->was_denied)
        return;
    open_up_as_owner(work_fd, owner_fd);
    collect_clear(collected);
    take(work_fd, job, limits, collected);
}

static void
clear_files(struct found_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(files[i].name);
        unmap(files[i].data, files[i].size);
    }
    free(files);
}

void
collect_clear(struct collected *collected)
{
    clear_files(collected->files, collected->file_count);
    clear_files(collected->figures, collected->figure_count);
    text_clear(&collected->notes);
    text_clear(&collected->limits);
    *collected = (struct collected){0};
}

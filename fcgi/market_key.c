#include "market_key.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_MAX = 256 };

/* Open it if it is fit to hold a key. Returns the descriptor or -1. */
static int
open_key(const char *path, char *why, size_t why_size)
{
    /* Not to hang on what is no file at all. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat stat;

    if (fd == -1 || fstat(fd, &stat) == -1) {
        snprintf(why, why_size, "fmp_key_file: cannot read %s: %s", path,
                 strerror(errno));
    } else if (!S_ISREG(stat.st_mode)) {
        snprintf(why, why_size, "fmp_key_file: %s is not a regular file",
                 path);
    } else if (stat.st_mode & (S_IRGRP | S_IROTH)) {
        snprintf(why, why_size, "fmp_key_file: %s can be read by others than "
                 "its owner; chmod 600 it", path);
    } else {
        return fd;
    }
    if (fd != -1)
        close(fd);
    return -1;
}

/* The key in a file's text, without the white space around it, or NULL. */
static char *
find_key(const char *text)
{
    const char *start = text + strspn(text, " \t\r\n");
    size_t len = strcspn(start, " \t\r\n");
    const char *rest = start + len + strspn(start + len, " \t\r\n");

    if (len == 0 || len > KEY_MAX || *rest != '\0')
        return NULL;
    for (size_t i = 0; i < len; i++)
        if (start[i] <= ' ' || start[i] > '~')
            return NULL;
    return memcpy(must_alloc(len), start, len);
}

int
market_key_check(const char *path, char *why, size_t why_size)
{
    int fd;

    if (*path == '\0')
        return 0;
    fd = open_key(path, why, why_size);
    if (fd != -1)
        close(fd);
    return fd == -1 ? -1 : 0;
}

int
market_key_read(const char *path, char **key, char *why, size_t why_size)
{
    char text[KEY_MAX + 64] = "";
    ssize_t len;
    int fd;

    *key = NULL;
    if (*path == '\0')
        return 0;
    fd = open_key(path, why, why_size);
    if (fd == -1)
        return -1;
    len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len > 0 && strlen(text) == (size_t)len)
        *key = find_key(text);
    explicit_bzero(text, sizeof(text));
    if (*key != NULL)
        return 0;
    snprintf(why, why_size, "fmp_key_file: %s does not hold one key of "
             "printable ASCII without spaces, at most %d characters", path,
             KEY_MAX);
    return -1;
}

void
market_key_free(char *key)
{
    if (key != NULL)
        explicit_bzero(key, strlen(key));
    free(key);
}

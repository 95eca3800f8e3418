#include "die.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int die_fd = STDERR_FILENO;
static const char *die_prefix = "sandbox-child: ";

void
die_to(int fd, const char *text)
{
    die_fd = fd;
    die_prefix = text;
}

void
die(const char *format, ...)
{
    char line[512];
    int used = snprintf(line, sizeof(line), "%s", die_prefix);
    va_list arguments;
    size_t len;

    va_start(arguments, format);
    used += vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format,
                      arguments);
    va_end(arguments);

    len = (size_t)used < sizeof(line) - 2 ? (size_t)used : sizeof(line) - 2;
    line[len] = '\n';
    /* Nobody is left to tell when this write fails; the exit status says it. */
    (void)!write(die_fd, line, len + 1);
    _exit(EXIT_SANDBOX);
}

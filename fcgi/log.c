#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static int log_fd = STDERR_FILENO;

int
log_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);

    if (fd == -1)
        return -1;
    log_fd = fd;
    return 0;
}

/* Copy what is printable, escape the rest, as far as there is room. */
static size_t
escape(char *to, size_t room, const char *from)
{
    size_t used = 0;

    for (; *from != '\0' && used + 5 < room; from++) {
        unsigned char byte = (unsigned char)*from;

        if (byte >= 0x20 && byte < 0x7f)
            to[used++] = *from;
        else
            used += (size_t)sprintf(to + used, "\\x%02x", byte);
    }
    return used;
}

__attribute__((format(printf, 2, 0)))
static void
write_line(const char *level, const char *format, va_list arguments)
{
    int saved_errno = errno;
    char message[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
    time_t now = time(NULL);
    struct tm utc;
    size_t used;

    errno = saved_errno;
    vsnprintf(message, sizeof(message), format, arguments);
    gmtime_r(&now, &utc);
    used = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%SZ ", &utc);
    used += (size_t)snprintf(line + used, sizeof(line) - used,
                             "sandbox-fcgi[%d]: %s", (int)getpid(), level);
    used += escape(line + used, sizeof(line) - used - 1, message);
    line[used++] = '\n';
    /* One write a line, so that processes do not mix; nowhere to tell if it
     * fails. */
    (void)!write(log_fd, line, used);
    errno = saved_errno;
}

void
log_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line("error: ", format, arguments);
    va_end(arguments);
}

void
log_warn(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line("warning: ", format, arguments);
    va_end(arguments);
}

void
log_info(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
}

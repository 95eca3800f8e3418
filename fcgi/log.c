#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096, TAIL_BYTES = sizeof("\"}\n") };

/* By syslog's numbers. */
enum level { LEVEL_ERROR = 3, LEVEL_WARN = 4, LEVEL_INFO = 6 };

static const char *const level_names[] = {
    [LEVEL_ERROR] = "error", [LEVEL_WARN] = "warning", [LEVEL_INFO] = "info",
};

static int log_fd = STDERR_FILENO;
static bool is_json;

/* A line that grows as far as there is room. */
struct line {
    char text[LINE_MAX_BYTES];
    size_t used;
};

int
log_open(const char *path)
{
    int fd = STDERR_FILENO;

    if (*path != '\0')
        fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (fd == -1)
        return -1;
    if (log_fd != STDERR_FILENO)
        close(log_fd);
    log_fd = fd;
    return 0;
}

void
log_as_json(bool wanted)
{
    is_json = wanted;
}

/* systemd tells which file the journal reads from us. */
static bool
is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char own[64];
    struct stat file;

    if (stream == NULL || fstat(fd, &file) == -1)
        return false;
    snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)file.st_dev,
             (uintmax_t)file.st_ino);
    return strcmp(stream, own) == 0;
}

__attribute__((format(printf, 2, 3)))
static void
put(struct line *line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    line->used += (size_t)vsnprintf(line->text + line->used,
                                    sizeof(line->text) - line->used, format,
                                    arguments);
    va_end(arguments);
}

/* Copy what is printable, escape the rest, as far as there is room. */
static void
escape(struct line *line, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)from[i];

        if (line->used + sizeof("\\\\xff") + TAIL_BYTES > LINE_MAX_BYTES)
            return;
        if (byte < 0x20 || byte >= 0x7f) {
            put(line, is_json ? "\\\\x%02x" : "\\x%02x", byte);
            continue;
        }
        if (is_json && (byte == '"' || byte == '\\'))
            line->text[line->used++] = '\\';
        line->text[line->used++] = from[i];
    }
}

/* What JSON has words for. */
static bool
is_bare(const char *value, size_t len)
{
    return (len > 0 && strspn(value, "-.0123456789") >= len) ||
           (len == 4 && strncmp(value, "true", 4) == 0) ||
           (len == 5 && strncmp(value, "false", 5) == 0);
}

/* The members of an event as those of an object, as far as there is room. */
static void
put_members(struct line *line, const char *members)
{
    while (*(members += strspn(members, " ")) != '\0') {
        size_t name = strcspn(members, "=");
        const char *value = members + name + (members[name] != '\0');
        size_t len = strcspn(value, " ");
        const char *quote = is_bare(value, len) ? "" : "\"";

        if (line->used + name + sizeof(",\"\":\"") + TAIL_BYTES >
            LINE_MAX_BYTES)
            return;
        put(line, ",\"%.*s\":%s", (int)name, members, quote);
        escape(line, value, len);
        put(line, "%s", quote);
        members = value + len;
    }
}

static void
begin(struct line *line, enum level level)
{
    time_t now = time(NULL);
    struct tm utc;
    char stamp[32];

    line->used = 0;
    if (is_journal(log_fd))
        put(line, "<%d>", level);
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (is_json)
        put(line, "{\"time\":\"%s\",\"level\":\"%s\",\"pid\":%d", stamp,
            level_names[level], (int)getpid());
    else
        put(line, "%s sandbox-fcgi[%d]: ", stamp, (int)getpid());
}

static void
end(struct line *line)
{
    put(line, is_json ? "}\n" : "\n");
    /* One write a line, so that processes do not mix; nowhere to tell if it
     * fails. */
    (void)!write(log_fd, line->text, line->used);
}

__attribute__((format(printf, 2, 0)))
static void
write_line(enum level level, const char *format, va_list arguments)
{
    int saved_errno = errno;
    char message[LINE_MAX_BYTES];
    struct line line;

    vsnprintf(message, sizeof(message), format, arguments);
    begin(&line, level);
    if (is_json)
        put(&line, ",\"message\":\"");
    else if (level != LEVEL_INFO)
        put(&line, "%s: ", level_names[level]);
    escape(&line, message, strlen(message));
    if (is_json)
        put(&line, "\"");
    end(&line);
    errno = saved_errno;
}

void
log_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(LEVEL_ERROR, format, arguments);
    va_end(arguments);
}

void
log_warn(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(LEVEL_WARN, format, arguments);
    va_end(arguments);
}

void
log_info(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(LEVEL_INFO, format, arguments);
    va_end(arguments);
}

void
log_event(const char *event, const char *id, const char *format, ...)
{
    int saved_errno = errno;
    char members[LINE_MAX_BYTES];
    struct line line;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(members, sizeof(members), format, arguments);
    va_end(arguments);
    begin(&line, LEVEL_INFO);
    if (is_json) {
        put(&line, ",\"event\":\"%s\",\"id\":\"%s\"", event, id);
        put_members(&line, members);
    } else {
        put(&line, "%s %s: ", event, id);
        escape(&line, members, strlen(members));
    }
    end(&line);
    errno = saved_errno;
}

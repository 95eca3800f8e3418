#include "http.h"

#include "log.h"
#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_SECONDS = 30,   /* for a whole request to come in */
    WRITE_SECONDS = 60,  /* for a whole reply to go out; nginx buffers it */
    LIVE_SECONDS = 300,  /* for the rest of a live one; nginx does not */
    CHUNK = 64 * 1024,
    RECORD_MAX = 32 * 1024,  /* of a FastCGI record that is our own */
    FCGI_STDOUT = 6
};

/* What the alarm cuts off. */
static volatile sig_atomic_t guarded_fd = -1;

static void
cut_off(int number)
{
    (void)number;
    if (guarded_fd != -1)
        shutdown(guarded_fd, SHUT_RDWR);
}

/* Give fd so many seconds from now; 0 ends the guard. */
static void
guard(int fd, int seconds)
{
    const struct itimerval timer = {.it_value.tv_sec = seconds};

    guarded_fd = seconds > 0 ? fd : -1;
    setitimer(ITIMER_REAL, &timer, NULL);
}

void
http_init(void)
{
    struct sigaction action = {.sa_handler = cut_off, .sa_flags = SA_RESTART};

    sigaction(SIGALRM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    FCGX_Init();
    /* It has taken these, for an accept() of its own. */
    signal(SIGTERM, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
}

int
http_accept(struct http *http, int listen_fd)
{
    FCGX_Request *fastcgi = &http->fastcgi;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd == -1) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            const struct timespec moment = {0, 100 * 1000 * 1000};

            log_error("cannot accept a connection: %m");
            nanosleep(&moment, NULL);
        }
        return -1;
    }
    *http = (struct http){.front = HTTP_FASTCGI};
    FCGX_InitRequest(fastcgi, -1, 0);
    /* libfcgi reads from a connection that it thinks it has kept. */
    fastcgi->ipcFd = fd;
    fastcgi->keepConnection = 1;
    guard(fd, READ_SECONDS);
    if (FCGX_Accept_r(fastcgi) < 0) {  /* it has closed fd */
        guard(-1, 0);
        return -1;
    }
    /* One request a connection: a kept one would occupy this worker. */
    fastcgi->keepConnection = 0;
    return 0;
}

void
http_open(struct http *http, enum http_front front)
{
    *http = (struct http){.front = front};
}

const char *
http_param(const struct http *http, const char *name)
{
    switch (http->front) {
    case HTTP_FASTCGI:
        return FCGX_GetParam(name, http->fastcgi.envp);
    case HTTP_CGI:
        return getenv(name);
    default:
        return NULL;
    }
}

struct pollfd
http_client(const struct http *http)
{
    if (http->front == HTTP_FASTCGI)
        return (struct pollfd){http->fastcgi.ipcFd, POLLIN | POLLRDHUP, 0};
    return (struct pollfd){STDOUT_FILENO, 0, 0};
}

/*** The body ***/

__attribute__((format(printf, 4, 5)))
static int
refuse(struct problem *problem, int status, const char *title,
       const char *format, ...)
{
    va_list arguments;

    *problem = (struct problem){.status = status};
    snprintf(problem->title, sizeof(problem->title), "%s", title);
    va_start(arguments, format);
    vsnprintf(problem->detail, sizeof(problem->detail), format, arguments);
    va_end(arguments);
    return -1;
}

static int
refuse_large(struct problem *problem, size_t max)
{
    return refuse(problem, 413, "Content Too Large", "The body has more than "
                  "the %zu bytes that a request may have.", max);
}

/* Read at most size bytes. Returns 0 at the end, -1 when it breaks off. */
static ssize_t
read_some(struct http *http, char *to, size_t size)
{
    ssize_t len;

    if (http->front == HTTP_FASTCGI) {
        len = FCGX_GetStr(to, (int)size, http->fastcgi.in);
        return FCGX_GetError(http->fastcgi.in) != 0 ? -1 : len;
    }
    do
        len = read(STDIN_FILENO, to, size);
    while (len == -1 && errno == EINTR);
    return len;
}

/*
 * What CONTENT_LENGTH says. Returns 0 with *length, or -1 for it to be
 * measured (absent or empty: a chunked body), or -2 when it is no number.
 */
static int
stated_length(const struct http *http, size_t *length)
{
    const char *value = http_param(http, "CONTENT_LENGTH");
    char *end;

    if (value == NULL || *value == '\0')
        return -1;
    if (strspn(value, "0123456789") != strlen(value))
        return -2;
    errno = 0;
    *length = strtoul(value, &end, 10);
    return errno != 0 ? -2 : 0;
}

/* Read until the end, or until there are `enough` bytes. */
static int
read_all(struct http *http, size_t enough, struct text *text)
{
    char chunk[CHUNK];
    ssize_t len = 1;

    while (len > 0 && text->len < enough) {
        size_t left = enough - text->len;

        len = read_some(http, chunk, left < CHUNK ? left : CHUNK);
        if (len > 0)
            text_add(text, chunk, (size_t)len);
    }
    return len == -1 ? -1 : 0;
}

int
http_body(struct http *http, size_t max, char **body, size_t *len,
          struct problem *problem)
{
    struct text text = {0};
    size_t stated = 0, enough = max + 1;
    int known = stated_length(http, &stated);
    int rc = 0;

    /* A CGI server need not end standard input behind the body. */
    if (http->front == HTTP_CGI)
        enough = stated;
    if (known == -2)
        rc = refuse(problem, 400, "Bad Request", "CONTENT_LENGTH is not a "
                    "whole number of bytes.");
    else if (known == 0 && stated > max)
        rc = refuse_large(problem, max);
    else if (read_all(http, enough, &text) == -1)
        rc = refuse(problem, 400, "Bad Request", "The body broke off.");
    else if (text.len > max)
        rc = refuse_large(problem, max);
    else if (known == 0 && text.len != stated)
        rc = refuse(problem, 400, "Bad Request", "The body has %zu bytes, but "
                    "CONTENT_LENGTH says %zu.", text.len, stated);
    guard(-1, 0);
    if (rc == -1) {
        text_clear(&text);
        return -1;
    }
    text_add(&text, "", 0);
    *body = text.data;
    *len = text.len;
    return 0;
}

/*** The reply ***/

static const char *
reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } table[] = {
        {200, "OK"}, {400, "Bad Request"}, {404, "Not Found"},
        {405, "Method Not Allowed"}, {406, "Not Acceptable"},
        {413, "Content Too Large"}, {415, "Unsupported Media Type"},
        {503, "Service Unavailable"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].status == status)
            return table[i].reason;
    return "Internal Server Error";
}

void
http_begin(struct http *http, int status, const char *type,
           const char *header)
{
    struct text head = {0};
    const char *method;

    if (http->front == HTTP_STDIO)
        return;
    if (http->front == HTTP_FASTCGI)
        guard(http->fastcgi.ipcFd, WRITE_SECONDS);
    text_print(&head, "Status: %d %s\r\nContent-Type: %s\r\n"
               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
               "%s%s\r\n", status, reason(status), type,
               header != NULL ? header : "", header != NULL ? "\r\n" : "");
    http_write(http, head.data, head.len);
    text_clear(&head);
    http->sent = 0;
    method = http_param(http, "REQUEST_METHOD");
    http->is_bodiless = method != NULL && strcmp(method, "HEAD") == 0;
}

/* Put text into FastCGI records, unsent. */
static void
add_records(struct http *http, const char *text, size_t len)
{
    struct text *unsent = &http->unsent;

    for (size_t step; len > 0; text += step, len -= step) {
        int id = http->fastcgi.requestId;

        step = len < RECORD_MAX ? len : RECORD_MAX;
        text_add(unsent, (const char[]){1, FCGI_STDOUT, (char)(id >> 8),
                                        (char)id, (char)(step >> 8),
                                        (char)step, 0, 0}, 8);
        text_add(unsent, text, step);
    }
}

/* Send all that is unsent. */
static int
send_unsent(struct http *http)
{
    struct text *unsent = &http->unsent;

    for (size_t at = 0; at < unsent->len;) {
        ssize_t sent = send(http->fastcgi.ipcFd, unsent->data + at,
                            unsent->len - at, MSG_NOSIGNAL);

        if (sent > 0)
            at += (size_t)sent;
        else if (errno != EINTR)
            return -1;
    }
    unsent->len = 0;
    return 0;
}

/* libfcgi writes 8 KiB at a time: what is much longer goes past it. */
static int
write_fastcgi(struct http *http, const char *text, size_t len)
{
    FCGX_Stream *out = http->fastcgi.out;

    if (len < RECORD_MAX)
        return FCGX_PutStr(text, (int)len, out) == (int)len ? 0 : -1;
    if (FCGX_FFlush(out) == -1)
        return -1;
    add_records(http, text, len);
    return send_unsent(http);
}

int
http_write(void *context, const char *text, size_t len)
{
    struct http *http = context;

    if (http->is_bodiless)
        return 0;
    http->sent += len;
    if (http->front == HTTP_FASTCGI)
        return write_fastcgi(http, text, len);
    while (len > 0) {
        ssize_t written = write(STDOUT_FILENO, text, len);

        if (written == -1 && errno == EINTR)
            continue;
        if (written == -1)
            return -1;
        text += written;
        len -= (size_t)written;
    }
    return 0;
}

/*** A reply that begins before its end is known ***/

struct pollfd
http_live(struct http *http)
{
    /* What CGI and --stdio write to need not be a socket: they wait. */
    if (http->front != HTTP_FASTCGI || http->is_broken)
        return (struct pollfd){-1, 0, 0};
    return (struct pollfd){http->fastcgi.ipcFd, POLLOUT, 0};
}

void
http_begin_live(struct http *http)
{
    http->is_live = true;
    if (http->front == HTTP_FASTCGI)
        http->is_broken = FCGX_FFlush(http->fastcgi.out) == -1;
    guard(-1, 0);  /* a run may take longer; nothing blocks until its end */
}

void
http_offer(struct http *http, const char *text, size_t len)
{
    struct text *unsent = &http->unsent;
    ssize_t sent;

    http->sent += len;
    add_records(http, text, len);
    sent = send(http->fastcgi.ipcFd, unsent->data, unsent->len,
                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
        unsent->len -= (size_t)sent;
        memmove(unsent->data, unsent->data + sent, unsent->len);
    }
    http->is_broken = sent == -1 && errno != EAGAIN && errno != EINTR;
}

int
http_end_live(struct http *http)
{
    http->is_live = false;
    if (http->front != HTTP_FASTCGI)
        return 0;
    guard(http->fastcgi.ipcFd, LIVE_SECONDS);
    return http->is_broken ? -1 : send_unsent(http);
}

/* A body that was not read has the server's end of a socket reset when we end,
 * and the reply is lost with it (Apache's mod_cgid). */
static void
discard_rest(void)
{
    const struct timeval timeout = {.tv_sec = 5};
    char chunk[CHUNK];

    if (setsockopt(STDIN_FILENO, SOL_SOCKET, SO_RCVTIMEO, &timeout,
                   sizeof(timeout)) == 0) {
        shutdown(STDOUT_FILENO, SHUT_WR);
        while (recv(STDIN_FILENO, chunk, CHUNK, 0) > 0)
            ;
    }
}

void
http_finish(struct http *http)
{
    if (http->is_finished)
        return;
    http->is_finished = true;
    text_clear(&http->unsent);
    /* Given up, perhaps within a record: nothing can follow. */
    if (http->is_live && http->front == HTTP_FASTCGI)
        shutdown(http->fastcgi.ipcFd, SHUT_RDWR);
    if (http->front == HTTP_FASTCGI)
        FCGX_Finish_r(&http->fastcgi);
    if (http->front == HTTP_CGI)
        discard_rest();
    guard(-1, 0);
}

/*** Accept ***/

/* Is there a parameter before the q-value? Our types have none. */
static bool
is_narrowed(const char *parameters)
{
    if (*parameters != ';')
        return false;
    parameters += 1 + strspn(parameters + 1, " \t");
    return (*parameters != 'q' && *parameters != 'Q') || parameters[1] != '=';
}

/* How closely a range of len bytes fits type: 0 not at all, 3 exactly. */
static int
fit(const char *range, size_t len, const char *type)
{
    size_t main_len = strcspn(type, "/") + 1;

    if (len == 3 && strncmp(range, "*/*", 3) == 0)
        return 1;
    if (len == main_len + 1 && range[len - 1] == '*' &&
        strncasecmp(range, type, main_len) == 0)
        return 2;
    return len == strlen(type) && strncasecmp(range, type, len) == 0 ? 3 : 0;
}

/* The q-value among a range's parameters; 1 without one. */
static double
quality(const char *parameters, const char *end)
{
    while (parameters < end && *parameters == ';') {
        parameters += 1 + strspn(parameters + 1, " \t");
        if ((*parameters == 'q' || *parameters == 'Q') && parameters[1] == '=')
            return strtod(parameters + 2, NULL);
        parameters += strcspn(parameters, ";,");
    }
    return 1;
}

/*
 * The q-value that accept gives type: of the range that fits it most closely.
 * 0 when none does. *closeness: larger for a narrower range.
 */
static double
quality_of(const char *accept, const char *type, int *closeness)
{
    double q = 0;

    *closeness = 0;
    while (*(accept += strspn(accept, " \t,")) != '\0') {
        const char *end = accept + strcspn(accept, ",");
        size_t len = strcspn(accept, " \t;,");
        const char *parameters = accept + len + strspn(accept + len, " \t");
        int close = 2 * fit(accept, len, type);

        if (close > 0 && is_narrowed(parameters))
            close--;
        if (close > *closeness) {
            *closeness = close;
            q = quality(parameters, end);
        }
        accept = end;
    }
    return q;
}

int
http_choose(const char *accept, const char *const *types, int count)
{
    int chosen = -1, closest = 0;
    double best = 0;

    if (accept == NULL || accept[strspn(accept, " \t,")] == '\0')
        return 0;
    for (int i = 0; i < count; i++) {
        int closeness;
        double q = quality_of(accept, types[i], &closeness);

        if (q > best || (q > 0 && q == best && closeness > closest)) {
            chosen = i;
            best = q;
            closest = closeness;
        }
    }
    return chosen;
}

/*
 * http.h - one request and its reply, whatever brings them.
 *
 * Three fronts: a FastCGI connection, a CGI process (environment, standard
 * input and output), and --stdio (a job in, a reply out, no headers). Behind
 * this header they are the same: parameters, one bounded body, one reply.
 */

#ifndef SANDBOX_HTTP_H
#define SANDBOX_HTTP_H

#include "request.h"
#include "text.h"

#include <fcgiapp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum http_front { HTTP_FASTCGI, HTTP_CGI, HTTP_STDIO };

struct http {
    enum http_front front;
    FCGX_Request fastcgi;
    bool is_bodiless;  /* HEAD: all but the headers is dropped */
    bool is_live;      /* between http_begin_live() and http_end_live() */
    bool is_finished;
    bool is_broken;    /* a live reply that can be sent to nobody */
    size_t sent;       /* bytes of the reply's body */
    struct text unsent;  /* FastCGI records of our own, or a part of one */
};

/*
 * Once in a process, before any other. A connection that says nothing for
 * too long is closed by a timer (SIGALRM, taken by this module).
 */
void http_init(void);

/*
 * Wait for a FastCGI request on listen_fd. Returns 0 with *http ready; -1
 * when a connection came to nothing: then just call again. Blocks.
 */
int http_accept(struct http *http, int listen_fd);

/* The request that this process was started for. */
void http_open(struct http *http, enum http_front front);

/* A CGI parameter, or NULL. Borrowed until http_finish(). */
const char *http_param(const struct http *http, const char *name);

/*
 * Read the whole body, at most max bytes. On success *body is owned by the
 * caller; returns 0. Else fills *problem (400 when it is not as long as it
 * says, 413 when it is longer than max) and returns -1.
 */
int http_body(struct http *http, size_t max, char **body, size_t *len,
              struct problem *problem);

/*
 * To poll for the reader's leaving. Where one socket is both input and output
 * (CGI, --stdio), its shutdown behind the body is no leaving, and not asked
 * for.
 */
struct pollfd http_client(const struct http *http);

/*
 * Write status and headers: type, and header ("Name: value", or several with
 * CRLF between them) when not NULL. Called once, before http_write().
 */
void http_begin(struct http *http, int status, const char *type,
                const char *header);

/* Write a part of the reply's body; a json_write whose context is *http. */
int http_write(void *http, const char *text, size_t len);

/*
 * A live reply, a part of which is sent while other things go on: after
 * http_begin(), http_begin_live() sends the headers. When http_live() can be
 * written to, http_offer() takes text (or none, for what is left of earlier
 * text), sends what the reader takes at once, keeps the rest in unsent, and
 * never blocks. http_end_live() sends that rest, and blocks; http_write() may
 * follow. Returns 0, or -1 when the reader has gone away.
 *
 * http_live() is -1 for a front that is sent all in the end.
 */
void http_begin_live(struct http *http);
struct pollfd http_live(struct http *http);
void http_offer(struct http *http, const char *text, size_t len);
int http_end_live(struct http *http);

/* End the reply, and the connection; once is enough. */
void http_finish(struct http *http);

/*
 * Of count media types, the one that the header Accept (NULL: absent) wants
 * most: by q-values and the most specific range that matches each (RFC 9110,
 * 12.5.1). Among equals it is the one named more closely, then the earlier.
 * Returns its index, or -1 when none is allowed.
 */
int http_choose(const char *accept, const char *const *types, int count);

#endif

#include "market_fetch.h"

#include "clock.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <curl/curl.h>

enum {
    CONNECT_MS = 5000,
    CONNECTIONS = 8,
    EVENTS = 16
};

struct fetcher {
    CURLM *multi;
    const char *url, *ca;
    size_t *held;
    int epoll_fd;      /* curl's sockets, and the timer */
    int timer_fd;
    int64_t curl_ms;   /* when curl wants to be called; INT64_MAX: never */
    int64_t wake_ms;   /* when our caller does */
};

struct fetch {
    struct fetcher *fetcher;
    CURL *easy;
    struct curl_slist *headers;
    void *owner;
    const char *too_large;  /* why the body was given up, or NULL */
    int patience_ms;
    struct text body;
};

/*** Memory that curl gives back, and that may have had the key in it ***/

static void
wipe_and_free(void *memory)
{
    if (memory != NULL)
        explicit_bzero(memory, malloc_usable_size(memory));
    free(memory);
}

static void *
wipe_and_realloc(void *memory, size_t size)
{
    size_t old_size = memory != NULL ? malloc_usable_size(memory) : 0;
    void *other = malloc(size);

    if (other == NULL)
        return NULL;
    if (memory != NULL)
        memcpy(other, memory, old_size < size ? old_size : size);
    wipe_and_free(memory);
    return other;
}

/*** Curl's sockets and its timer, behind one descriptor ***/

static void
set_timer(struct fetcher *fetcher)
{
    int64_t next = fetcher->curl_ms < fetcher->wake_ms ? fetcher->curl_ms
                                                       : fetcher->wake_ms;
    struct itimerspec timer = {0};

    if (next != INT64_MAX) {
        timer.it_value.tv_sec = next / 1000;
        /* All zero would be no timer. */
        timer.it_value.tv_nsec = next % 1000 * 1000 * 1000 + 1;
    }
    timerfd_settime(fetcher->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

static int
timer_wanted(CURLM *multi, long timeout_ms, void *context)
{
    struct fetcher *fetcher = context;

    (void)multi;
    fetcher->curl_ms = timeout_ms == -1 ? INT64_MAX : now_ms() + timeout_ms;
    set_timer(fetcher);
    return 0;
}

static int
socket_wanted(CURL *easy, curl_socket_t fd, int what, void *context,
              void *socket_context)
{
    struct fetcher *fetcher = context;
    struct epoll_event event = {.data.fd = fd};

    (void)easy;
    (void)socket_context;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(fetcher->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                   (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (epoll_ctl(fetcher->epoll_fd, EPOLL_CTL_MOD, fd, &event) == -1 &&
        (errno != ENOENT ||
         epoll_ctl(fetcher->epoll_fd, EPOLL_CTL_ADD, fd, &event) == -1))
        return -1;
    return 0;
}

static void
act_on(struct fetcher *fetcher, const struct epoll_event *event)
{
    int running;
    int what = (event->events & EPOLLIN ? CURL_CSELECT_IN : 0) |
               (event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
               (event->events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

    if (event->data.fd == fetcher->timer_fd) {
        uint64_t count;

        (void)!read(fetcher->timer_fd, &count, sizeof(count));
        if (now_ms() >= fetcher->wake_ms)
            fetcher->wake_ms = INT64_MAX;  /* it is awake */
    } else {
        curl_multi_socket_action(fetcher->multi, event->data.fd, what,
                                 &running);
    }
}

void
fetcher_step(struct fetcher *fetcher)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(fetcher->epoll_fd, events, EVENTS, 0), running;

    for (int i = 0; i < count; i++)
        act_on(fetcher, &events[i]);
    if (now_ms() >= fetcher->curl_ms) {
        fetcher->curl_ms = INT64_MAX;
        curl_multi_socket_action(fetcher->multi, CURL_SOCKET_TIMEOUT, 0,
                                 &running);
    }
    set_timer(fetcher);
}

int
fetcher_fd(const struct fetcher *fetcher)
{
    return fetcher->epoll_fd;
}

void
fetcher_wake_at(struct fetcher *fetcher, int64_t when_ms)
{
    fetcher->wake_ms = when_ms;
    set_timer(fetcher);
}

static bool
open_multi(struct fetcher *fetcher)
{
    struct epoll_event event = {.events = EPOLLIN};
    CURLM *multi = fetcher->multi = curl_multi_init();

    fetcher->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fetcher->timer_fd = timerfd_create(CLOCK_MONOTONIC,
                                       TFD_CLOEXEC | TFD_NONBLOCK);
    event.data.fd = fetcher->timer_fd;
    return multi != NULL && fetcher->epoll_fd != -1 &&
           fetcher->timer_fd != -1 &&
           epoll_ctl(fetcher->epoll_fd, EPOLL_CTL_ADD, fetcher->timer_fd,
                     &event) == 0 &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION,
                             socket_wanted) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, fetcher) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_wanted) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, fetcher) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS,
                             (long)CONNECTIONS) == CURLM_OK;
}

struct fetcher *
fetcher_new(const char *url, const char *ca, size_t *held)
{
    struct fetcher *fetcher = must_alloc(sizeof(*fetcher));

    *fetcher = (struct fetcher){
        .url = url, .ca = ca, .held = held, .epoll_fd = -1, .timer_fd = -1,
        .curl_ms = INT64_MAX, .wake_ms = INT64_MAX,
    };
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wipe_and_free,
                             wipe_and_realloc, strdup, calloc) == CURLE_OK &&
        open_multi(fetcher))
        return fetcher;
    curl_multi_cleanup(fetcher->multi);
    if (fetcher->epoll_fd != -1)
        close(fetcher->epoll_fd);
    if (fetcher->timer_fd != -1)
        close(fetcher->timer_fd);
    free(fetcher);
    return NULL;
}

/*** One transfer ***/

static size_t
take_body(char *data, size_t size, size_t count, void *context)
{
    struct fetch *fetch = context;
    size_t len = size * count;

    if (fetch->body.len + len > FETCH_BODY_MAX)
        fetch->too_large = "The answer is larger than 32 MiB. Ask for less at "
                           "a time.";
    else if (*fetch->fetcher->held + len > FETCH_BODIES_MAX)
        fetch->too_large = "The answers under way are together larger than "
                           "64 MiB. Ask for fewer at a time.";
    if (fetch->too_large != NULL)
        return 0;  /* to curl, a failure */
    text_add(&fetch->body, data, len);
    *fetch->fetcher->held += len;
    return len;
}

/* The one place where a URL is made. Returns whether all went into it. */
static bool
print_url(const char *base, const struct market_request *request,
          struct text *url)
{
    text_print(url, "%s/%s", base, request->path);
    for (size_t i = 0; i < request->parameter_count; i++) {
        const struct market_parameter *parameter = &request->parameters[i];
        /* Length 0 would mean strlen() to it, which is then the same. */
        char *value = curl_easy_escape(NULL, parameter->value,
                                       (int)strlen(parameter->value));

        if (value == NULL)
            return false;
        text_print(url, "%c%s=%s", i == 0 ? '?' : '&', parameter->name,
                   value);
        curl_free(value);
    }
    return true;
}

static bool
set_header(struct fetch *fetch, const char *key)
{
    static const char name[] = "apikey: ";
    size_t size = sizeof(name) + strlen(key);
    char *header = must_alloc(size);

    memcpy(header, name, sizeof(name) - 1);
    strcpy(header + sizeof(name) - 1, key);
    fetch->headers = curl_slist_append(NULL, header);
    explicit_bzero(header, size);
    free(header);
    return fetch->headers != NULL;
}

/* Set what can be told in a number or a string, until one fails. */
static CURLcode
set_options(struct fetch *fetch, const char *url, int64_t left_ms)
{
    const char *scheme = strncmp(url, "http:", 5) == 0 ? "http" : "https";
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},       /* the process's alarm is not curl's */
        {CURLOPT_QUICK_EXIT, 1},     /* no waiting for a resolver to end */
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_SSL_VERIFYPEER, 1},
        {CURLOPT_SSL_VERIFYHOST, 2},
        {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        /* One request a connection: the end of one call ends no other. */
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_NETRC, CURL_NETRC_IGNORED},
        {CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS},
        {CURLOPT_LOW_SPEED_LIMIT, 1},
        {CURLOPT_LOW_SPEED_TIME, fetch->patience_ms / 1000},
        {CURLOPT_TIMEOUT_MS, left_ms > 1 ? (long)left_ms : 1},
    };
    const struct {
        CURLoption option;
        const char *value;
    } strings[] = {
        {CURLOPT_URL, url},
        {CURLOPT_PROTOCOLS_STR, scheme},
        {CURLOPT_PROXY, ""},
        {CURLOPT_ACCEPT_ENCODING, "gzip"},
        {CURLOPT_USERAGENT, "sandbox-fcgi/" VERSION},
    };
    CURLcode rc = CURLE_OK;

    for (size_t i = 0; rc == CURLE_OK && i < sizeof(numbers) /
                                             sizeof(numbers[0]); i++)
        rc = curl_easy_setopt(fetch->easy, numbers[i].option,
                              numbers[i].value);
    for (size_t i = 0; rc == CURLE_OK && i < sizeof(strings) /
                                             sizeof(strings[0]); i++)
        rc = curl_easy_setopt(fetch->easy, strings[i].option,
                              strings[i].value);
    return rc;
}

/* Trust the given certificates alone, not the system's beside them. */
static CURLcode
set_ca(struct fetch *fetch, const char *ca)
{
    CURLcode rc;

    if (*ca == '\0')
        return CURLE_OK;
    rc = curl_easy_setopt(fetch->easy, CURLOPT_CAINFO, ca);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(fetch->easy, CURLOPT_CAPATH, NULL);
    return rc;
}

static CURLcode
set_others(struct fetch *fetch)
{
    CURL *easy = fetch->easy;
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE,
                                   (curl_off_t)FETCH_BODY_MAX);

    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fetch->headers);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
    return rc;
}

static void
fetch_free(struct fetch *fetch)
{
    curl_slist_free_all(fetch->headers);
    curl_easy_cleanup(fetch->easy);
    *fetch->fetcher->held -= fetch->body.len;
    text_clear(&fetch->body);
    free(fetch);
}

struct fetch *
fetch_start(struct fetcher *fetcher, const struct market_request *request,
            const char *key, int patience_ms, int64_t end_ms, void *owner)
{
    struct fetch *fetch = must_alloc(sizeof(*fetch));
    struct text url = {0};
    bool is_set;

    *fetch = (struct fetch){
        .fetcher = fetcher, .owner = owner, .patience_ms = patience_ms,
        .easy = curl_easy_init(),
    };
    is_set = fetch->easy != NULL && set_header(fetch, key) &&
             print_url(fetcher->url, request, &url) &&
             set_options(fetch, url.data, end_ms - now_ms()) == CURLE_OK &&
             set_ca(fetch, fetcher->ca) == CURLE_OK &&
             set_others(fetch) == CURLE_OK &&
             curl_multi_add_handle(fetcher->multi, fetch->easy) == CURLM_OK;
    text_clear(&url);
    if (is_set)
        return fetch;
    fetch_free(fetch);
    return NULL;
}

void
fetch_cancel(struct fetch *fetch)
{
    curl_multi_remove_handle(fetch->fetcher->multi, fetch->easy);
    fetch_free(fetch);
}

/*** What came of it ***/

/*
 * Our own words for how a transfer can end: curl's may have the URL in them,
 * or a path. may_pass: it is worth another try.
 */
static const struct ending {
    CURLcode code;
    enum market_failure failure;
    bool may_pass;
    const char *message;
} endings[] = {
    {CURLE_COULDNT_RESOLVE_HOST, MARKET_NETWORK, true,
     "The market-data server's name cannot be resolved."},
    {CURLE_COULDNT_CONNECT, MARKET_NETWORK, true,
     "The market-data server cannot be reached."},
    {CURLE_SSL_CONNECT_ERROR, MARKET_NETWORK, true,
     "The market-data server and this one agree on no TLS connection."},
    {CURLE_PEER_FAILED_VERIFICATION, MARKET_NETWORK, false,
     "The market-data server's certificate cannot be trusted: it is for "
     "another name, out of date, or of an unknown authority."},
    {CURLE_SSL_CACERT_BADFILE, MARKET_NETWORK, false,
     "The certificates to trust (fmp_ca) cannot be read."},
    {CURLE_SEND_ERROR, MARKET_NETWORK, true,
     "The connection to the market-data server broke."},
    {CURLE_RECV_ERROR, MARKET_NETWORK, true,
     "The connection to the market-data server broke."},
    {CURLE_GOT_NOTHING, MARKET_NETWORK, true,
     "The market-data server closed the connection without an answer."},
    {CURLE_PARTIAL_FILE, MARKET_NETWORK, true,
     "The connection to the market-data server broke within the answer."},
    {CURLE_BAD_CONTENT_ENCODING, MARKET_NETWORK, false,
     "The market-data server's answer cannot be unpacked."},
    {CURLE_FILESIZE_EXCEEDED, MARKET_SIZE, false,
     "The answer is larger than 32 MiB. Ask for less at a time."},
    /* The last row is for all others. */
    {CURLE_OK, MARKET_NETWORK, false,
     "The market-data server's answer cannot be understood."},
};

/* No connection within its time, or no byte for too long. */
static void
explain_timeout(const struct fetch *fetch, struct market_answer *answer)
{
    curl_off_t connected_us = 0;

    curl_easy_getinfo(fetch->easy, CURLINFO_PRETRANSFER_TIME_T,
                      &connected_us);
    if (connected_us == 0)
        market_answer_fail(answer, MARKET_TIMEOUT, "The market-data server "
                           "could not be reached within %d s.",
                           CONNECT_MS / 1000);
    else
        market_answer_fail(answer, MARKET_TIMEOUT, "The market-data server "
                           "did not answer within %d s, or within what was "
                           "left of the run's time.",
                           fetch->patience_ms / 1000);
    answer->may_pass = connected_us == 0;
}

static void
explain(const struct fetch *fetch, CURLcode code, struct market_answer *answer)
{
    const struct ending *ending = endings;

    if (fetch->too_large != NULL) {
        market_answer_fail(answer, MARKET_SIZE, "%s", fetch->too_large);
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        explain_timeout(fetch, answer);
    } else {
        while (ending->code != code && ending->code != CURLE_OK)
            ending++;
        market_answer_fail(answer, ending->failure, "%s", ending->message);
        answer->may_pass = ending->may_pass;
    }
    answer->detail = curl_easy_strerror(code);
}

static void
read_answer(struct fetch *fetch, struct market_answer *answer)
{
    const char *type = NULL;
    curl_off_t retry_after = 0;
    long status = 0;

    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(fetch->easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(fetch->easy, CURLINFO_RETRY_AFTER, &retry_after);
    if (status >= 300 && status < 400) {
        market_answer_fail(answer, MARKET_REDIRECT, "The market-data server "
                           "points to another address (HTTP %ld), which is "
                           "not followed.", status);
        return;
    }
    answer->status = (int)status;
    /* Whole or not at all: half a key would be no trace to look for. */
    if (type != NULL && strlen(type) < sizeof(answer->type))
        strcpy(answer->type, type);
    if (retry_after > 0 && retry_after <= INT32_MAX)
        answer->retry_after = (int)retry_after;
    answer->body = fetch->body;  /* and with it what it counts for */
    fetch->body = (struct text){0};
}

void *
fetcher_next(struct fetcher *fetcher, struct market_answer *answer)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(fetcher->multi, &left)) != NULL) {
        struct fetch *fetch;
        void *owner;
        CURLcode code = message->data.result;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &fetch);
        owner = fetch->owner;
        market_answer_init(answer);
        if (code == CURLE_OK)
            read_answer(fetch, answer);
        else
            explain(fetch, code, answer);
        fetch_cancel(fetch);
        return owner;
    }
    return NULL;
}

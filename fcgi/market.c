#include "market.h"

#include "clock.h"
#include "handover.h"
#include "log.h"
#include "market_answer.h"
#include "market_cache.h"
#include "market_fetch.h"
#include "market_key.h"
#include "market_policy.h"
#include "market_rate.h"
#include "market_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    SEND_BUFFER = 4 * MARKET_CHUNK_MAX,
    PACKETS_A_CALL = 3,   /* what a client that knows its limits never needs */
    PACKETS_MIN = 3 * MARKET_AT_ONCE
};

struct market_shared {
    struct market_cache *cache;  /* NULL: none */
    struct market_rate rate;     /* last, for it has no size of its own */
};

/* What was answered, to all that asked the same. */
struct shared_answer {
    struct market_answer content;
    size_t held;   /* bytes that it counts for */
    int holders;
};

enum state {
    FREE,
    DUE,        /* to be asked at due_ms */
    ASKED,
    FOLLOWING,  /* another call under way asks the same */
    ANSWERED    /* to be sent to the child */
};

struct call {
    enum state state;
    struct market_request request;
    struct text text;    /* what is asked for, to compare */
    struct hash place;   /* in the cache */
    int64_t began_ms, due_ms, ms;
    int retries;
    struct fetch *fetch;
    const struct call *leader;
    struct shared_answer *answer;
    bool is_head_sent;
    size_t sent;         /* of the body */
};

struct market {
    const struct config *config;
    struct market_shared *shared;
    struct fetcher *fetcher;  /* NULL until it is needed */
    char *server_key;         /* owned, or NULL */
    size_t held;              /* bytes of bodies */

    /* Of the run: */
    int child_fd;             /* borrowed; -1: there is none */
    const char *key;          /* borrowed, or NULL */
    struct hash account;
    int64_t end_ms;
    int packets, calls_made;
    bool is_at_end;           /* the child writes no more */
    struct call under_way[MARKET_AT_ONCE];
    struct market_call *calls;
    size_t call_count, call_room;
};

/*** What all share ***/

struct market_shared *
market_shared_new(const struct config *config)
{
    struct market_shared *shared =
        mmap(NULL, offsetof(struct market_shared, rate) +
                       market_rate_size(config->fmp_rate),
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return NULL;
    market_rate_init(&shared->rate, config->fmp_rate);
    if (config->fmp_cache == 0)
        return shared;
    shared->cache = market_cache_new(config->fmp_cache);
    return shared->cache != NULL ? shared : NULL;
}

void
market_shared_free(struct market_shared *shared)
{
    if (shared->cache != NULL)
        market_cache_free(shared->cache);
    munmap(shared, offsetof(struct market_shared, rate) +
                       market_rate_size((int)shared->rate.calls_a_minute));
}

struct market *
market_open(const struct config *config, struct market_shared *shared)
{
    struct market *market = must_alloc(sizeof(*market));
    char why[512];

    market->config = config;
    market->shared = shared;
    market->child_fd = -1;
    if (market_key_read(config->fmp_key_file, &market->server_key, why,
                        sizeof(why)) == -1)
        log_error("%s", why);
    return market;
}

/*** Answers ***/

static struct shared_answer *
answer_new(void)
{
    struct shared_answer *answer = must_alloc(sizeof(*answer));

    market_answer_init(&answer->content);
    answer->holders = 1;
    return answer;
}

static void
answer_release(struct market *market, struct shared_answer *answer)
{
    if (--answer->holders > 0)
        return;
    market->held -= answer->held;
    market_answer_clear(&answer->content);
    free(answer);
}

/* Note a call for reply and log; content is NULL for one that was ended. */
static void
note(struct market *market, const struct call *call,
     const struct market_answer *content)
{
    struct market_call *noted;

    if (market->call_count == market->call_room) {
        market->call_room = market->call_room * 2 + 8;
        market->calls = realloc(market->calls, market->call_room *
                                sizeof(*market->calls));
        if (market->calls == NULL)
            _Exit(111);
    }
    noted = &market->calls[market->call_count++];
    *noted = (struct market_call){
        .path = must_copy(call->request.path),
        .failure = "ended",
        .ms = now_ms() - call->began_ms,
    };
    if (market->key != NULL)
        market_redact(noted->path, market->key);
    if (content != NULL) {
        noted->failure = market_failure_name(content->failure);
        noted->status = content->status;
        noted->is_cached = content->is_cached;
        noted->detail = content->detail;
    }
}

/* Have the call sent its answer, of which it takes a holder's part. */
static void
give(struct market *market, struct call *call, struct shared_answer *answer)
{
    call->answer = answer;
    call->state = ANSWERED;
    call->ms = now_ms() - call->began_ms;
    if (call->request.path != NULL)
        note(market, call, &answer->content);
}

/* Give it to the call, and to those that wait for the same. */
static void
give_all(struct market *market, struct call *call,
         struct shared_answer *answer)
{
    for (int i = 0; i < MARKET_AT_ONCE; i++) {
        struct call *other = &market->under_way[i];

        if (other->state == FOLLOWING && other->leader == call) {
            answer->holders++;
            give(market, other, answer);
        }
    }
    give(market, call, answer);
}

__attribute__((format(printf, 4, 5)))
static void
fail(struct market *market, struct call *call, enum market_failure failure,
     const char *format, ...)
{
    struct shared_answer *answer = answer_new();
    char message[sizeof(answer->content.message)];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    market_answer_fail(&answer->content, failure, "%s", message);
    if (market->key != NULL)
        market_redact(answer->content.message, market->key);
    give_all(market, call, answer);
}

/*** The server ***/

static void
ask(struct market *market, struct call *call)
{
    call->fetch = fetch_start(market->fetcher, &call->request, market->key,
                              market_policy_patience(call->request.path),
                              market->end_ms, call);
    if (call->fetch != NULL)
        call->state = ASKED;
    else
        fail(market, call, MARKET_NETWORK,
             "No connection to the market-data server can be made.");
}

/* Ask when it is time, and the service's rate allows it. */
static void
ask_when_due(struct market *market, struct call *call)
{
    int64_t now = now_ms(), wait_ms;

    if (now < call->due_ms)
        return;
    if (now >= market->end_ms) {
        fail(market, call, MARKET_TIMEOUT,
             "The run's time is up: no more market data.");
        return;
    }
    wait_ms = market_rate_take(&market->shared->rate, now);
    if (wait_ms == 0)
        ask(market, call);
    else if (now + wait_ms < market->end_ms)
        call->due_ms = now + wait_ms;
    else
        fail(market, call, MARKET_TIMEOUT, "The calls a minute that all runs "
             "together may make (fmp_rate) are spent for the rest of this "
             "run's time.");
}

/* Put the call off when the answer is worth another try in the time left. */
static bool
retry(struct market *market, struct call *call,
      const struct market_answer *content)
{
    unsigned int random = 0;
    int64_t pause_ms;

    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
    pause_ms = market_policy_pause(content, call->retries, random);
    if (pause_ms == -1 || now_ms() + pause_ms >= market->end_ms)
        return false;
    call->retries++;
    call->due_ms = now_ms() + pause_ms;
    call->state = DUE;
    return true;
}

/* Rather an old answer than "too many calls", unless a new one is a must. */
static void
use_stale(struct market *market, const struct call *call,
          struct shared_answer *answer)
{
    struct market_answer stale;

    market_answer_init(&stale);
    if (answer->content.status != 429 || call->request.refresh ||
        !market_cache_get(market->shared->cache, call->place, now_ms(), true,
                          &stale))
        return;
    market_answer_clear(&answer->content);
    answer->content = stale;
    market->held += stale.body.len - answer->held;
    answer->held = stale.body.len;
}

static void
fetched(struct market *market, struct call *call, struct shared_answer *answer)
{
    struct market_answer *content = &answer->content;
    int64_t lifetime_ms;

    call->fetch = NULL;
    answer->held = content->body.len;
    if (retry(market, call, content)) {
        answer_release(market, answer);
        return;
    }
    market_answer_redact(content, market->key);
    use_stale(market, call, answer);
    lifetime_ms = content->is_cached ? 0 :
        market_policy_lifetime(&call->request, content, time(NULL));
    if (lifetime_ms > 0)
        market_cache_put(market->shared->cache, call->place, now_ms(),
                         lifetime_ms, content);
    give_all(market, call, answer);
}

static void
take_fetched(struct market *market)
{
    struct shared_answer *answer = answer_new();
    struct call *call;

    fetcher_step(market->fetcher);
    while ((call = fetcher_next(market->fetcher, &answer->content)) != NULL) {
        fetched(market, call, answer);
        answer = answer_new();
    }
    answer_release(market, answer);
}

/*** The child's packets ***/

static struct call *
find_call(struct market *market, enum state state)
{
    for (int i = 0; i < MARKET_AT_ONCE; i++)
        if (market->under_way[i].state == state)
            return &market->under_way[i];
    return NULL;
}

/* The one that is asked already, or will be, for the same. */
static const struct call *
find_leader(const struct market *market, const struct call *call)
{
    for (int i = 0; i < MARKET_AT_ONCE; i++) {
        const struct call *other = &market->under_way[i];

        if (other != call && (other->state == DUE || other->state == ASKED) &&
            strcmp(other->text.data, call->text.data) == 0)
            return other;
    }
    return NULL;
}

static bool
is_number_taken(const struct market *market, const struct call *call)
{
    for (int i = 0; i < MARKET_AT_ONCE; i++) {
        const struct call *other = &market->under_way[i];

        if (other != call && other->state != FREE &&
            other->request.call == call->request.call)
            return true;
    }
    return false;
}

/* Made only when it is needed: many a worker never does. */
static bool
has_fetcher(struct market *market)
{
    if (market->fetcher == NULL)
        market->fetcher = fetcher_new(market->config->fmp_url,
                                      market->config->fmp_ca, &market->held);
    return market->fetcher != NULL;
}

/* Look whether it may ask at all. Fails it when it may not. */
static bool
may_ask(struct market *market, struct call *call)
{
    int most = market->config->fmp_calls;

    if (most == 0)
        fail(market, call, MARKET_CALLS,
             "Market data is switched off here (fmp_calls = 0).");
    else if (market->key == NULL)
        fail(market, call, MARKET_NO_KEY, "No key for market data came with "
             "this run, and the server has none.");
    else if (market->calls_made == most)
        fail(market, call, MARKET_CALLS, "This run has made the %d calls for "
             "market data that a run may make (fmp_calls).", most);
    else if (!has_fetcher(market))
        fail(market, call, MARKET_NETWORK,
             "No connection to the market-data server can be made.");
    else
        return true;
    return false;
}

/* Answer it from what is there, or see to it that it is asked. */
static void
serve(struct market *market, struct call *call)
{
    struct market_cache *cache = market->shared->cache;
    struct shared_answer *answer;

    market->calls_made++;
    market_request_print(&call->request, &call->text);
    call->place = market_cache_place(cache, market->account, &call->text);
    answer = answer_new();
    if (!call->request.refresh &&
        market_cache_get(cache, call->place, now_ms(), false,
                         &answer->content)) {
        answer->held = answer->content.body.len;
        market->held += answer->held;
        give(market, call, answer);
        return;
    }
    answer_release(market, answer);
    call->leader = find_leader(market, call);
    call->state = call->leader != NULL ? FOLLOWING : DUE;
    if (call->state == DUE)
        ask_when_due(market, call);
}

static void
take_packet(struct market *market, struct call *call, const char *packet,
            size_t len)
{
    char why[200];

    *call = (struct call){.began_ms = now_ms()};
    if (len > MARKET_REQUEST_MAX)
        fail(market, call, MARKET_REFUSED, "A packet must have at most %d "
             "bytes, not %zu.", MARKET_REQUEST_MAX, len);
    else if (market_request_parse(packet, len, &call->request, why,
                                  sizeof(why)) == -1)
        fail(market, call, MARKET_REFUSED, "%s", why);
    else if (is_number_taken(market, call))
        fail(market, call, MARKET_REFUSED,
             "\"call\" must not be the number of a call that is under way.");
    else if (may_ask(market, call))
        serve(market, call);
}

/* The run takes its market descriptor for something else. It sees the end of
 * it: to close our end with packets unread would be an error to it. */
static void
hang_up(struct market *market)
{
    int fd = market->child_fd;

    market_end(market);
    shutdown(fd, SHUT_RDWR);
}

/* Read while there is a place for another call. A packet with descriptors in
 * it loses them, for there is no room for any. */
static void
read_packets(struct market *market, short events)
{
    int most = PACKETS_A_CALL * market->config->fmp_calls;
    char packet[MARKET_REQUEST_MAX];
    struct call *call;

    while ((call = find_call(market, FREE)) != NULL) {
        ssize_t len = recv(market->child_fd, packet, sizeof(packet),
                           MSG_DONTWAIT | MSG_TRUNC);

        if (len == -1)
            return;  /* nothing there, or no socket any more: see events */
        if (len == 0 && (events & POLLRDHUP)) {
            market->is_at_end = true;  /* or it would be an empty packet */
            return;
        }
        if (++market->packets > (most > PACKETS_MIN ? most : PACKETS_MIN)) {
            hang_up(market);
            return;
        }
        take_packet(market, call, packet, (size_t)len);
    }
}

/*** Answers to the child ***/

/* Send one packet. Returns whether it went. */
static bool
send_packet(int fd, const char *head, size_t head_len, const char *body,
            size_t body_len)
{
    struct iovec parts[] = {
        {(char *)head, head_len}, {(char *)body, body_len},
    };
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) != -1;
}

static bool
send_head(int fd, struct call *call)
{
    struct text head = {0};

    if (!call->is_head_sent) {
        market_answer_print(&call->answer->content, call->request.call,
                            call->ms, &head);
        call->is_head_sent = send_packet(fd, head.data, head.len, NULL, 0);
        text_clear(&head);
    }
    return call->is_head_sent;
}

/* Send the next piece of the body. */
static bool
send_body(int fd, struct call *call)
{
    const struct text *body = &call->answer->content.body;
    size_t left = body->len - call->sent;
    size_t len = left < MARKET_CHUNK_MAX ? left : MARKET_CHUNK_MAX;
    unsigned char head[1 + 4] = {MARKET_BODY};

    pack(head + 1, call->request.call, 4);
    if (!send_packet(fd, (const char *)head, sizeof(head),
                     body->data + call->sent, len))
        return false;
    call->sent += len;
    return true;
}

/* Give its place free for another. */
static void
forget(struct market *market, struct call *call)
{
    if (call->fetch != NULL)
        fetch_cancel(call->fetch);
    if (call->answer != NULL)
        answer_release(market, call->answer);
    market_request_clear(&call->request);
    text_clear(&call->text);
    *call = (struct call){.state = FREE};
}

static void
send_answers(struct market *market)
{
    struct call *call;

    while ((call = find_call(market, ANSWERED)) != NULL) {
        if (!send_head(market->child_fd, call))
            return;
        while (call->sent < call->answer->content.body.len)
            if (!send_body(market->child_fd, call))
                return;
        forget(market, call);
    }
}

/*** A run ***/

void
market_begin(struct market *market, int child_fd, const char *key,
             int64_t end_ms)
{
    const int size = SEND_BUFFER;

    for (size_t i = 0; i < market->call_count; i++)
        free(market->calls[i].path);
    free(market->calls);
    market->calls = NULL;
    market->call_count = market->call_room = 0;
    market->packets = market->calls_made = 0;
    market->is_at_end = false;
    market->end_ms = end_ms;
    market->key = key != NULL ? key : market->server_key;
    if (market->key != NULL)
        market->account = market_cache_account(market->shared->cache,
                                               market->key);
    /* A little faster; no matter if not. */
    (void)setsockopt(child_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    if (fcntl(child_fd, F_SETFL, O_NONBLOCK) == 0)
        market->child_fd = child_fd;
}

void
market_poll(const struct market *market, struct pollfd polled[MARKET_POLLED])
{
    short events = 0;

    polled[0] = polled[1] = (struct pollfd){.fd = -1};
    if (market->child_fd == -1)
        return;
    for (int i = 0; i < MARKET_AT_ONCE; i++) {
        enum state state = market->under_way[i].state;

        if (state == FREE && !market->is_at_end)
            events |= POLLIN | POLLRDHUP;
        if (state == ANSWERED)
            events |= POLLOUT;
    }
    polled[0] = (struct pollfd){market->child_fd, events, 0};
    if (market->fetcher != NULL)
        polled[1] = (struct pollfd){fetcher_fd(market->fetcher), POLLIN, 0};
}

static int64_t
ask_those_due(struct market *market)
{
    int64_t next_ms = INT64_MAX;

    for (int i = 0; i < MARKET_AT_ONCE; i++) {
        struct call *call = &market->under_way[i];

        if (call->state == DUE)
            ask_when_due(market, call);
        if (call->state == DUE && call->due_ms < next_ms)
            next_ms = call->due_ms;
    }
    return next_ms;
}

void
market_step(struct market *market, const struct pollfd polled[MARKET_POLLED])
{
    short events = polled[0].revents;

    if (events & (POLLHUP | POLLERR))
        market_end(market);  /* nobody is left there to be answered */
    if (market->child_fd != -1 && market->fetcher != NULL)
        take_fetched(market);
    if (market->child_fd != -1 && (events & (POLLIN | POLLRDHUP)))
        read_packets(market, events);
    if (market->child_fd == -1)
        return;
    send_answers(market);
    if (market->fetcher != NULL)
        fetcher_wake_at(market->fetcher, ask_those_due(market));
}

void
market_end(struct market *market)
{
    for (int i = 0; i < MARKET_AT_ONCE; i++) {
        struct call *call = &market->under_way[i];

        if (call->state != FREE && call->state != ANSWERED)
            note(market, call, NULL);
        forget(market, call);
    }
    market->child_fd = -1;
    market->key = NULL;
}

const struct market_call *
market_calls(const struct market *market, size_t *count)
{
    *count = market->call_count;
    return market->calls;
}

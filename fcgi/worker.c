#include "worker.h"

#include "about.h"
#include "clock.h"
#include "events.h"
#include "html.h"
#include "log.h"
#include "market.h"
#include "metrics.h"
#include "ready.h"
#include "reply.h"
#include "request.h"
#include "run.h"
#include "status.h"
#include "text.h"
#include "title.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* What Python's json reads without coming near its recursion limit. */
enum { JSON_MAX_DEPTH = 200 };

enum { ID_MAX = 64 };

enum { PLACE_MS = 10 };  /* between two looks whether there is one */

enum outcome { RAN_WELL = 0, RAN_BADLY = 1, NOT_RUN = 2 };

/* Of a run's reply, in the order of preference; as Accept has them. */
enum form { FORM_NONE = -1, FORM_JSON, FORM_HTML, FORM_EVENTS, FORMS };

static const char *const forms[FORMS] = {
    "application/json", "text/html", "text/event-stream",
};

/* The same, for the log. */
static const char *const form_names[FORMS] = {"json", "html", "events"};

/* A request for a run, and what its reply is made with. */
struct answer {
    struct http *http;
    enum form form;
    char id[ID_MAX + 1];
    size_t body_len;
    double queue_seconds;
    struct events events;  /* of FORM_EVENTS */
};

static enum form
choose_form(const struct http *http)
{
    return (enum form)http_choose(http_param(http, "HTTP_ACCEPT"), forms,
                                  FORMS);
}

static void
make_problem(struct problem *problem, int status, const char *title,
             const char *detail)
{
    *problem = (struct problem){.status = status};
    snprintf(problem->title, sizeof(problem->title), "%s", title);
    snprintf(problem->detail, sizeof(problem->detail), "%s", detail);
}

static void
begin_page(struct http *http, int status, const char *header)
{
    struct text headers = {0};

    text_print(&headers, "%s%s%s", html_policy, header != NULL ? "\r\n" : "",
               header != NULL ? header : "");
    http_begin(http, status, "text/html; charset=utf-8", headers.data);
    text_clear(&headers);
}

static void
send_problem(struct http *http, const struct problem *problem,
             const char *header)
{
    struct text text = {0};

    if (choose_form(http) == FORM_HTML) {
        begin_page(http, problem->status, header);
        html_problem(problem, http_write, http);
        return;
    }
    reply_problem(problem, &text);
    http_begin(http, problem->status, "application/problem+json", header);
    http_write(http, text.data, text.len);
    text_clear(&text);
}

/* The server's own id for the request, if it is fit for logs; or a new one. */
static void
find_id(const struct http *http, char id[static ID_MAX + 1])
{
    const char *given = http_param(http, "REQUEST_ID");
    unsigned char random[16];
    size_t len = 0;

    while (given != NULL && len <= ID_MAX &&
           (isalnum((unsigned char)given[len]) || given[len] == '-'))
        len++;
    if (len > 0 && len <= ID_MAX && given[len] == '\0') {
        memcpy(id, given, len + 1);
        return;
    }
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        memset(random, 0, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        sprintf(id + 2 * i, "%02x", random[i]);
}

/*** What is no run ***/

static void
send_page(struct http *http, const char *type, struct text *text)
{
    http_begin(http, 200, type, NULL);
    http_write(http, text->data, text->len);
    text_clear(text);
}

/* There is a child: the zygote is warm when it has loaded all. */
static void
see_child(const struct worker *worker)
{
    if (!worker->scoreboard->is_loading)
        worker->scoreboard->is_warm = true;
}

/* How many children wait. */
static int
count_ready(const struct worker *worker)
{
    int count = worker->queue_fd != -1 ? ready_count(worker->queue_fd) : 0;

    if (count > 0)
        see_child(worker);
    return count;
}

static void
serve_health(const struct worker *worker, struct http *http)
{
    bool is_well = worker->queue_fd == -1;
    struct text text = {0};

    (void)count_ready(worker);
    is_well |= worker->scoreboard->is_warm;
    status_health(is_well, worker->scoreboard->reason, &text);
    http_begin(http, is_well ? 200 : 503, forms[FORM_JSON],
               is_well ? NULL : "Retry-After: 1");
    http_write(http, text.data, text.len);
    text_clear(&text);
}

/* A browser has it as a page, anew every few seconds. */
static void
serve_status(const struct worker *worker, struct http *http)
{
    cJSON *status = status_object(worker->scoreboard, worker->config,
                                  count_ready(worker));
    struct text text = {0};

    if (choose_form(http) == FORM_HTML) {
        begin_page(http, 200, "Refresh: 5");
        html_status(status, http_write, http);
        cJSON_Delete(status);
    } else {
        reply_object(status, &text);
        send_page(http, forms[FORM_JSON], &text);
    }
}

static void
serve_metrics(const struct worker *worker, struct http *http)
{
    struct text text = {0};

    metrics_print(worker->scoreboard, worker->config, count_ready(worker),
                  &text);
    send_page(http, metrics_type, &text);
}

static void
serve_about(const struct worker *worker, struct http *http)
{
    struct text text = {0};

    about_print(worker->scoreboard, worker->config, &text);
    send_page(http, forms[FORM_JSON], &text);
}

static void
serve_tool(const struct worker *worker, struct http *http)
{
    struct text text = {0};

    about_tool(worker->config, &text);
    send_page(http, forms[FORM_JSON], &text);
}

static void
serve_openapi(const struct worker *worker, struct http *http)
{
    struct text text = {0};

    about_openapi(worker->config, &text);
    send_page(http, forms[FORM_JSON], &text);
}

static const struct page {
    const char *path;
    void (*serve)(const struct worker *worker, struct http *http);
} pages[] = {
    {"/healthz", serve_health},
    {"/status", serve_status},
    {"/metrics", serve_metrics},
    {"/about", serve_about},
    {"/tool.json", serve_tool},
    {"/openapi.json", serve_openapi},
};

/* The page of that path, below any prefix that the responder is mapped to. */
static const struct page *
find_page(const char *path)
{
    size_t len;

    if (path == NULL)
        return NULL;
    len = strlen(path);
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        size_t page_len = strlen(pages[i].path);

        if (len >= page_len &&
            strcmp(path + len - page_len, pages[i].path) == 0)
            return &pages[i];
    }
    return NULL;
}

/* Anything but a program to run. */
static void
serve_other(const struct worker *worker, struct http *http,
            const char *method, const struct page *page)
{
    struct problem problem;
    bool is_get = method != NULL && (strcmp(method, "GET") == 0 ||
                                     strcmp(method, "HEAD") == 0);

    if (page != NULL && is_get) {
        page->serve(worker, http);
    } else if (is_get) {
        make_problem(&problem, 404, "Not Found", "There is nothing to GET "
                     "here but /healthz, /status, /metrics, /about, "
                     "/tool.json and /openapi.json; a program is run by POST.");
        send_problem(http, &problem, NULL);
    } else {
        make_problem(&problem, 405, "Method Not Allowed", page != NULL
                         ? "Use GET." : "A program is run by POST.");
        send_problem(http, &problem, page != NULL ? "Allow: GET, HEAD"
                                                  : "Allow: POST");
    }
}

/*** POST ***/

static int
parse(const struct config *config, struct http *http, const char *body,
      size_t len, struct job *job, struct problem *problem)
{
    const struct request_limits limits = {
        .max_body = config->max_body,
        .max_code = config->max_code,
        .max_files = (size_t)config->max_files,
        .max_file_bytes = config->max_file_bytes,
        .timeout = config->timeout / 1000.0,
        .max_depth = JSON_MAX_DEPTH,
    };
    const char *type = http->front == HTTP_STDIO
                           ? "application/json"
                           : http_param(http, "CONTENT_TYPE");

    return request_parse(type, body, len, &limits, job, problem);
}

static void
take_seat(const struct worker *worker, enum seat seat)
{
    worker->scoreboard->seats[worker->seat] = seat;
}

/* Why no child was to be had. Returns -1, or -2 when nobody is to be told. */
static int
explain(const struct worker *worker, enum ready_outcome outcome,
        struct problem *problem)
{
    char detail[sizeof(problem->detail)];

    if (outcome == READY_CLIENT_GONE)
        return -2;
    if (outcome == READY_BUSY && worker->scoreboard->is_warm &&
        !worker->scoreboard->is_failing)
        snprintf(detail, sizeof(detail), "All %d places for runs stayed busy "
                 "for %g s. Try again a little later.",
                 worker->config->max_runs,
                 worker->config->queue_wait / 1000.0);
    else
        snprintf(detail, sizeof(detail), "No sandbox can be had: %s",
                 worker->scoreboard->reason[0] != '\0'
                     ? worker->scoreboard->reason
                     : "it did not start; the log says why.");
    make_problem(problem, 503, "Service Unavailable", detail);
    return -1;
}

/*
 * How long the request has waited, in ms. The server says when it came, which
 * may have stood before our socket while every worker was busy: for no longer
 * than servers have patience, else the clock was moved meanwhile.
 */
static double
waited(const struct config *config, const struct http *http)
{
    const char *came = http_param(http, "REQUEST_MSEC");
    double patience = 60e3 + config->queue_wait + config->timeout +
                      config->grace;
    struct timespec now;
    double ms;

    if (came == NULL)
        return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    ms = 1e3 * ((double)now.tv_sec - strtod(came, NULL)) +
         (double)now.tv_nsec / 1e6;
    return ms > 0 && ms < patience ? ms : 0;
}

static int
left_until(int64_t until_ms)
{
    int64_t left = until_ms - now_ms();

    return left > 0 ? (int)left : 0;
}

/*
 * Wait for a place among the runs. Elsewhere than in front of a cold start
 * there is one for each child, but while runs of an earlier zygote go on.
 * READY_FAILED: the child that is held meanwhile (pidfd; -1: none) has ended.
 */
static enum ready_outcome
take_place(const struct worker *worker, struct pollfd client, int64_t until_ms,
           int pidfd)
{
    struct pollfd polled[] = {
        {client.fd, client.events & ~POLLIN, 0}, {pidfd, POLLIN, 0},
    };

    while (!scoreboard_enter(worker->scoreboard, worker->config->max_runs,
                             worker->seat)) {
        if (left_until(until_ms) == 0)
            return READY_BUSY;
        if (poll(polled, 2, PLACE_MS) > 0)
            return polled[0].revents != 0 ? READY_CLIENT_GONE : READY_FAILED;
    }
    return READY_TAKEN;
}

static void
leave_place(const struct worker *worker)
{
    scoreboard_leave(worker->scoreboard, worker->config->max_runs,
                     worker->seat);
}

/* A child, and a place for its run. */
static enum ready_outcome
get_child(const struct worker *worker, struct pollfd client, int64_t until_ms,
          struct child *child)
{
    const struct config *config = worker->config;
    int queue_fd = worker->queue_fd;
    enum ready_outcome outcome;

    if (queue_fd == -1) {  /* dear to start: not without a place */
        outcome = take_place(worker, client, until_ms, -1);
        if (outcome == READY_TAKEN)
            outcome = ready_take(config, -1, client, left_until(until_ms),
                                 child);
        return outcome;
    }
    do {
        outcome = ready_take(config, queue_fd, client, left_until(until_ms),
                             child);
        if (outcome != READY_TAKEN)
            return outcome;
        outcome = take_place(worker, client, until_ms, child->pidfd);
        if (outcome != READY_TAKEN)
            child_close(child);
    } while (outcome == READY_FAILED);
    return outcome;
}

/*
 * Take a child and give it the job's files. Returns 0; -1 with *problem
 * filled, or -2 when nobody is to be told.
 */
static int
take_child(const struct worker *worker, struct answer *answer,
           const struct job *job, struct child *child,
           struct problem *problem)
{
    double before_ms = waited(worker->config, answer->http);
    int64_t since_ms = now_ms();
    enum ready_outcome outcome;

    take_seat(worker, SEAT_WAITING);
    outcome = get_child(worker, http_client(answer->http),
                        since_ms + worker->config->queue_wait -
                            (int64_t)before_ms, child);
    take_seat(worker, SEAT_BUSY);
    answer->queue_seconds =
        (before_ms + (double)(now_ms() - since_ms)) / 1000;
    scoreboard_measure(worker->scoreboard, MEASURE_QUEUE,
                       answer->queue_seconds);
    if (outcome != READY_TAKEN)
        return explain(worker, outcome, problem);
    see_child(worker);
    worker->scoreboard->is_failing = false;
    if (collect_put(child->work_fd, job) == 0)
        return 0;
    if (errno == ENOSPC) {
        make_problem(problem, 400, "Bad Request", "files: they do not fit "
                     "into the working directory (work_size, work_inodes).");
        snprintf(problem->member, sizeof(problem->member), "files");
    } else {
        log_error("cannot write a run's files: %m");
        make_problem(problem, 503, "Service Unavailable", "No sandbox can be "
                     "had: its files cannot be written; the log says why.");
    }
    child_close(child);
    return -1;
}

/*** What is told of a request when it is over ***/

/*
 * The one line of a request for a run, and where it is counted. status 0: its
 * client left. Numbers and words of our own: nothing of what the client sent
 * is in it, and nothing that the program wrote.
 */
static void
tell(const struct worker *worker, const struct answer *answer,
     const char *kind, int status, const struct result *result)
{
    const struct ending *ending = &result->ending;

    scoreboard_count(worker->scoreboard, kind);
    log_event("run", answer->id, "kind=%s status=%d form=%s seconds=%.3f "
              "queue_seconds=%.3f cpu_seconds=%.3f peak_memory=%zu "
              "bytes_in=%zu bytes_out=%zu output_bytes=%llu figures=%zu "
              "files=%zu market_calls=%zu", kind, status,
              answer->form == FORM_NONE ? "none" : form_names[answer->form],
              ending->seconds, answer->queue_seconds, ending->cpu_seconds,
              ending->peak_memory, answer->body_len, answer->http->sent,
              (unsigned long long)result->output.total,
              result->collected.figure_count, result->collected.file_count,
              result->call_count);
}

/* Of a run that has ended, well or not. */
static void
measure(const struct worker *worker, const struct answer *answer,
        const struct ending *ending)
{
    struct scoreboard *scoreboard = worker->scoreboard;

    scoreboard_measure(scoreboard, MEASURE_RUN, ending->seconds);
    scoreboard_measure(scoreboard, MEASURE_CPU, ending->cpu_seconds);
    scoreboard_measure(scoreboard, MEASURE_MEMORY,
                       (double)ending->peak_memory);
    scoreboard_measure(scoreboard, MEASURE_REPLY,
                       (double)answer->http->sent);
}

/* What was asked of the market-data server: a line each. */
static void
tell_calls(const struct worker *worker, const char *id)
{
    size_t count;
    const struct market_call *calls = market_calls(worker->market, &count);

    for (size_t i = 0; i < count; i++) {
        const struct market_call *call = &calls[i];
        char status[16];

        scoreboard_market(worker->scoreboard, call->status, call->is_cached);
        snprintf(status, sizeof(status), "%d", call->status);
        log_info("run %s: market %s: %s%s%s%s, %lld ms%s", id, call->path,
                 call->failure != NULL ? call->failure : status,
                 call->detail != NULL ? " (" : "",
                 call->detail != NULL ? call->detail : "",
                 call->detail != NULL ? ")" : "", (long long)call->ms,
                 call->is_cached ? ", cached" : "");
    }
}

/* An event stream begins before there is anything to tell. */
static void
begin_events(struct answer *answer)
{
    char header[ID_MAX + 64];

    snprintf(header, sizeof(header), "X-Run-Id: %s\r\n"
             "X-Accel-Buffering: no", answer->id);  /* else nginx keeps it */
    http_begin(answer->http, 200, forms[FORM_EVENTS], header);
    events_begin(&answer->events, answer->http);
}

/* Returns -1 when the client has left before its end. */
static int
send_result(struct answer *answer, const struct job *job,
            const struct result *result)
{
    struct http *http = answer->http;
    char header[ID_MAX + 16];

    snprintf(header, sizeof(header), "X-Run-Id: %s", answer->id);
    if (answer->form == FORM_EVENTS)
        return events_end(&answer->events, result, answer->id);
    if (answer->form == FORM_HTML) {
        begin_page(http, 200, header);
        return html_reply(result, job->code, answer->id, http_write, http);
    }
    http_begin(http, 200, forms[FORM_JSON], header);
    return reply_print(result, answer->id, http_write, http);
}

/* Take a child, run the job in it, tell what came of it. Returns as
 * take_child() does; sets *outcome when there is one. */
static int
run_and_reply(const struct worker *worker, struct answer *answer,
              const struct job *job, enum outcome *outcome,
              struct problem *problem)
{
    bool is_live = answer->form == FORM_EVENTS;
    const char *kind = KIND_ABANDONED;
    struct child child;
    struct result result;
    int rc = take_child(worker, answer, job, &child, problem);

    if (rc != 0) {
        leave_place(worker);
        return rc;
    }
    if (is_live)
        begin_events(answer);
    take_seat(worker, SEAT_RUNNING);
    rc = run_job(worker->config, job, &child, worker->market,
                 http_client(answer->http),
                 is_live ? &answer->events : NULL, &result);
    leave_place(worker);
    take_seat(worker, SEAT_BUSY);
    tell_calls(worker, answer->id);
    if (result.slow.len > 0)
        log_event("slow", answer->id, "after=%.3f stack=%s",
                  worker->config->slow_after / 1000.0, result.slow.data);
    if (rc == 0) {
        kind = result.verdict.kind;
        *outcome = result.verdict.error.len == 0 ? RAN_WELL : RAN_BADLY;
        rc = send_result(answer, job, &result);
        measure(worker, answer, &result.ending);
    }
    tell(worker, answer, kind, rc == 0 ? 200 : 0, &result);
    http_finish(answer->http);  /* the rest is nothing to wait for */
    result_clear(&result);
    child_close(&child);
    return 0;
}

/* The problem is what came of the request. */
static void
refuse(const struct worker *worker, const struct answer *answer,
       const struct problem *problem)
{
    static const struct result nothing;
    bool is_unavailable = problem->status == 503;

    send_problem(answer->http, problem, is_unavailable ? "Retry-After: 2"
                                                       : NULL);
    tell(worker, answer, is_unavailable ? KIND_UNAVAILABLE : KIND_REFUSED,
         problem->status, &nothing);
}

/* One program: read it, check it, run it; or say why not. */
static enum outcome
serve_run(const struct worker *worker, struct answer *answer)
{
    static const struct result nothing;
    const struct config *config = worker->config;
    struct http *http = answer->http;
    enum outcome outcome = NOT_RUN;
    struct problem problem;
    struct job job = {0};
    char *body = NULL;
    int rc = http_body(http, config->max_body, &body, &answer->body_len,
                       &problem);

    if (rc == 0)
        rc = parse(config, http, body, answer->body_len, &job, &problem);
    if (rc == 0)
        rc = run_and_reply(worker, answer, &job, &outcome, &problem);
    if (rc == -2)
        tell(worker, answer, KIND_ABANDONED, 0, &nothing);
    if (rc == -1)
        refuse(worker, answer, &problem);
    job_clear(&job);
    if (body != NULL)
        explicit_bzero(body, answer->body_len);  /* the key stands in it */
    free(body);
    return outcome;
}

/* The product: a request comes in, a reply goes out, whatever is asked. */
static enum outcome
serve(const struct worker *worker, struct http *http)
{
    const char *method = http_param(http, "REQUEST_METHOD");
    const char *path = http_param(http, "PATH_INFO");
    struct answer answer = {.http = http, .form = choose_form(http)};
    const struct page *page;
    struct problem problem;

    find_id(http, answer.id);
    if (path == NULL || *path == '\0')
        path = http_param(http, "SCRIPT_NAME");
    if (http->front == HTTP_STDIO)
        return serve_run(worker, &answer);
    page = find_page(path);
    if (method == NULL || strcmp(method, "POST") != 0 || page != NULL) {
        serve_other(worker, http, method, page);
        return NOT_RUN;
    }
    if (answer.form == FORM_NONE) {
        make_problem(&problem, 406, "Not Acceptable", "The reply of a run is "
                     "application/json, text/html or text/event-stream; "
                     "Accept allows none of them.");
        refuse(worker, &answer, &problem);
        return NOT_RUN;
    }
    return serve_run(worker, &answer);
}

/* For SIGQUIT. */
static int accepting_fd;
static volatile sig_atomic_t is_leaving;

/*
 * Without the socket an accept() that was interrupted, or is about to begin,
 * fails; one that has a connection already is not disturbed, and neither is
 * anything else.
 */
static void
leave(int number)
{
    (void)number;
    if (!is_leaving)
        close(accepting_fd);
    is_leaving = true;
}

/* Now that it is known what to do about them. */
static void
take_signals(int listen_fd)
{
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_RESTART};
    sigset_t none;

    accepting_fd = listen_fd;
    sigaction(SIGQUIT, &action, NULL);
    signal(SIGHUP, SIG_IGN);  /* of a terminal: the master's to act on */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void
worker_run(const struct worker *worker)
{
    int left = worker->config->worker_requests;
    struct http http;

    title_set("sandbox-fcgi: worker");
    signal(SIGCHLD, SIG_IGN);  /* a cold start's zygote is nobody's to wait for */
    http_init();
    signal(SIGUSR1, SIG_IGN);
    take_signals(worker->listen_fd);
    while (!is_leaving) {
        if (http_accept(&http, worker->listen_fd) == -1)
            continue;
        take_seat(worker, SEAT_BUSY);
        serve(worker, &http);
        http_finish(&http);
        take_seat(worker, SEAT_IDLE);
        if (--left == 0)
            break;
    }
    _exit(0);
}

int
worker_once(const struct worker *worker, enum http_front front)
{
    struct http http;
    enum outcome outcome;

    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    http_open(&http, front);
    outcome = serve(worker, &http);
    http_finish(&http);
    /* A CGI server takes another status for a failure of the program. */
    return front == HTTP_STDIO ? (int)outcome : 0;
}

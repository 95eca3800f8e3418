#include "worker.h"

#include "about.h"
#include "events.h"
#include "html.h"
#include "log.h"
#include "market.h"
#include "ready.h"
#include "reply.h"
#include "request.h"
#include "run.h"
#include "status.h"
#include "text.h"
#include "title.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* What Python's json reads without coming near its recursion limit. */
enum { JSON_MAX_DEPTH = 200 };

enum { ID_MAX = 64 };

enum outcome { RAN_WELL = 0, RAN_BADLY = 1, NOT_RUN = 2 };

/* Of a run's reply, in the order of preference; as Accept has them. */
enum form { FORM_NONE = -1, FORM_JSON, FORM_HTML, FORM_EVENTS, FORMS };

static const char *const forms[FORMS] = {
    "application/json", "text/html", "text/event-stream",
};

/* A request for a run, and what its reply is made with. */
struct answer {
    struct http *http;
    enum form form;
    char id[ID_MAX + 1];
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
send_status(struct http *http, bool is_well, struct text *text)
{
    http_begin(http, is_well ? 200 : 503, "application/json",
               is_well ? NULL : "Retry-After: 1");
    http_write(http, text->data, text->len);
    text_clear(text);
}

/* How many children wait; the zygote is warm when there is one. */
static int
count_ready(const struct worker *worker)
{
    int count = worker->queue_fd != -1 ? ready_count(worker->queue_fd) : 0;

    if (count > 0)
        worker->scoreboard->is_warm = true;
    return count;
}

static void
serve_health(const struct worker *worker, struct http *http)
{
    bool is_well = count_ready(worker) > 0 || worker->queue_fd == -1 ||
                   worker->scoreboard->is_warm;
    struct text text = {0};

    status_health(is_well, worker->scoreboard->reason, &text);
    send_status(http, is_well, &text);
}

static void
serve_status(const struct worker *worker, struct http *http)
{
    int ready = count_ready(worker);
    struct text text = {0};

    status_print(worker->scoreboard, worker->config, ready, &text);
    send_status(http, true, &text);
}

static void
serve_about(const struct worker *worker, struct http *http)
{
    struct text text = {0};

    about_print(worker->scoreboard, worker->config, &text);
    send_status(http, true, &text);
}

static void
serve_tool(const struct worker *worker, struct http *http)
{
    struct text text = {0};

    about_tool(worker->config, &text);
    send_status(http, true, &text);
}

static void
serve_openapi(const struct worker *worker, struct http *http)
{
    struct text text = {0};

    about_openapi(worker->config, &text);
    send_status(http, true, &text);
}

static const struct page {
    const char *path;
    void (*serve)(const struct worker *worker, struct http *http);
} pages[] = {
    {"/healthz", serve_health},
    {"/status", serve_status},
    {"/about", serve_about},
    {"/tool.json", serve_tool},
    {"/openapi.json", serve_openapi},
};

/* The page of that path, below any prefix that the responder is mapped to. */
static const struct page *
find_page(const char *path)
{
    size_t len = path != NULL ? strlen(path) : 0;

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
                     "here but /healthz, /status, /about, /tool.json and "
                     "/openapi.json; a program is run by POST.");
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
 * What is left of queue_wait, in ms. The server says when the request came,
 * which may have stood before our socket while every worker was busy.
 */
static int
left_to_wait(const struct worker *worker, const struct http *http)
{
    const char *came = http_param(http, "REQUEST_MSEC");
    double wait_ms = worker->config->queue_wait;
    double left = wait_ms;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (came != NULL)
        left -= 1e3 * ((double)now.tv_sec - strtod(came, NULL)) +
                (double)now.tv_nsec / 1e6;
    return (int)(left < 0 ? 0 : left > wait_ms ? wait_ms : left);
}

/*
 * Take a child and give it the job's files. Returns 0; -1 with *problem
 * filled, or -2 when nobody is to be told.
 */
static int
take_child(const struct worker *worker, const struct http *http,
           const struct job *job, struct child *child,
           struct problem *problem)
{
    enum ready_outcome outcome;

    take_seat(worker, SEAT_WAITING);
    outcome = ready_take(worker->config, worker->queue_fd, http_client(http),
                         left_to_wait(worker, http), child);
    take_seat(worker, SEAT_BUSY);
    if (outcome != READY_TAKEN)
        return explain(worker, outcome, problem);
    worker->scoreboard->is_warm = true;
    worker->scoreboard->is_failing = false;
    if (collect_put(child->work_fd, job) == 0)
        return 0;
    child_close(child);
    make_problem(problem, 400, "Bad Request", errno == ENOSPC
                     ? "files: they do not fit into the working directory "
                       "(work_size)."
                     : "files: they cannot be written.");
    snprintf(problem->member, sizeof(problem->member), "files");
    return -1;
}

static void
log_run(const struct result *result, const char *id)
{
    const struct ending *ending = &result->ending;

    log_info("run %s: %s, %.3f s, cpu %.3f s, memory %zu, output %llu, "
             "figures %zu, files %zu", id, result->verdict.kind,
             ending->seconds, ending->cpu_seconds, ending->peak_memory,
             (unsigned long long)result->output.total,
             result->collected.figure_count, result->collected.file_count);
}

/* What was asked of the market-data server: a line each. */
static void
log_calls(const struct worker *worker, const char *id)
{
    size_t count;
    const struct market_call *calls = market_calls(worker->market, &count);

    for (size_t i = 0; i < count; i++) {
        const struct market_call *call = &calls[i];
        char status[16];

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

static enum outcome
send_result(struct answer *answer, const struct job *job,
            const struct result *result)
{
    struct http *http = answer->http;
    char header[ID_MAX + 16];
    int rc;

    snprintf(header, sizeof(header), "X-Run-Id: %s", answer->id);
    if (answer->form == FORM_EVENTS) {
        rc = events_end(&answer->events, result, answer->id);
    } else if (answer->form == FORM_HTML) {
        begin_page(http, 200, header);
        rc = html_reply(result, job->code, answer->id, http_write, http);
    } else {
        http_begin(http, 200, forms[FORM_JSON], header);
        rc = reply_print(result, answer->id, http_write, http);
    }
    if (rc == -1)
        log_info("run %s: the client left before the end of the reply",
                 answer->id);
    return result->verdict.error.len == 0 ? RAN_WELL : RAN_BADLY;
}

/* Take a child, run the job in it, tell what came of it. Returns as
 * take_child() does; sets *outcome when there is one. */
static int
run_and_reply(const struct worker *worker, struct answer *answer,
              const struct job *job, enum outcome *outcome,
              struct problem *problem)
{
    bool is_live = answer->form == FORM_EVENTS;
    struct child child;
    struct result result;
    int rc = take_child(worker, answer->http, job, &child, problem);

    if (rc != 0)
        return rc;
    if (is_live)
        begin_events(answer);
    take_seat(worker, SEAT_RUNNING);
    rc = run_job(worker->config, job, &child, worker->market,
                 http_client(answer->http),
                 is_live ? &answer->events : NULL, &result);
    take_seat(worker, SEAT_BUSY);
    log_calls(worker, answer->id);
    if (rc == 0) {
        scoreboard_count(worker->scoreboard, result.verdict.kind);
        log_run(&result, answer->id);
        *outcome = send_result(answer, job, &result);
        result_clear(&result);
    } else {
        scoreboard_count(worker->scoreboard, KIND_ABANDONED);
        log_info("run %s: ended, since the client left", answer->id);
    }
    child_close(&child);
    return 0;
}

/* One program: read it, check it, run it; or say why not. */
static enum outcome
serve_run(const struct worker *worker, struct answer *answer)
{
    const struct config *config = worker->config;
    struct http *http = answer->http;
    enum outcome outcome = NOT_RUN;
    struct problem problem;
    struct job job = {0};
    char *body = NULL;
    size_t len = 0;
    int rc = http_body(http, config->max_body, &body, &len, &problem);

    if (rc == 0)
        rc = parse(config, http, body, len, &job, &problem);
    if (rc == 0)
        rc = run_and_reply(worker, answer, &job, &outcome, &problem);
    if (rc == -2)
        scoreboard_count(worker->scoreboard, KIND_ABANDONED);
    if (rc == -1) {
        scoreboard_count(worker->scoreboard, problem.status == 503
                                                 ? KIND_UNAVAILABLE
                                                 : KIND_REFUSED);
        log_info("request %s: %d %s", answer->id, problem.status,
                 problem.detail);
        send_problem(http, &problem, problem.status == 503 ? "Retry-After: 2"
                                                           : NULL);
    }
    job_clear(&job);
    if (body != NULL)
        explicit_bzero(body, len);  /* the key stands in it */
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
        send_problem(http, &problem, NULL);
        return NOT_RUN;
    }
    return serve_run(worker, &answer);
}

void
worker_run(const struct worker *worker)
{
    struct http http;

    title_set("sandbox-fcgi: worker");
    signal(SIGCHLD, SIG_IGN);  /* a cold start's zygote is nobody's to wait for */
    http_init();
    for (;;) {
        if (http_accept(&http, worker->listen_fd) == -1)
            continue;
        take_seat(worker, SEAT_BUSY);
        serve(worker, &http);
        http_finish(&http);
        take_seat(worker, SEAT_IDLE);
    }
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

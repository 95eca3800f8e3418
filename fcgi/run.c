#include "run.h"

#include "clock.h"
#include "events.h"
#include "handover.h"
#include "log.h"
#include "usage.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WATCH_MS = 100,       /* between two looks at the memory */
    GIVE_UP_MS = 10000,   /* from the kill to leaving it to the zygote */
    CHUNK = 64 * 1024
};

/* When a run's time is up its program is told by this (child/sandbox); and by
 * that, Python alone, which then says where it stands. */
enum { SIGNAL_TIME_UP = SIGXCPU };
#define SIGNAL_SLOW SIGRTMAX

struct run {
    const struct config *config;
    const struct job *job;
    struct child *child;
    struct market *market;
    struct events *events;
    struct result *result;
    struct text job_text;
    size_t job_sent;
    int64_t started_ms;
    int64_t interrupt_at_ms, kill_at_ms, watch_at_ms, slow_at_ms;
    size_t slow_from;  /* of the report: what came after slow_at_ms */
    uint64_t resident_kib;  /* at most, with what is everyone's */
    struct pollfd client;
    bool was_slow;
    bool is_over;
    bool is_unwanted;  /* the client went away */
};

static void
close_fd(int *fd)
{
    close(*fd);
    *fd = -1;
}

/* What the child reads: the program as it came, and what it may use. */
static void
print_job(const struct config *config, const struct job *job,
          struct text *text)
{
    text_print(text, "{\"code\":");
    text_raw(text, job->code);
    text_print(text, ",\"context\":");
    text_raw(text, job->context.at != NULL ? job->context
                                           : (struct span){"null", 4});
    text_print(text, ",\"limits\":{\"timeout\":%g,\"memory\":%zu,"
               "\"figures\":%d,\"figure_pixels\":%d,\"figure_bytes\":%zu}}",
               job->timeout, config->memory, config->max_figures,
               config->max_figure_pixels, config->max_figure_bytes);
}

static void
signal_child(const struct run *run, int number)
{
    /* Fails only when it is dead already. */
    (void)pidfd_send_signal(run->child->pidfd, number, NULL, 0);
}

/* From here on only its end is waited for. */
static void
kill_child(struct run *run)
{
    signal_child(run, SIGKILL);
    market_end(run->market);
    run->interrupt_at_ms = INT64_MAX;
    run->watch_at_ms = INT64_MAX;
    run->slow_at_ms = INT64_MAX;
    run->kill_at_ms = now_ms() + GIVE_UP_MS;
}

/*** What can happen ***/

static void
send_job(struct run *run)
{
    ssize_t len = write(run->child->job_fd, run->job_text.data + run->job_sent,
                        run->job_text.len - run->job_sent);

    if (len > 0)
        run->job_sent += (size_t)len;
    /* A child that closed its end is heard of through its status. */
    if (run->job_sent == run->job_text.len ||
        (len == -1 && errno != EAGAIN && errno != EINTR))
        close_fd(&run->child->job_fd);
}

/* Read once. Returns the bytes, 0 for none now, -1 at the end of the pipe. */
static ssize_t
read_chunk(int fd, char *chunk)
{
    ssize_t len = read(fd, chunk, CHUNK);

    if (len == -1 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return len > 0 ? len : -1;
}

static ssize_t
read_output(struct run *run)
{
    char chunk[CHUNK];
    ssize_t len = read_chunk(run->child->output_fd, chunk);

    if (len > 0)
        capture_add(&run->result->output, chunk, (size_t)len);
    else if (len == -1)
        close_fd(&run->child->output_fd);
    return len;
}

static ssize_t
read_report(struct run *run)
{
    struct text *report = &run->result->report_text;
    char chunk[CHUNK];
    ssize_t len = read_chunk(run->child->report_fd, chunk);

    if (len == -1) {
        close_fd(&run->child->report_fd);
    } else if (report->len + (size_t)len > REPORT_MAX) {
        run->result->ending.was_flood = true;
        kill_child(run);  /* first, or its harness has words on a broken pipe */
        close_fd(&run->child->report_fd);
    } else if (len > 0) {
        text_add(report, chunk, (size_t)len);
    }
    return len;
}

/* The zygote tells of the end, or is gone itself. */
static void
read_status(struct run *run)
{
    struct ending *ending = &run->result->ending;
    unsigned char bytes[STATUS_BYTES];
    ssize_t len = recv(run->child->status_fd, bytes, sizeof(bytes),
                       MSG_DONTWAIT);

    /* A zygote that has not read that the child is taken resets the socket as
     * it closes it; what it said comes after that all the same. */
    if (len == -1 &&
        (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
        return;
    run->is_over = true;
    if (len != STATUS_BYTES) {
        struct pollfd pidfd = {run->child->pidfd, POLLIN, 0};

        ending->was_lost = true;
        signal_child(run, SIGKILL);
        poll(&pidfd, 1, GIVE_UP_MS);
        return;
    }
    ending->is_known = true;
    ending->wait_status = (int)unpack(bytes, 4);
    ending->was_memory |= unpack(bytes + 28, 4) > 0;
    ending->cpu_seconds =
        (double)(unpack(bytes + 4, 8) + unpack(bytes + 12, 8)) / 1e6;
    run->resident_kib = unpack(bytes + 20, 8);
}

/* Did the server in front give the request up? */
static void
read_client(struct run *run, short events)
{
    unsigned char header[2];
    ssize_t len;

    if (!(events & (POLLHUP | POLLRDHUP | POLLERR))) {
        /* FastCGI can also say so: a record of type 2, ABORT_REQUEST. */
        len = recv(run->client.fd, header, sizeof(header),
                   MSG_PEEK | MSG_DONTWAIT);
        if (len != 0 && !(len == 2 && header[1] == 2)) {
            run->client.events = POLLRDHUP;  /* not for us to read */
            return;
        }
    }
    run->is_unwanted = true;
    run->is_over = true;
    signal_child(run, SIGKILL);
}

static void
watch_memory(struct run *run)
{
    struct ending *ending = &run->result->ending;
    size_t used = usage_memory(run->child->pidfd, run->child->inherited,
                               run->config->memory);

    run->watch_at_ms = now_ms() + WATCH_MS;
    if (used > ending->peak_memory)
        ending->peak_memory = used;
    if (used > run->config->memory) {
        ending->was_memory = true;
        kill_child(run);
    }
}

/*
 * What was seen of its memory, at times, or what the child says of it: which
 * it can know better, and say too little or too much. The kernel says what it
 * cannot have been more than.
 */
static void
believe_peak(struct run *run)
{
    struct ending *ending = &run->result->ending;
    uint64_t kib = (uint64_t)run->result->report.peak_kib;
    size_t peak;

    if (kib > run->resident_kib)
        kib = run->resident_kib;
    peak = (size_t)kib * 1024;
    peak = peak > run->child->inherited ? peak - run->child->inherited : 0;
    if (peak > ending->peak_memory)
        ending->peak_memory = peak;
}

/* Once, and before the program is told that its time is up. */
static void
look_where_it_stands(struct run *run)
{
    run->slow_at_ms = INT64_MAX;
    run->was_slow = true;
    run->slow_from = run->result->report_text.len;
    signal_child(run, SIGNAL_SLOW);
}

static void
check_clock(struct run *run)
{
    struct ending *ending = &run->result->ending;
    int64_t now = now_ms();

    if (now >= run->kill_at_ms) {
        if (run->interrupt_at_ms == INT64_MAX && ending->was_killed)
            run->is_over = true;  /* stuck in the kernel; the zygote reaps */
        ending->was_killed |= ending->was_interrupted;
        kill_child(run);
    } else if (now >= run->slow_at_ms) {
        look_where_it_stands(run);
    } else if (now >= run->interrupt_at_ms) {
        ending->was_interrupted = true;
        run->interrupt_at_ms = INT64_MAX;
        run->kill_at_ms = now + run->config->grace;
        signal_child(run, SIGNAL_TIME_UP);
    } else if (now >= run->watch_at_ms) {
        watch_memory(run);
    }
}

/*** The loop ***/

static int
time_left(const struct run *run)
{
    int64_t next = run->kill_at_ms, now = now_ms();

    if (run->interrupt_at_ms < next)
        next = run->interrupt_at_ms;
    if (run->watch_at_ms < next)
        next = run->watch_at_ms;
    if (run->slow_at_ms < next)
        next = run->slow_at_ms;
    return next > now ? (int)(next - now) : 0;
}

static void
wait_for_end(struct run *run)
{
    while (!run->is_over) {
        const struct child *child = run->child;
        struct pollfd polled[] = {
            {child->job_fd, POLLOUT, 0},
            {child->output_fd, POLLIN, 0},
            {child->report_fd, POLLIN, 0},
            {child->status_fd, POLLIN, 0},
            run->client,
            events_poll(run->events, &run->result->output),
            {-1, 0, 0}, {-1, 0, 0},  /* MARKET_POLLED of the market's */
        };

        market_poll(run->market, &polled[6]);
        if (poll(polled, 6 + MARKET_POLLED, time_left(run)) > 0) {
            if (polled[0].revents != 0)
                send_job(run);
            if (polled[1].revents != 0)
                read_output(run);
            if (polled[2].revents != 0)
                read_report(run);
            if (polled[3].revents != 0)
                read_status(run);
            if (polled[4].revents != 0)
                read_client(run, polled[4].revents);
            if (polled[5].revents != 0)
                events_step(run->events, &run->result->output);
            if (polled[6].revents != 0 || polled[7].revents != 0)
                market_step(run->market, &polled[6]);
        }
        check_clock(run);
    }
}

/* Nothing of the run is alive: take what is left in its pipes. */
static void
drain(struct run *run)
{
    while (run->child->output_fd != -1 && read_output(run) > 0)
        continue;
    while (run->child->report_fd != -1 && read_report(run) > 0)
        continue;
}

static void
say_lines(struct verdict *verdict, const struct text *lines,
          void (*say)(struct verdict *, const char *))
{
    char *next = lines->data, *line;

    while (next != NULL && (line = strsep(&next, "\n")) != NULL)
        if (*line != '\0')
            say(verdict, line);
}

static void
judge(struct run *run)
{
    struct result *result = run->result;
    const struct collected *collected = &result->collected;
    const struct evidence evidence = {
        .ending = &result->ending,
        .report = &result->report,
        .has_output = result->output.total > 0,
        .has_figures = collected->figure_count > 0,
        .has_files = collected->file_count > 0,
        .timeout = run->job->timeout,
        .grace = run->config->grace / 1000.0,
        .memory = run->config->memory,
    };

    verdict_reach(&result->verdict, &evidence);
    say_lines(&result->verdict, &collected->limits, verdict_limit);
    say_lines(&result->verdict, &collected->notes, verdict_note);
    if (result->call_count > 0 && run->config->fmp_note[0] != '\0')
        verdict_note(&result->verdict, run->config->fmp_note);
}

static void
collect(struct run *run)
{
    const struct config *config = run->config;
    const struct collect_limits limits = {
        .files = (size_t)config->max_files,
        .file_bytes = config->max_file_bytes,
        .figures = (size_t)config->max_figures,
        .figure_bytes = config->max_figure_bytes,
        .figure_pixels = (size_t)config->max_figure_pixels,
    };

    collect_take(run->child->work_fd, run->child->owner_fd, run->job, &limits,
                 &run->result->collected);
}

int
run_job(const struct config *config, const struct job *job,
        struct child *child, struct market *market, struct pollfd client,
        struct events *events, struct result *result)
{
    struct run run = {
        .config = config, .job = job, .child = child, .market = market,
        .events = events, .result = result, .client = client,
        .started_ms = now_ms(),
    };

    *result = (struct result){0};
    capture_init(&result->output, config->max_output);
    print_job(config, job, &run.job_text);
    run.interrupt_at_ms = run.started_ms + (int64_t)(job->timeout * 1000);
    run.kill_at_ms = INT64_MAX;
    run.watch_at_ms = run.started_ms + WATCH_MS;
    run.slow_at_ms = config->slow_after > 0
                         ? run.started_ms + config->slow_after : INT64_MAX;

    market_begin(market, child->market_fd, job->key, run.interrupt_at_ms);
    send_job(&run);
    child_taken(child);
    wait_for_end(&run);
    market_end(market);
    result->calls = market_calls(market, &result->call_count);
    result->ending.seconds = (double)(now_ms() - run.started_ms) / 1000;
    text_clear(&run.job_text);
    if (!run.is_unwanted)
        drain(&run);
    if (run.was_slow)
        report_stack(result->report_text.data, result->report_text.len,
                     run.slow_from, &result->slow);
    if (run.is_unwanted)
        return -1;
    report_parse(result->report_text.data, result->report_text.len,
                 &result->report);
    believe_peak(&run);
    collect(&run);
    judge(&run);
    return 0;
}

void
result_clear(struct result *result)
{
    capture_clear(&result->output);
    text_clear(&result->report_text);
    text_clear(&result->slow);
    collect_clear(&result->collected);
    verdict_clear(&result->verdict);
}

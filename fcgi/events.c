#include "events.h"

#include "clock.h"
#include "reply.h"
#include "run.h"
#include "sink.h"
#include "text.h"

enum {
    SILENCE_MS = 15000,  /* or a proxy takes it for the end */
    PAUSE_MS = 20,       /* a print() is several writes: tell them together */
    PIECE = 64 * 1024    /* of output, for one event of a program that runs */
};

void
events_begin(struct events *events, struct http *http)
{
    *events = (struct events){http, 0, now_ms()};
    http_begin_live(http);
}

/*** While it runs ***/

static void
put_output(struct sink *sink, const char *data, size_t len)
{
    sink_string(sink, "event: output\ndata: {\"text\":");
    sink_quote(sink, data, len);
    sink_string(sink, "}\n\n");
}

struct pollfd
events_poll(struct events *events, const struct capture *output)
{
    int64_t silence;

    if (events == NULL)
        return (struct pollfd){-1, 0, 0};
    silence = now_ms() - events->last_ms;
    /* Nothing wakes the loop for these times: it turns often enough. */
    if (events->http->unsent.len > 0 || silence >= SILENCE_MS ||
        (silence >= PAUSE_MS && capture_whole(output, events->at, PIECE) > 0))
        return http_live(events->http);
    return (struct pollfd){-1, 0, 0};
}

void
events_step(struct events *events, const struct capture *output)
{
    size_t len = capture_whole(output, events->at, PIECE);
    struct text text = {0};
    struct sink sink = {text_add, &text, 0};

    /* One event at a time: a reader who is slow makes no queue. */
    if (events->http->unsent.len == 0) {
        if (len > 0)
            put_output(&sink, output->kept.data + events->at, len);
        else
            sink_string(&sink, ": the program runs\n\n");
        events->at += len;
        events->last_ms = now_ms();
    }
    http_offer(events->http, text.data, text.len);
    text_clear(&text);
}

/*** When it has ended ***/

int
events_end(struct events *events, const struct result *result, const char *id)
{
    const struct collected *collected = &result->collected;
    struct sink sink = {http_write, events->http, 0};
    struct text output = {0};
    uint64_t dropped = capture_print(&result->output, &output);

    sink.rc = http_end_live(events->http);
    if (output.len > events->at)
        put_output(&sink, output.data + events->at, output.len - events->at);
    text_clear(&output);
    for (size_t i = 0; i < collected->figure_count; i++) {
        sink_string(&sink, "event: figure\ndata: ");
        reply_figure(&collected->figures[i], &sink);
        sink_string(&sink, "\n\n");
    }
    for (size_t i = 0; i < collected->file_count; i++) {
        sink_string(&sink, "event: file\ndata: ");
        reply_file(&collected->files[i], &sink);
        sink_string(&sink, "\n\n");
    }
    sink_string(&sink, "event: done\ndata: {");
    reply_outcome(result, dropped, &sink);
    sink_string(&sink, ",");
    reply_costs(&result->ending, id, &sink);
    sink_string(&sink, "}\n\n");
    return sink.rc;
}

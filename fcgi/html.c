#include "html.h"

#include "reply.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
    CONTEXT_LINES = 3,       /* of the program, on each side of the fault */
    LINK_MAX = 1500 * 1000,  /* bytes; some browsers save no longer link */
    DEPTH_MAX = 2
};

const char html_policy[] = "Content-Security-Policy: default-src 'none'; "
    "img-src data:; style-src 'sha256-"
#include "reply.css.sha256.inc"
    "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const char style[] =
#include "reply.css.inc"
    ;

/* What a verdict is called. */
static const struct {
    const char *kind, *title;
} titles[] = {
    {"ok", "The program ended well"},
    {"exception", "An exception ended the program"},
    {"exit", "The program gave up"},
    {"timeout", "The time was up"},
    {"memory", "The memory was used up"},
    {"crash", "The program crashed"},
    {"empty", "Nothing came of the program"},
    {"figure", "A figure could not be drawn"},
    {"limit", "Something was left out"},
};

/* A verdict's error; the spans are raw JSON. */
struct error {
    struct span type, message, traceback;
    long line;  /* 0: null */
};

static void
begin(struct sink *sink, const char *title, const char *back)
{
    sink_string(sink, "<!doctype html>\n<html lang=\"en\">\n<head>\n"
                "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                "content=\"width=device-width, initial-scale=1\">\n<title>");
    sink_html(sink, title, strlen(title));
    sink_string(sink, " \xc2\xb7 sandbox-fcgi</title>\n<style>");
    sink_string(sink, style);
    sink_string(sink, "</style>\n</head>\n<body>\n<header>\n<h1>");
    sink_html(sink, title, strlen(title));
    sink_print(sink, "</h1>\n<nav><a href=\"./\">%s</a></nav>\n"
               "</header>\n<main>\n", back);
}

static void
section(struct sink *sink, const char *id, const char *title)
{
    sink_print(sink, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>"
               "\n", id, id, title);
}

static void
section_end(struct sink *sink)
{
    sink_string(sink, "</section>\n");
}

/* Text as it was written; an element's first newline would be dropped. */
static void
put_text(struct sink *sink, const char *text, size_t len)
{
    sink_string(sink, "<pre tabindex=\"0\">\n");
    sink_html(sink, text, len);
    sink_string(sink, "</pre>\n");
}

/* A JSON string, by one of the two ways to show text; or nothing for null. */
static void
put_json(struct sink *sink, struct span raw,
         void (*show)(struct sink *, const char *, size_t))
{
    size_t len;
    char *text = raw.at != NULL && json_kind(raw) == JSON_STRING
                     ? json_string(raw, &len) : NULL;

    if (text != NULL && len > 0)
        show(sink, text, len);
    free(text);
}

static void
put_size(struct sink *sink, size_t bytes)
{
    if (bytes < 1000)
        sink_print(sink, "%zu byte%s", bytes, bytes == 1 ? "" : "s");
    else if (bytes < 1000 * 1000)
        sink_print(sink, "%.1f kB", (double)bytes / 1e3);
    else
        sink_print(sink, "%.1f MB", (double)bytes / 1e6);
}

/*** The error ***/

static void
read_error(const struct text *raw, struct error *error)
{
    struct json_reader reader;
    struct span name, value;

    *error = (struct error){0};
    json_reader_init(&reader, (struct span){raw->data, raw->len}, DEPTH_MAX);
    while (json_member(&reader, &name, &value) == 1) {
        if (json_string_equals(name, "type"))
            error->type = value;
        else if (json_string_equals(name, "message"))
            error->message = value;
        else if (json_string_equals(name, "traceback"))
            error->traceback = value;
        else if (json_string_equals(name, "line") &&
                 json_kind(value) == JSON_NUMBER)
            error->line = (long)json_number(value);
    }
}

/* The program's lines around one of them, which is marked. */
static void
put_source(struct sink *sink, struct span code, long fault)
{
    size_t len = 0;
    char *source = json_string(code, &len), *at = source;

    sink_string(sink, "<pre tabindex=\"0\">\n");
    for (long number = 1; at != NULL && number <= fault + CONTEXT_LINES;
         number++) {
        size_t left = len - (size_t)(at - source);
        char *end = memchr(at, '\n', left);
        bool is_fault = number == fault;

        if (number >= fault - CONTEXT_LINES && (left > 0 || is_fault)) {
            sink_print(sink, "%s%s%4ld  ", is_fault ? "<mark>" : "",
                       is_fault ? "&gt;" : " ", number);
            sink_html(sink, at, end != NULL ? (size_t)(end - at) : left);
            sink_string(sink, is_fault ? "</mark>\n" : "\n");
        }
        at = end != NULL ? end + 1 : NULL;
    }
    sink_string(sink, "</pre>\n");
    free(source);
}

static void
put_error(struct sink *sink, const struct text *raw, struct span code)
{
    struct error error;

    if (raw->len == 0)
        return;
    read_error(raw, &error);
    section(sink, "error", "Error");
    sink_string(sink, "<p class=\"error\"><strong><bdi>");
    put_json(sink, error.type, sink_html);
    sink_string(sink, "</bdi></strong> <bdi>");
    put_json(sink, error.message, sink_html);
    sink_string(sink, "</bdi></p>\n");
    if (error.line > 0) {
        sink_print(sink, "<h3>Line %ld of the program</h3>\n", error.line);
        put_source(sink, code, error.line);
    }
    if (error.traceback.at != NULL &&
        json_string_length(error.traceback) > 0) {
        sink_string(sink, "<h3>Traceback</h3>\n");
        put_json(sink, error.traceback, put_text);
    }
    section_end(sink);
}

/*** What the program made ***/

static void
put_output(struct sink *sink, const struct capture *output)
{
    struct text kept = {0};

    if (output->total == 0)
        return;
    capture_print(output, &kept);
    section(sink, "output", "Output");
    put_text(sink, kept.data, kept.len);
    section_end(sink);
    text_clear(&kept);
}

static void
put_result(struct sink *sink, struct span result)
{
    if (result.at == NULL)
        return;
    section(sink, "result", "Result");
    put_json(sink, result, put_text);
    section_end(sink);
}

static void
put_figures(struct sink *sink, const struct collected *collected)
{
    size_t count = collected->figure_count;

    if (count == 0)
        return;
    section(sink, "figures", "Figures");
    for (size_t i = 0; i < count; i++) {
        sink_print(sink, "<img alt=\"Figure %zu of %zu\" "
                   "src=\"data:image/png;base64,", i + 1, count);
        sink_base64(sink, collected->figures[i].data,
                    collected->figures[i].size);
        sink_string(sink, "\">\n");
    }
    section_end(sink);
}

/* Saved, never shown: what a file says it is does not matter. */
static void
put_files(struct sink *sink, const struct collected *collected)
{
    if (collected->file_count == 0)
        return;
    section(sink, "files", "Files");
    sink_string(sink, "<ul>\n");
    for (size_t i = 0; i < collected->file_count; i++) {
        const struct found_file *file = &collected->files[i];

        sink_string(sink, "<li><a download=\"");
        sink_html(sink, file->name, strlen(file->name));
        sink_string(sink, "\" href=\"data:application/octet-stream;base64,");
        sink_base64(sink, file->data, file->size);
        sink_string(sink, "\"><bdi>");
        sink_html(sink, file->name, strlen(file->name));
        sink_string(sink, "</bdi></a>, ");
        put_size(sink, file->size);
        if (file->size > LINK_MAX)
            sink_string(sink, ". Some browsers do not save a link as large "
                        "as this; the JSON reply has the file as well.");
        sink_string(sink, "</li>\n");
    }
    sink_string(sink, "</ul>\n");
    section_end(sink);
}

/*** What else there is to know ***/

static void
put_notes(struct sink *sink, const struct text *notes)
{
    struct text array = {0};
    struct json_reader reader;
    struct span note;

    if (notes->len == 0)
        return;
    text_print(&array, "[%s]", notes->data);
    section(sink, "notes", "Notes");
    sink_string(sink, "<ul>\n");
    json_reader_init(&reader, (struct span){array.data, array.len},
                     DEPTH_MAX);
    while (json_element(&reader, &note) == 1) {
        sink_string(sink, "<li><bdi>");
        put_json(sink, note, sink_html);
        sink_string(sink, "</bdi></li>\n");
    }
    sink_string(sink, "</ul>\n");
    section_end(sink);
    text_clear(&array);
}

static void
put_calls(struct sink *sink, const struct result *result)
{
    if (result->call_count == 0)
        return;
    section(sink, "market", "Market data");
    sink_string(sink, "<ul>\n");
    for (size_t i = 0; i < result->call_count; i++) {
        const struct market_call *call = &result->calls[i];

        sink_string(sink, "<li><bdi>");
        sink_html(sink, call->path, strlen(call->path));
        sink_print(sink, "</bdi>: %d, %" PRId64 " ms%s</li>\n", call->status,
                   call->ms, call->is_cached ? ", kept from before" : "");
    }
    sink_string(sink, "</ul>\n");
    section_end(sink);
}

static void
put_costs(struct sink *sink, const struct ending *ending, const char *id)
{
    sink_print(sink, "</main>\n<footer>\n<p>%.3f s, of which %.3f s on the "
               "processor; memory ", ending->seconds, ending->cpu_seconds);
    put_size(sink, ending->peak_memory);
    if (ending->is_known && WIFEXITED(ending->wait_status))
        sink_print(sink, "; exit code %d", WEXITSTATUS(ending->wait_status));
    sink_print(sink, ". Run %s.</p>\n</footer>\n</body>\n</html>\n", id);
}

/*** The pages ***/

int
html_reply(const struct result *result, struct span code, const char *id,
           json_write *write, void *context)
{
    struct sink sink = {write, context, 0};
    const char *title = titles[0].title;

    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        if (strcmp(titles[i].kind, result->verdict.kind) == 0)
            title = titles[i].title;
    begin(&sink, title, "Run another");
    put_error(&sink, &result->verdict.error, code);
    put_output(&sink, &result->output);
    put_result(&sink, result->report.result);
    put_figures(&sink, &result->collected);
    put_files(&sink, &result->collected);
    put_notes(&sink, &result->verdict.notes);
    put_calls(&sink, result);
    put_costs(&sink, &result->ending, id);
    return sink.rc;
}

int
html_problem(const struct problem *problem, json_write *write, void *context)
{
    struct sink sink = {write, context, 0};

    begin(&sink, problem->title, "Run another");
    sink_string(&sink, "<p class=\"error\"><bdi>");
    sink_html(&sink, problem->detail, strlen(problem->detail));
    sink_print(&sink, "</bdi></p>\n</main>\n<footer>\n<p>Status %d; nothing "
               "has run.</p>\n</footer>\n</body>\n</html>\n", problem->status);
    return sink.rc;
}

/*** What the service is at ***/

static void
put_value(struct sink *sink, const cJSON *value)
{
    const cJSON *element;

    if (cJSON_IsString(value))
        sink_html(sink, value->valuestring, strlen(value->valuestring));
    else if (cJSON_IsNumber(value))
        sink_print(sink, "%.15g", value->valuedouble);
    else if (cJSON_IsNull(value))
        sink_string(sink, "none");
    cJSON_ArrayForEach(element, value) {
        put_value(sink, element);
        sink_string(sink, element->next != NULL ? ", " : "");
    }
}

/* A row a member. Those of an object in it follow, unless there is no prefix
 * to put before their names. */
static void
put_rows(struct sink *sink, const cJSON *object, const char *prefix)
{
    const cJSON *member;

    cJSON_ArrayForEach(member, object) {
        if (cJSON_IsObject(member)) {
            if (prefix != NULL)
                put_rows(sink, member, "up to ");
            continue;
        }
        sink_print(sink, "<tr><th scope=\"row\">%s%s</th><td>",
                   prefix != NULL ? prefix : "", member->string);
        put_value(sink, member);
        sink_string(sink, "</td></tr>\n");
    }
}

static void
put_table(struct sink *sink, const char *title, const cJSON *object,
          const char *prefix)
{
    sink_print(sink, "<table>\n<caption>%s</caption>\n", title);
    put_rows(sink, object, prefix);
    sink_string(sink, "</table>\n");
}

int
html_status(const cJSON *status, json_write *write, void *context)
{
    struct sink sink = {write, context, 0};
    const cJSON *member, *inner;

    begin(&sink, "Status", "Run a program");
    put_table(&sink, "service", status, NULL);
    cJSON_ArrayForEach(member, status) {
        if (!cJSON_IsObject(member))
            continue;
        if (!cJSON_IsObject(member->child))
            put_table(&sink, member->string, member, "");
        else
            cJSON_ArrayForEach(inner, member)
                put_table(&sink, inner->string, inner, "");
    }
    sink_string(&sink, "</main>\n</body>\n</html>\n");
    return sink.rc;
}

#include "reply.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

/* Base64 is made in pieces of this many bytes, a multiple of 3. */
enum { PIECE = 48 * 1024 };

const char *
media_type(const char *name)
{
    static const char *const types[][2] = {
        {"csv", "text/csv"},
        {"docx", "application/vnd.openxmlformats-officedocument."
                 "wordprocessingml.document"},
        {"gif", "image/gif"},
        {"gz", "application/gzip"},
        {"htm", "text/html"},
        {"html", "text/html"},
        {"jpeg", "image/jpeg"},
        {"jpg", "image/jpeg"},
        {"json", "application/json"},
        {"md", "text/markdown"},
        {"parquet", "application/vnd.apache.parquet"},
        {"pdf", "application/pdf"},
        {"png", "image/png"},
        {"pptx", "application/vnd.openxmlformats-officedocument."
                 "presentationml.presentation"},
        {"py", "text/x-python"},
        {"sqlite", "application/vnd.sqlite3"},
        {"svg", "image/svg+xml"},
        {"tif", "image/tiff"},
        {"tiff", "image/tiff"},
        {"tsv", "text/tab-separated-values"},
        {"txt", "text/plain"},
        {"webp", "image/webp"},
        {"xls", "application/vnd.ms-excel"},
        {"xlsx", "application/vnd.openxmlformats-officedocument."
                 "spreadsheetml.sheet"},
        {"xml", "application/xml"},
        {"zip", "application/zip"},
    };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcasecmp(dot + 1, types[i][0]) == 0)
            return types[i][1];
    return "application/octet-stream";
}

/*** A run's reply ***/

/* Where it goes; write is not called again once it has failed. */
struct sink {
    json_write *write;
    void *context;
    int rc;
};

static void
put(struct sink *sink, const char *data, size_t len)
{
    if (sink->rc == 0)
        sink->rc = sink->write(sink->context, data, len);
}

static void
put_string(struct sink *sink, const char *string)
{
    put(sink, string, strlen(string));
}

static size_t
encode_base64(const unsigned char *data, size_t size, char *to)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+/";
    char *start = to;

    for (; size >= 3; size -= 3, data += 3) {
        *to++ = letters[data[0] >> 2];
        *to++ = letters[(data[0] & 3) << 4 | data[1] >> 4];
        *to++ = letters[(data[1] & 15) << 2 | data[2] >> 6];
        *to++ = letters[data[2] & 63];
    }
    if (size > 0) {
        unsigned char second = size == 2 ? data[1] : 0;

        *to++ = letters[data[0] >> 2];
        *to++ = letters[(data[0] & 3) << 4 | second >> 4];
        *to++ = size == 2 ? letters[(second & 15) << 2] : '=';
        *to++ = '=';
    }
    return (size_t)(to - start);
}

static void
put_base64(struct sink *sink, const char *data, size_t size)
{
    char *piece = must_alloc(PIECE / 3 * 4);

    put_string(sink, "\"");
    while (size > 0 && sink->rc == 0) {
        size_t step = size < PIECE ? size : PIECE;

        put(sink, piece, encode_base64((const unsigned char *)data, step,
                                       piece));
        data += step;
        size -= step;
    }
    put_string(sink, "\"");
    free(piece);
}

static void
put_output(struct sink *sink, const struct capture *output)
{
    struct text kept = {0}, rest = {0};
    uint64_t dropped = capture_print(output, &kept);

    if (sink->rc == 0)
        sink->rc = json_quote(kept.len > 0 ? kept.data : "", kept.len,
                              sink->write, sink->context);
    text_print(&rest, ",\"output_dropped\":%" PRIu64, dropped);
    put(sink, rest.data, rest.len);
    text_clear(&kept);
    text_clear(&rest);
}

static void
put_figures(struct sink *sink, const struct collected *collected)
{
    for (size_t i = 0; i < collected->figure_count; i++) {
        put_string(sink, i > 0 ? "," : "");
        put_base64(sink, collected->figures[i].data,
                   collected->figures[i].size);
    }
}

static void
put_files(struct sink *sink, const struct collected *collected)
{
    for (size_t i = 0; i < collected->file_count; i++) {
        const struct found_file *file = &collected->files[i];
        struct text head = {0};

        text_print(&head, "%s{\"name\":", i > 0 ? "," : "");
        text_quote(&head, file->name, strlen(file->name));
        text_print(&head, ",\"type\":\"%s\",\"size\":%zu,\"data\":",
                   media_type(file->name), file->size);
        put(sink, head.data, head.len);
        put_base64(sink, file->data, file->size);
        put_string(sink, "}");
        text_clear(&head);
    }
}

/* The calls for market data. */
static void
print_calls(const struct result *result, struct text *text)
{
    for (size_t i = 0; i < result->call_count; i++) {
        const struct market_call *call = &result->calls[i];

        text_print(text, "%s{\"path\":", i > 0 ? "," : "");
        text_quote(text, call->path, strlen(call->path));
        text_print(text, ",\"status\":%d,\"ms\":%" PRId64 ",\"cached\":%s}",
                   call->status, call->ms, call->is_cached ? "true" : "false");
    }
}

/* What the run cost, and the end of the object. */
static void
print_costs(const struct ending *ending, const char *id, struct text *text)
{
    text_print(text, ",\"exit_code\":");
    if (ending->is_known && WIFEXITED(ending->wait_status))
        text_print(text, "%d", WEXITSTATUS(ending->wait_status));
    else
        text_print(text, "null");
    text_print(text, ",\"seconds\":%.3f,\"cpu_seconds\":%.3f,"
               "\"peak_memory\":%zu,\"id\":\"%s\"}\n", ending->seconds,
               ending->cpu_seconds, ending->peak_memory, id);
}

int
reply_print(const struct result *result, const char *id, json_write *write,
            void *context)
{
    struct sink sink = {write, context, 0};
    const struct verdict *verdict = &result->verdict;
    struct text text = {0};

    put_string(&sink, "{\"output\":");
    put_output(&sink, &result->output);

    text_print(&text, ",\"result\":");
    if (result->report.result.at != NULL)
        text_raw(&text, result->report.result);
    else
        text_print(&text, "null");
    text_print(&text, ",\"error\":%s,\"notes\":[%s],\"market\":[",
               verdict->error.len > 0 ? verdict->error.data : "null",
               verdict->notes.len > 0 ? verdict->notes.data : "");
    print_calls(result, &text);
    text_print(&text, "],\"figures\":[");
    put(&sink, text.data, text.len);
    put_figures(&sink, &result->collected);
    put_string(&sink, "],\"files\":[");
    put_files(&sink, &result->collected);
    text_clear(&text);

    text_print(&text, "]");
    print_costs(&result->ending, id, &text);
    put(&sink, text.data, text.len);
    text_clear(&text);
    return sink.rc;
}

/*** Replies without a run ***/

void
reply_object(cJSON *object, struct text *text)
{
    char *printed = cJSON_PrintUnformatted(object);

    if (printed != NULL)
        text_print(text, "%s\n", printed);
    cJSON_free(printed);
    cJSON_Delete(object);
}

void
reply_problem(const struct problem *problem, struct text *text)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "title", problem->title);
    cJSON_AddNumberToObject(object, "status", problem->status);
    cJSON_AddStringToObject(object, "detail", problem->detail);
    if (problem->member[0] != '\0')
        cJSON_AddStringToObject(object, "member", problem->member);
    reply_object(object, text);
}

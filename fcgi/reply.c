#include "reply.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

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

void
reply_figure(const struct found_file *figure, struct sink *sink)
{
    sink_string(sink, "\"");
    sink_base64(sink, figure->data, figure->size);
    sink_string(sink, "\"");
}

void
reply_file(const struct found_file *file, struct sink *sink)
{
    sink_string(sink, "{\"name\":");
    sink_quote(sink, file->name, strlen(file->name));
    sink_print(sink, ",\"type\":\"%s\",\"size\":%zu,\"data\":\"",
               media_type(file->name), file->size);
    sink_base64(sink, file->data, file->size);
    sink_string(sink, "\"}");
}

/* The calls for market data. */
static void
put_calls(const struct result *result, struct sink *sink)
{
    for (size_t i = 0; i < result->call_count; i++) {
        const struct market_call *call = &result->calls[i];

        sink_print(sink, "%s{\"path\":", i > 0 ? "," : "");
        sink_quote(sink, call->path, strlen(call->path));
        sink_print(sink, ",\"status\":%d,\"ms\":%" PRId64 ",\"cached\":%s}",
                   call->status, call->ms, call->is_cached ? "true" : "false");
    }
}

void
reply_outcome(const struct result *result, uint64_t dropped,
              struct sink *sink)
{
    const struct span *value = &result->report.result;
    const struct verdict *verdict = &result->verdict;

    sink_print(sink, "\"output_dropped\":%" PRIu64 ",\"result\":", dropped);
    if (value->at != NULL)
        sink_bytes(sink, value->at, value->len);
    else
        sink_string(sink, "null");
    sink_string(sink, ",\"error\":");
    sink_string(sink, verdict->error.len > 0 ? verdict->error.data : "null");
    sink_string(sink, ",\"notes\":[");
    sink_bytes(sink, verdict->notes.data, verdict->notes.len);
    sink_string(sink, "],\"market\":[");
    put_calls(result, sink);
    sink_string(sink, "]");
}

void
reply_costs(const struct ending *ending, const char *id, struct sink *sink)
{
    sink_string(sink, "\"exit_code\":");
    if (ending->is_known && WIFEXITED(ending->wait_status))
        sink_print(sink, "%d", WEXITSTATUS(ending->wait_status));
    else
        sink_string(sink, "null");
    sink_print(sink, ",\"seconds\":%.3f,\"cpu_seconds\":%.3f,"
               "\"peak_memory\":%zu,\"id\":\"%s\"", ending->seconds,
               ending->cpu_seconds, ending->peak_memory, id);
}

int
reply_print(const struct result *result, const char *id, json_write *write,
            void *context)
{
    const struct collected *collected = &result->collected;
    struct sink sink = {write, context, 0};
    struct text output = {0};
    uint64_t dropped = capture_print(&result->output, &output);

    sink_string(&sink, "{\"output\":");
    sink_quote(&sink, output.len > 0 ? output.data : "", output.len);
    text_clear(&output);
    sink_string(&sink, ",");
    reply_outcome(result, dropped, &sink);
    sink_string(&sink, ",\"figures\":[");
    for (size_t i = 0; i < collected->figure_count; i++) {
        sink_string(&sink, i > 0 ? "," : "");
        reply_figure(&collected->figures[i], &sink);
    }
    sink_string(&sink, "],\"files\":[");
    for (size_t i = 0; i < collected->file_count; i++) {
        sink_string(&sink, i > 0 ? "," : "");
        reply_file(&collected->files[i], &sink);
    }
    sink_string(&sink, "],");
    reply_costs(&result->ending, id, &sink);
    sink_string(&sink, "}\n");
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

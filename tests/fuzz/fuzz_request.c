/*
 * Any bytes as a body. The first byte chooses the limits, so that small
 * inputs meet them, and how the job is carried; '@' stands for generous limits
 * and JSON, with bit 128 for forms. What is accepted must keep
 * what request.h promises, and what is refused must be fit to be sent.
 */

#include "request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
    if (!holds)
        abort();
}

static struct request_limits
limits_from(uint8_t choice)
{
    return (struct request_limits){
        .max_body = choice & 1 ? 64 : 1 << 20,
        .max_code = choice & 2 ? 8 : 1 << 20,
        .max_files = choice & 4 ? 1 : 8,
        .max_file_bytes = choice & 8 ? 4 : 1 << 20,
        .timeout = 90,
        .max_depth = choice & 16 ? 3 : 50,
    };
}

/* How the body is to be read; forms of parts have the boundary "b". */
static const char *
type_from(uint8_t choice)
{
    if (choice & 128)
        return choice & 32 ? "application/x-www-form-urlencoded"
                           : "multipart/form-data; boundary=b";
    return choice & 32 ? "application/json; charset=utf-8"
                       : "application/json";
}

static bool
is_text(const char *text)
{
    size_t len = strlen(text);
    size_t size;

    for (size_t at = 0; at < len; at += size) {
        int32_t code;

        size = utf8_step(text + at, len - at, &code);
        if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            return false;
    }
    return true;
}

/* Where json_quote() writes; the longest escape is six bytes for one. */
struct sink {
    char *text;
    size_t len;
};

static int
sink_write(void *context, const char *text, size_t len)
{
    struct sink *sink = context;

    memcpy(sink->text + sink->len, text, len);
    sink->len += len;
    return 0;
}

/* Any bytes quoted are a JSON string; UTF-8 comes back as it was. */
static void
check_quote(const char *text, size_t len, bool is_utf8)
{
    struct sink sink = {.text = malloc(6 * len + 2)};
    struct json_reader reader;
    struct span value;
    char *back;
    size_t back_len;

    must(sink.text != NULL && json_quote(text, len, sink_write, &sink) == 0);
    json_reader_init(&reader, (struct span){sink.text, sink.len}, 1);
    must(json_value(&reader, &value) == 0 && json_end(&reader) == 0);
    must(value.len == sink.len && json_kind(value) == JSON_STRING);
    back = json_string(value, &back_len);
    must(back != NULL && back_len == json_string_length(value));
    if (is_utf8)
        must(back_len == len && memcmp(back, text, len) == 0);
    free(back);
    free(sink.text);
}

/* A span is a whole value of this kind, within the body or the text. */
static void
check_span(struct span span, enum json_kind kind, const char *body, size_t len,
           int max_depth)
{
    struct json_reader reader;
    struct span value;

    must(span.at >= body && span.len <= len && span.at - body <=
         (ptrdiff_t)(len - span.len));
    json_reader_init(&reader, span, max_depth);
    must(json_value(&reader, &value) == 0 && json_end(&reader) == 0);
    must(value.at == span.at && value.len == span.len);
    must(json_kind(value) == kind);
}

static void
check_code(struct span code, size_t max_code)
{
    size_t len;
    char *text = json_string(code, &len);

    must(text != NULL && len == json_string_length(code) && len <= max_code);
    check_quote(text, len, true);
    free(text);
}

/* No name twice, as a plain loop over all pairs sees it. */
static void
check_context(struct span context, int max_depth)
{
    struct json_reader outer;
    struct span name;
    struct span value;
    int rc;

    json_reader_init(&outer, context, max_depth);
    while ((rc = json_member(&outer, &name, &value)) == 1) {
        struct json_reader inner = outer;
        struct span other;

        must(!json_string_starts(name, "__"));
        while (outer.at < 2000 && json_member(&inner, &other, &value) == 1)
            must(json_string_compare(name, other) != 0);
    }
    must(rc == 0);
}

static void
check_key(const char *key)
{
    size_t len = strlen(key);

    must(len > 0 && len <= 256);
    for (size_t i = 0; i < len; i++)
        must(key[i] > ' ' && key[i] <= '~');
}

static void
check_files(const struct job *job, const struct request_limits *limits)
{
    size_t bytes = 0;

    must(job->file_count <= limits->max_files);
    for (size_t i = 0; i < job->file_count; i++) {
        const char *name = job->files[i].name;
        size_t len = strlen(name);

        must(len > 0 && len <= 1024 && is_text(name));
        must(name[0] != '/' && name[len - 1] != '/' && !strchr(name, '\\'));
        must(!strstr(name, "//") && strcmp(name, "..") && strcmp(name, "."));
        must(strncmp(name, "../", 3) != 0 && !strstr(name, "/../"));
        must(len < 3 || strcmp(name + len - 3, "/..") != 0);
        bytes += job->files[i].size;
        for (size_t j = 0; j < job->file_count; j++) {
            const char *other = job->files[j].name;

            must(i == j || strncmp(name, other, len) != 0 ||
                 (other[len] != '\0' && other[len] != '/'));
        }
    }
    must(bytes <= limits->max_file_bytes);
}

static void
check_problem(const struct problem *problem)
{
    must(problem->status == 400 || problem->status == 413 ||
         problem->status == 415);
    must(problem->detail[0] != '\0' && is_text(problem->detail));
    must(is_text(problem->member) && problem->title[0] != '\0');
    must(problem->detail[strlen(problem->detail) - 1] == '.');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct request_limits limits;
    struct problem problem;
    struct job job = {.timeout = -1};
    const char *body;

    if (size == 0)
        return 0;
    limits = limits_from(data[0]);
    body = (const char *)data + 1;
    size--;
    check_quote(body, size, false);

    if (request_parse(type_from(data[0]), body, size, &limits, &job,
                      &problem) == -1) {
        must(job.timeout == -1 && job.files == NULL && job.key == NULL);
        check_problem(&problem);
        return 0;
    }
    must(size <= limits.max_body);
    must(job.timeout > 0 && job.timeout <= limits.timeout);
    must((job.text != NULL) == ((data[0] & 128) != 0));
    if (job.text != NULL) {
        must(job.text_len <= 6 * size + 128);
        body = job.text;
        size = job.text_len;
    }
    check_span(job.code, JSON_STRING, body, size, limits.max_depth);
    check_code(job.code, limits.max_code);
    if (job.context.at != NULL) {
        check_span(job.context, JSON_OBJECT, body, size, limits.max_depth);
        check_context(job.context, limits.max_depth);
    }
    if (job.key != NULL)
        check_key(job.key);
    check_files(&job, &limits);
    job_clear(&job);
    job_clear(&job);
    return 0;
}

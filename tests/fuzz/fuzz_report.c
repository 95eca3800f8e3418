/*
 * Any bytes as what a child sent back. The first bytes choose how it ended
 * and what the worker found; then comes its report, up to the last NUL, and
 * behind that its output. Whatever it is, the reply must be strict JSON with
 * all that the contract promises.
 */

#include "html.h"
#include "reply.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { HEADER = 6, DEPTH = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
    if (!holds)
        abort();
}

/*** From the input to a result ***/

struct input {
    const uint8_t *header;  /* flags of the ending, wait status (2), flags of
                               the rest, most output kept, size of a chunk */
    const char *report, *output;
    size_t report_len, output_len;
};

/* Copy, so that a byte too many is seen; NULL for nothing, as in a text. */
static char *
copy(const char *data, size_t len)
{
    char *exact = len > 0 ? malloc(len) : NULL;

    must(len == 0 || exact != NULL);
    if (len > 0)
        memcpy(exact, data, len);
    return exact;
}

static struct input
split(const uint8_t *data, size_t size)
{
    const char *rest = (const char *)data + HEADER;
    size_t len = size - HEADER;
    const char *nul = memrchr(rest, '\0', len);
    struct input input = {.header = data, .report = rest, .report_len = len};

    if (nul != NULL) {
        input.report_len = (size_t)(nul - rest);
        input.output = nul + 1;
        input.output_len = len - input.report_len - 1;
    }
    return input;
}

static struct ending
ending_from(const uint8_t *header)
{
    return (struct ending){
        .is_known = header[0] & 1,
        .was_interrupted = header[0] & 2,
        .was_killed = header[0] & 4,
        .was_memory = header[0] & 8,
        .was_flood = header[0] & 16,
        .was_lost = header[0] & 32,
        .wait_status = header[1] | header[2] << 8,
        .cpu_seconds = header[1],
        .seconds = header[2] / 100.0,
        .peak_memory = (size_t)header[1] << 20,
    };
}

static void
feed(struct capture *capture, const struct input *input)
{
    size_t max_step = (size_t)input->header[5] + 1;

    for (size_t at = 0; at < input->output_len; at += max_step) {
        size_t left = input->output_len - at;

        capture_add(capture, input->output + at,
                    left < max_step ? left : max_step);
    }
}

static void
judge(struct result *result, const struct input *input, char *sentence)
{
    uint8_t flags = input->header[3];
    const struct evidence evidence = {
        .ending = &result->ending,
        .report = &result->report,
        .has_output = result->output.total > 0,
        .has_figures = result->collected.figure_count > 0,
        .has_files = result->collected.file_count > 0,
        .timeout = 90,
        .grace = 2,
        .memory = (size_t)1 << 30,
    };

    if (flags & 4)
        verdict_note(&result->verdict, sentence);
    verdict_reach(&result->verdict, &evidence);
    if (flags & 8)
        verdict_limit(&result->verdict, sentence);
    if (flags & 16)
        verdict_note(&result->verdict, sentence);
}

/*** What must hold ***/

struct member {
    const char *name;
    enum json_kind kind;
    bool may_be_null;
    struct span value;
};

/* Read an object that has exactly these members, once each. */
static void
read_object(struct span text, struct member *members, size_t count)
{
    struct json_reader reader;
    struct span name, value;
    size_t found = 0;
    int rc;

    json_reader_init(&reader, text, DEPTH);
    while ((rc = json_member(&reader, &name, &value)) == 1) {
        size_t i = 0;

        while (i < count && !json_string_equals(name, members[i].name))
            i++;
        must(i < count && members[i].value.at == NULL);
        must(json_kind(value) == members[i].kind ||
             (members[i].may_be_null && json_kind(value) == JSON_NULL));
        members[i].value = value;
        found++;
    }
    must(rc == 0 && found == count);
}

/* An array of so many strings, or of any number when count is -1. */
static void
check_strings(struct span text, int count)
{
    struct json_reader reader;
    struct span value;
    int rc, found = 0;

    json_reader_init(&reader, text, DEPTH);
    for (; (rc = json_element(&reader, &value)) == 1; found++)
        must(json_kind(value) == JSON_STRING);
    must(rc == 0 && (count == -1 || found == count));
}

static void
check_error(struct span raw, const char *kind)
{
    static const char *const kinds[] = {
        "exception", "exit", "timeout", "memory", "crash", "empty", "figure",
        "limit",
    };
    struct member members[] = {
        {"kind", JSON_STRING, false, {0}}, {"type", JSON_STRING, true, {0}},
        {"message", JSON_STRING, false, {0}},
        {"traceback", JSON_STRING, false, {0}},
        {"line", JSON_NUMBER, true, {0}},
    };
    size_t i = 0;

    if (json_kind(raw) == JSON_NULL) {
        must(strcmp(kind, "ok") == 0);
        return;
    }
    read_object(raw, members, COUNT(members));
    must(json_string_equals(members[0].value, kind));
    while (i < COUNT(kinds) && strcmp(kinds[i], kind) != 0)
        i++;
    must(i < COUNT(kinds));
    if (json_kind(members[4].value) == JSON_NUMBER)
        must(json_number(members[4].value) >= 1 &&
             json_number(members[4].value) <= 1e9);
}

static void
check_files(struct span raw, const struct collected *collected)
{
    struct json_reader reader;
    struct span value;
    size_t found = 0;
    int rc;

    json_reader_init(&reader, raw, DEPTH);
    for (; (rc = json_element(&reader, &value)) == 1; found++) {
        struct member members[] = {
            {"name", JSON_STRING, false, {0}},
            {"type", JSON_STRING, false, {0}},
            {"size", JSON_NUMBER, false, {0}},
            {"data", JSON_STRING, false, {0}},
        };
        size_t size = collected->files[found].size;

        read_object(value, members, COUNT(members));
        must(json_number(members[2].value) == (double)size);
        must(members[3].value.len == (size + 2) / 3 * 4 + 2);
    }
    must(rc == 0 && found == collected->file_count);
}

static void
check_reply(const struct text *text, const struct result *result)
{
    struct member members[] = {
        {"output", JSON_STRING, false, {0}},
        {"error", JSON_OBJECT, true, {0}},
        {"notes", JSON_ARRAY, false, {0}},
        {"figures", JSON_ARRAY, false, {0}},
        {"files", JSON_ARRAY, false, {0}},
        {"market", JSON_ARRAY, false, {0}},
        {"output_dropped", JSON_NUMBER, false, {0}},
        {"result", JSON_STRING, true, {0}},
        {"exit_code", JSON_NUMBER, true, {0}},
        {"seconds", JSON_NUMBER, false, {0}},
        {"cpu_seconds", JSON_NUMBER, false, {0}},
        {"peak_memory", JSON_NUMBER, false, {0}},
        {"id", JSON_STRING, false, {0}},
    };

    read_object((struct span){text->data, text->len}, members,
                COUNT(members));
    check_error(members[1].value, result->verdict.kind);
    check_strings(members[2].value, -1);
    check_strings(members[3].value, (int)result->collected.figure_count);
    check_files(members[4].value, &result->collected);
    check_strings(members[5].value, 0);
}

/* Nothing is counted twice or not at all, and the line says so too. */
static void
check_capture(const struct capture *capture)
{
    struct text text = {0}, line = {0};
    uint64_t dropped = capture_print(capture, &text);

    if (dropped > 0)
        text_print(&line, "\n[... %llu bytes left out ...]\n",
                   (unsigned long long)dropped);
    must((dropped > 0) == (capture->total > capture->max));
    must(text.len - line.len + dropped == capture->total);
    must(text.len - line.len <= capture->max);
    if (dropped > 0)
        must(memmem(text.data, text.len, line.data, line.len) != NULL);
    text_clear(&text);
    text_clear(&line);
}

/* A reader that goes away after so many bytes. */
struct reader {
    size_t room;
    bool is_broken;
};

static int
reader_write(void *context, const char *text, size_t len)
{
    struct reader *sink = context;

    (void)text;
    must(!sink->is_broken);
    if (len > sink->room) {
        sink->is_broken = true;
        return -1;
    }
    sink->room -= len;
    return 0;
}

static void
check_printing(const struct result *result, uint8_t choice)
{
    struct text text = {0};
    struct reader sink = {0};

    must(reply_print(result, "0123", text_add, &text) == 0);
    check_reply(&text, result);
    sink.room = text.len * choice / 256;
    must(reply_print(result, "0123", reader_write, &sink) == -1);
    must(sink.is_broken);
    text_clear(&text);
    must(html_reply(result, (struct span){"\"1\\n2\"", 6}, "0123", text_add,
                    &text) == 0);
    must(memchr(text.data, '\0', text.len) == NULL);
    text_clear(&text);
}

/* Any bytes make a short word for the log. */
static void
check_stack(const char *report, size_t len, size_t from)
{
    struct text stack = {0};

    report_stack(report, len, from < len ? from : len, &stack);
    must(stack.len > 0 && stack.len < 2000);
    for (size_t i = 0; i < stack.len; i++)
        must(stack.data[i] > ' ' && stack.data[i] < 0x7f &&
             stack.data[i] != '"' && stack.data[i] != '\\');
    text_clear(&stack);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    struct result result = {0};
    struct found_file file;
    char *report, *output, *sentence;

    if (size < HEADER)
        return 0;
    input = split(data, size);
    report = copy(input.report, input.report_len);
    output = copy(input.output, input.output_len);
    sentence = strndup(input.output_len > 0 ? output : "", input.output_len);
    must(sentence != NULL);

    file = (struct found_file){sentence, output, input.output_len};
    result.collected = (struct collected){
        .figures = &file, .figure_count = data[3] & 1,
        .files = &file, .file_count = data[3] >> 1 & 1,
    };
    result.ending = ending_from(data);
    capture_init(&result.output, (size_t)data[4] + 4);
    feed(&result.output, &input);
    report_parse(report, input.report_len, &result.report);
    judge(&result, &input, sentence);
    check_stack(report, input.report_len, data[5]);

    check_capture(&result.output);
    check_printing(&result, data[5]);

    verdict_clear(&result.verdict);
    capture_clear(&result.output);
    free(report);
    free(output);
    free(sentence);
    return 0;
}

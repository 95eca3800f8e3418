#include "reply.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPAN(text) ((struct span){(text), sizeof(text) - 1})
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define FFFD "\xef\xbf\xbd"

enum { OUTPUT_MAX = 64, PIECE = 48 * 1024, DEPTH = 3 };

/*** A result, and its reply ***/

static void
result_init(struct result *result)
{
    *result = (struct result){.ending = {
        .is_known = true, .seconds = 1.5, .cpu_seconds = 0.25,
        .peak_memory = 12345678,
    }};
    capture_init(&result->output, OUTPUT_MAX);
}

/* Files and figures are the test's own. */
static void
forget(struct result *result)
{
    capture_clear(&result->output);
    verdict_clear(&result->verdict);
}

static void
print(const struct result *result, struct text *text)
{
    assert_int_equal(reply_print(result, "id-1", text_add, text), 0);
}

/* All that a reply has, raw. */
struct reply {
    struct span output, output_dropped, result, figures, files, error, notes,
        market, exit_code, seconds, cpu_seconds, peak_memory, id;
};

struct member {
    const char *name;
    struct span *value;
    enum json_kind kind;
    bool may_be_null;
};

/* Read what must be an object with exactly these members. */
static void
read_object(struct span text, const struct member *members, size_t count)
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
        if (i == count || members[i].value->at != NULL)
            fail_msg("unknown or twice: %.*s", (int)name.len, name.at);
        if (json_kind(value) != members[i].kind &&
            !(members[i].may_be_null && json_kind(value) == JSON_NULL))
            fail_msg("%s is %.*s", members[i].name, (int)value.len, value.at);
        *members[i].value = value;
        found++;
    }
    if (rc == -1)
        fail_msg("%s at %zu: %.*s", reader.why, reader.at, (int)text.len,
                 text.at);
    assert_int_equal(found, count);
}

static void
read_reply(const struct text *text, struct reply *reply)
{
    const struct member members[] = {
        {"output", &reply->output, JSON_STRING, false},
        {"output_dropped", &reply->output_dropped, JSON_NUMBER, false},
        {"result", &reply->result, JSON_STRING, true},
        {"figures", &reply->figures, JSON_ARRAY, false},
        {"files", &reply->files, JSON_ARRAY, false},
        {"error", &reply->error, JSON_OBJECT, true},
        {"notes", &reply->notes, JSON_ARRAY, false},
        {"market", &reply->market, JSON_ARRAY, false},
        {"exit_code", &reply->exit_code, JSON_NUMBER, true},
        {"seconds", &reply->seconds, JSON_NUMBER, false},
        {"cpu_seconds", &reply->cpu_seconds, JSON_NUMBER, false},
        {"peak_memory", &reply->peak_memory, JSON_NUMBER, false},
        {"id", &reply->id, JSON_STRING, false},
    };

    *reply = (struct reply){0};
    read_object((struct span){text->data, text->len}, members,
                COUNT(members));
}

/* The item of an array at index; the array has count of them. */
static struct span
element(struct span array, size_t index, size_t count)
{
    struct json_reader reader;
    struct span value, found = {NULL, 0};
    size_t i = 0;
    int rc;

    json_reader_init(&reader, array, DEPTH);
    for (; (rc = json_element(&reader, &value)) == 1; i++)
        if (i == index)
            found = value;
    assert_int_equal(rc, 0);
    assert_int_equal(i, count);
    return found;
}

static void
assert_raw(struct span span, const char *raw)
{
    if (span.len != strlen(raw) || memcmp(span.at, raw, span.len) != 0)
        fail_msg("%.*s is not %s", (int)span.len, span.at, raw);
}

/*** Members ***/

static void
a_reply_without_anything_has_all_members(void **state)
{
    struct text text = {0};
    struct result result;
    struct reply reply;

    (void)state;
    result_init(&result);
    print(&result, &text);
    read_reply(&text, &reply);
    assert_raw(reply.output, "\"\"");
    assert_raw(reply.output_dropped, "0");
    assert_raw(reply.result, "null");
    assert_raw(reply.figures, "[]");
    assert_raw(reply.files, "[]");
    assert_raw(reply.error, "null");
    assert_raw(reply.notes, "[]");
    assert_raw(reply.market, "[]");
    assert_raw(reply.exit_code, "0");
    assert_raw(reply.seconds, "1.500");
    assert_raw(reply.cpu_seconds, "0.250");
    assert_raw(reply.peak_memory, "12345678");
    assert_raw(reply.id, "\"id-1\"");
    text_clear(&text);
    forget(&result);
}

static void
an_exit_code_is_the_kernels_or_null(void **state)
{
    static const struct {
        bool is_known;
        int status;
        const char *code;
    } table[] = {
        {true, 0, "0"}, {true, 1 << 8, "1"}, {true, 255 << 8, "255"},
        {true, SIGKILL, "null"}, {true, SIGSEGV | 0x80, "null"},
        {false, 0, "null"}, {false, 1 << 8, "null"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct text text = {0};
        struct result result;
        struct reply reply;

        result_init(&result);
        result.ending.is_known = table[i].is_known;
        result.ending.wait_status = table[i].status;
        print(&result, &text);
        read_reply(&text, &reply);
        assert_raw(reply.exit_code, table[i].code);
        text_clear(&text);
        forget(&result);
    }
}

static void
costs_may_be_large(void **state)
{
    struct text text = {0};
    struct result result;
    struct reply reply;

    (void)state;
    result_init(&result);
    result.ending.seconds = 1e9;
    result.ending.cpu_seconds = 0;
    result.ending.peak_memory = SIZE_MAX;
    print(&result, &text);
    read_reply(&text, &reply);
    assert_raw(reply.seconds, "1000000000.000");
    assert_raw(reply.cpu_seconds, "0.000");
    assert_raw(reply.peak_memory, "18446744073709551615");
    text_clear(&text);
    forget(&result);
}

/*** Combinations ***/

#define ERROR "{\"kind\":\"exit\",\"type\":null,\"message\":\"m\"," \
              "\"traceback\":\"\",\"line\":3}"

static struct found_file some_figures[] = {
    {(char *)"000.png", (char *)"\x89PNG", 4}, {(char *)"001.png", NULL, 0},
};

static struct found_file some_files[] = {
    {(char *)"a \"b\"\\.csv", (char *)"1,2\n", 4},
    {(char *)"d/\xc3\xa9.XLSX", NULL, 0},
};

enum {
    HAS_OUTPUT = 1, HAS_MORE_OUTPUT = 2, HAS_RESULT = 4, HAS_ERROR = 8,
    HAS_NOTES = 16, HAS_FIGURE = 32, HAS_FIGURES = 64, HAS_FILE = 128,
    HAS_FILES = 256, WAS_SIGNALLED = 512, COMBINATIONS = 1024,
};

static void
result_combine(struct result *result, int has)
{
    result_init(result);
    if (has & HAS_OUTPUT)
        capture_add(&result->output, "out\n", 4);
    for (int i = 0; has & HAS_MORE_OUTPUT && i < 20; i++)
        capture_add(&result->output, "\xf0\x9f\x98\x80\n", 5);
    if (has & HAS_RESULT)
        result->report.result = SPAN("\"\\u00e9\"");
    if (has & HAS_ERROR)
        text_print(&result->verdict.error, "%s", ERROR);
    if (has & HAS_NOTES)
        text_print(&result->verdict.notes, "\"a\",\"b\"");
    result->collected = (struct collected){
        .figures = some_figures,
        .figure_count = has & HAS_FIGURES ? 2 : has & HAS_FIGURE ? 1 : 0,
        .files = some_files,
        .file_count = has & HAS_FILES ? 2 : has & HAS_FILE ? 1 : 0,
    };
    if (has & WAS_SIGNALLED)
        result->ending.wait_status = SIGSEGV;
}

static void
assert_file(struct span raw, const char *name, const char *type,
            const char *size, const char *data)
{
    struct span values[4] = {{0}};
    const struct member members[] = {
        {"name", &values[0], JSON_STRING, false},
        {"type", &values[1], JSON_STRING, false},
        {"size", &values[2], JSON_NUMBER, false},
        {"data", &values[3], JSON_STRING, false},
    };

    read_object(raw, members, COUNT(members));
    assert_true(json_string_equals(values[0], name));
    assert_true(json_string_equals(values[1], type));
    assert_raw(values[2], size);
    assert_raw(values[3], data);
}

static void
assert_combined(const struct reply *reply, const struct result *result,
                int has)
{
    size_t figures = result->collected.figure_count;
    size_t files = result->collected.file_count;

    if (has & HAS_MORE_OUTPUT)
        assert_true(json_number(reply->output_dropped) > 0);
    else
        assert_raw(reply->output, has & HAS_OUTPUT ? "\"out\\n\"" : "\"\"");
    assert_raw(reply->result, has & HAS_RESULT ? "\"\\u00e9\"" : "null");
    assert_raw(reply->error, has & HAS_ERROR ? ERROR : "null");
    assert_raw(reply->notes, has & HAS_NOTES ? "[\"a\",\"b\"]" : "[]");
    assert_raw(reply->exit_code, has & WAS_SIGNALLED ? "null" : "0");
    if (figures > 0)
        assert_raw(element(reply->figures, 0, figures), "\"iVBORw==\"");
    if (figures > 1)
        assert_raw(element(reply->figures, 1, figures), "\"\"");
    if (files > 0)
        assert_file(element(reply->files, 0, files), "a \"b\"\\.csv",
                    "text/csv", "4", "\"MSwyCg==\"");
    if (files > 1)
        assert_file(element(reply->files, 1, files), "d/\xc3\xa9.XLSX",
                    "application/vnd.openxmlformats-officedocument."
                    "spreadsheetml.sheet", "0", "\"\"");
}

static void
every_combination_is_told(void **state)
{
    (void)state;
    for (int has = 0; has < COMBINATIONS; has++) {
        struct text text = {0};
        struct result result;
        struct reply reply;

        result_combine(&result, has);
        print(&result, &text);
        read_reply(&text, &reply);
        assert_combined(&reply, &result, has);
        assert_int_equal(text.data[text.len - 1], '\n');
        text_clear(&text);
        forget(&result);
    }
}

/*** Output ***/

static const struct {
    struct span output;
    const char *raw;
} outputs[] = {
    {SPAN("a\"b\\c\n"), "\"a\\\"b\\\\c\\n\""},
    {SPAN("a\0b"), "\"a\\u0000b\""},
    {SPAN("\0"), "\"\\u0000\""},
    {SPAN("\x1b[1m\x7f"), "\"\\u001b[1m\x7f\""},
    {SPAN("\xff"), "\"" FFFD "\""},
    {SPAN("a\xc3"), "\"a" FFFD "\""},
    {SPAN("\xe2\x82z"), "\"" FFFD "z\""},
    {SPAN("\xed\xa0\x80"), "\"" FFFD FFFD FFFD "\""},
    {SPAN("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\""},
};

static void
output_is_told_as_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(outputs); i++) {
        struct text text = {0};
        struct result result;
        struct reply reply;

        result_init(&result);
        capture_add(&result.output, outputs[i].output.at,
                    outputs[i].output.len);
        print(&result, &text);
        read_reply(&text, &reply);
        assert_raw(reply.output, outputs[i].raw);
        text_clear(&text);
        forget(&result);
    }
}

static void
output_over_the_cap_is_counted(void **state)
{
    char data[OUTPUT_MAX + 36];
    struct text text = {0};
    struct result result;
    struct reply reply;

    (void)state;
    memset(data, 'x', sizeof(data));
    result_init(&result);
    capture_add(&result.output, data, sizeof(data));
    print(&result, &text);
    read_reply(&text, &reply);
    assert_raw(reply.output_dropped, "36");
    assert_non_null(memmem(reply.output.at, reply.output.len,
                           "x\\n[... 36 bytes left out ...]\\nx", 32));
    text_clear(&text);
    forget(&result);
}

/*** Base64 ***/

/* In quotes, bit by bit. */
static void
naive_base64(const unsigned char *data, size_t size, struct text *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+/";

    text_add(text, "\"", 1);
    for (size_t bit = 0; bit < size * 8; bit += 6) {
        unsigned int six = 0;

        for (size_t i = bit; i < bit + 6; i++)
            six = six << 1 | (i < size * 8 && data[i / 8] >> (7 - i % 8) & 1);
        text_add(text, &letters[six], 1);
    }
    while (text->len % 4 != 1)  /* the quote aside */
        text_add(text, "=", 1);
    text_add(text, "\"", 1);
}

/* As a figure, from memory that ends where the data does. */
static void
assert_base64(size_t size)
{
    unsigned char *data = malloc(size);
    struct found_file figure = {NULL, (char *)data, size};
    struct text text = {0}, expected = {0};
    struct result result;
    struct reply reply;

    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)(i * 167 + i / 251);
    result_init(&result);
    result.collected = (struct collected){.figures = &figure,
                                          .figure_count = 1};
    print(&result, &text);
    read_reply(&text, &reply);
    naive_base64(data, size, &expected);
    assert_raw(element(reply.figures, 0, 1), expected.data);
    text_clear(&text);
    text_clear(&expected);
    forget(&result);
    free(data);
}

static void
base64_of_every_small_size_is_right(void **state)
{
    (void)state;
    for (size_t size = 0; size <= 100; size++)
        assert_base64(size);
}

static void
base64_is_right_around_a_piece(void **state)
{
    (void)state;
    for (size_t pieces = 1; pieces <= 2; pieces++)
        for (size_t size = pieces * PIECE - 2; size <= pieces * PIECE + 2;
             size++)
            assert_base64(size);
}

/*** A reader that goes away ***/

/* Takes so many bytes, and breaks then. */
struct reader {
    size_t room;
    bool is_broken;
    int calls_after;
};

static int
reader_write(void *context, const char *text, size_t len)
{
    struct reader *sink = context;

    (void)text;
    sink->calls_after += sink->is_broken;
    if (len > sink->room) {
        sink->is_broken = true;
        return -1;
    }
    sink->room -= len;
    return 0;
}

static void
printing_stops_where_the_sink_breaks(void **state)
{
    struct text text = {0};
    struct result result;

    (void)state;
    result_combine(&result, COMBINATIONS - 1);
    print(&result, &text);
    for (size_t room = 0; room <= text.len; room++) {
        struct reader sink = {.room = room};

        assert_int_equal(reply_print(&result, "id-1", reader_write, &sink),
                         room < text.len ? -1 : 0);
        assert_int_equal(sink.is_broken, room < text.len);
        assert_int_equal(sink.calls_after, 0);
    }
    text_clear(&text);
    forget(&result);
}

static void
printing_stops_between_pieces_of_a_file(void **state)
{
    static char data[3 * PIECE];
    struct found_file file = {(char *)"f", data, sizeof(data)};
    struct result result;

    (void)state;
    result_init(&result);
    result.collected = (struct collected){.files = &file, .file_count = 1};
    for (size_t room = PIECE; room < 4 * PIECE; room += PIECE / 2) {
        struct reader sink = {.room = room};

        assert_int_equal(reply_print(&result, "id-1", reader_write, &sink), -1);
        assert_int_equal(sink.calls_after, 0);
    }
    forget(&result);
}

static void
calls_for_market_data_are_told(void **state)
{
    const struct market_call calls[] = {
        {.path = (char *)"a/b", .status = 200, .ms = INT64_MAX,
         .is_cached = true},
        {.path = (char *)"***", .failure = "timeout", .detail = "secret"},
    };
    struct text text = {0};
    struct result result;
    struct reply reply;

    (void)state;
    result_init(&result);
    result.calls = calls;
    result.call_count = COUNT(calls);
    print(&result, &text);
    read_reply(&text, &reply);
    assert_raw(reply.market,
               "[{\"path\":\"a/b\",\"status\":200,"
               "\"ms\":9223372036854775807,\"cached\":true},"
               "{\"path\":\"***\",\"status\":0,\"ms\":0,"
               "\"cached\":false}]");
    text_clear(&text);
    forget(&result);
}

/*** Replies without a run ***/

static void
a_problem_is_told(void **state)
{
    static const struct {
        struct problem problem;
        const char *text;
    } table[] = {
        {{400, "Bad Request", "It is \"bad\".", "files[0].name"},
         "{\"title\":\"Bad Request\",\"status\":400,"
         "\"detail\":\"It is \\\"bad\\\".\",\"member\":\"files[0].name\"}\n"},
        {{503, "Service Unavailable", "\xe2\x82\xac\\", ""},
         "{\"title\":\"Service Unavailable\",\"status\":503,"
         "\"detail\":\"\xe2\x82\xac\\\\\"}\n"},
        {{413, "", "", ""}, "{\"title\":\"\",\"status\":413,"
                            "\"detail\":\"\"}\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct text text = {0};

        reply_problem(&table[i].problem, &text);
        assert_string_equal(text.data, table[i].text);
        text_clear(&text);
    }
}

static void
a_problem_may_be_as_long_as_it_can(void **state)
{
    struct problem problem = {.status = 400};
    struct span values[4] = {{0}};
    const struct member members[] = {
        {"title", &values[0], JSON_STRING, false},
        {"status", &values[1], JSON_NUMBER, false},
        {"detail", &values[2], JSON_STRING, false},
        {"member", &values[3], JSON_STRING, false},
    };
    struct text text = {0};

    (void)state;
    memset(problem.title, '"', sizeof(problem.title) - 1);
    memset(problem.detail, '\\', sizeof(problem.detail) - 1);
    memset(problem.member, '/', sizeof(problem.member) - 1);
    reply_problem(&problem, &text);
    read_object((struct span){text.data, text.len}, members, COUNT(members));
    assert_true(json_string_equals(values[0], problem.title));
    assert_raw(values[1], "400");
    assert_true(json_string_equals(values[2], problem.detail));
    assert_true(json_string_equals(values[3], problem.member));
    text_clear(&text);
}

/*** Media types ***/

#define OCTETS "application/octet-stream"
#define OFFICE "application/vnd.openxmlformats-officedocument."

static void
a_name_promises_a_media_type(void **state)
{
    static const struct {
        const char *name;
        const char *type;
    } table[] = {
        {"a.csv", "text/csv"}, {"a.CSV", "text/csv"}, {"a.Csv", "text/csv"},
        {"d.txt/a.csv", "text/csv"}, {"a.txt.csv", "text/csv"},
        {".csv", "text/csv"}, {"a..csv", "text/csv"},
        {"a.docx", OFFICE "wordprocessingml.document"},
        {"a.xlsx", OFFICE "spreadsheetml.sheet"},
        {"a.PPTX", OFFICE "presentationml.presentation"},
        {"a.xls", "application/vnd.ms-excel"},
        {"a.gif", "image/gif"}, {"a.png", "image/png"},
        {"a.jpg", "image/jpeg"}, {"a.JPEG", "image/jpeg"},
        {"a.svg", "image/svg+xml"}, {"a.tif", "image/tiff"},
        {"a.tiff", "image/tiff"}, {"a.webp", "image/webp"},
        {"a.gz", "application/gzip"}, {"a.tar.gz", "application/gzip"},
        {"a.zip", "application/zip"}, {"a.pdf", "application/pdf"},
        {"a.htm", "text/html"}, {"a.html", "text/html"},
        {"a.xml", "application/xml"}, {"a.json", "application/json"},
        {"a.md", "text/markdown"}, {"a.txt", "text/plain"},
        {"a.tsv", "text/tab-separated-values"}, {"a.py", "text/x-python"},
        {"a.parquet", "application/vnd.apache.parquet"},
        {"a.sqlite", "application/vnd.sqlite3"},
        {"", OCTETS}, {".", OCTETS}, {"a", OCTETS}, {"csv", OCTETS},
        {"a.", OCTETS}, {"a.csv.", OCTETS}, {"a.csvx", OCTETS},
        {"a.cs", OCTETS}, {"a.csv ", OCTETS}, {"d.csv/a", OCTETS},
        {"a.exe", OCTETS}, {"a.\xc3\xa9", OCTETS},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        assert_string_equal(media_type(table[i].name), table[i].type);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_without_anything_has_all_members),
        cmocka_unit_test(an_exit_code_is_the_kernels_or_null),
        cmocka_unit_test(costs_may_be_large),
        cmocka_unit_test(every_combination_is_told),
        cmocka_unit_test(output_is_told_as_text),
        cmocka_unit_test(output_over_the_cap_is_counted),
        cmocka_unit_test(base64_of_every_small_size_is_right),
        cmocka_unit_test(base64_is_right_around_a_piece),
        cmocka_unit_test(printing_stops_where_the_sink_breaks),
        cmocka_unit_test(printing_stops_between_pieces_of_a_file),
        cmocka_unit_test(calls_for_market_data_are_told),
        cmocka_unit_test(a_problem_is_told),
        cmocka_unit_test(a_problem_may_be_as_long_as_it_can),
        cmocka_unit_test(a_name_promises_a_media_type),
    };

    return cmocka_run_group_tests_name("reply", tests, NULL, NULL);
}

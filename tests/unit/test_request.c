#include "request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct request_limits limits = {
    .max_body = 8 << 20,
    .max_code = 20,
    .max_files = 3,
    .max_file_bytes = 6,
    .timeout = 90,
    .max_depth = 10,
};

/* Room for what a reading leaves behind, the body included. */
struct reading {
    char *body;
    size_t len;
    struct job job;
    struct problem problem;
};

/* Read a body from memory that ends where it does. */
static int
read_bytes(struct reading *reading, const char *content_type,
           const char *body, size_t len)
{
    *reading = (struct reading){.body = malloc(len), .len = len};
    assert_non_null(reading->body);
    memcpy(reading->body, body, len);
    return request_parse(content_type, reading->body, len, &limits,
                         &reading->job, &reading->problem);
}

static void
forget(struct reading *reading)
{
    job_clear(&reading->job);
    assert_null(reading->job.key);
    assert_null(reading->job.files);
    assert_int_equal(reading->job.file_count, 0);
    job_clear(&reading->job);
    free(reading->body);
}

/* Whatever goes wrong, the problem is fit to be sent. */
static void
assert_problem(const struct problem *problem, int status)
{
    const char *detail = problem->detail;
    size_t len = strlen(detail);
    size_t size;

    assert_int_equal(problem->status, status);
    assert_true(len > 0 && len < sizeof(problem->detail) - 1);
    assert_int_equal(detail[len - 1], '.');
    for (size_t at = 0; at < len; at += size) {
        int32_t code;

        size = utf8_step(detail + at, len - at, &code);
        assert_true(code >= 0x20 && (code < 0x7f || code >= 0xa0));
    }
    assert_string_equal(problem->title,
                        status == 413 ? "Content Too Large"
                        : status == 415 ? "Unsupported Media Type"
                        : "Bad Request");
}

/* The body gives a job. */
static void
accept(struct reading *reading, const char *body)
{
    if (read_bytes(reading, "application/json", body, strlen(body)) == -1)
        fail_msg("%.200s: %s", body, reading->problem.detail);
}

static void
accepts(const char *body)
{
    struct reading reading;

    accept(&reading, body);
    forget(&reading);
}

/* The body gives a problem with this member; its sentence holds text. */
static void
refuses(const char *body, const char *member, const char *text)
{
    struct reading reading;

    if (read_bytes(&reading, "application/json", body, strlen(body)) == 0)
        fail_msg("accepted: %.200s", body);
    assert_problem(&reading.problem, 400);
    if (strstr(reading.problem.detail, text) == NULL)
        fail_msg("%.200s: %s", body, reading.problem.detail);
    assert_string_equal(reading.problem.member, member);
    forget(&reading);
}

/* Text with count copies of a piece in the place of its %s; to be freed. */
static char *
filled(const char *format, size_t count, const char *piece)
{
    size_t len = strlen(piece);
    const char *place = strstr(format, "%s");
    char *text = malloc(strlen(format) + count * len);
    char *end = text;

    assert_true(text != NULL && place != NULL);
    end = mempcpy(end, format, (size_t)(place - format));
    while (count-- > 0)
        end = mempcpy(end, piece, len);
    strcpy(end, place + 2);
    return text;
}

static void
accepts_filled(const char *format, size_t count, const char *piece)
{
    char *body = filled(format, count, piece);

    accepts(body);
    free(body);
}

static void
refuses_filled(const char *format, size_t count, const char *piece,
               const char *member, const char *text)
{
    char *body = filled(format, count, piece);

    refuses(body, member, text);
    free(body);
}

static void
assert_span(struct span span, const char *text)
{
    assert_int_equal(span.len, strlen(text));
    assert_memory_equal(span.at, text, span.len);
}

static void
a_whole_job_is_read(void **state)
{
    struct reading reading;
    const struct job *job = &reading.job;

    (void)state;
    accept(&reading,
           " {\"timeout\": 2.5, \"files\": [{\"data\": \"AGE=\", \"name\": "
           "\"d/b\\u00e9\"}, {\"name\": \"a\", \"data\": \"\"}],\r\n"
           "\"key\": \"abc\\u0031\", \"context\": {\"n\": 9007199254740993, "
           "\"s\": \"\\u0000\"}, \"c\\u006fde\": \"print(\\\"1\\\")\"}\n");
    assert_span(job->code, "\"print(\\\"1\\\")\"");
    assert_span(job->context, "{\"n\": 9007199254740993, \"s\": \"\\u0000\"}");
    assert_string_equal(job->key, "abc1");
    assert_true(job->timeout == 2.5);
    assert_int_equal(job->file_count, 2);
    assert_string_equal(job->files[0].name, "a");
    assert_int_equal(job->files[0].size, 0);
    assert_string_equal(job->files[1].name, "d/b\xc3\xa9");
    assert_int_equal(job->files[1].size, 2);
    assert_memory_equal(job->files[1].data, "\0a", 2);
    assert_true(job->code.at > reading.body);
    assert_true(job->code.at + job->code.len < reading.body + reading.len);
    forget(&reading);
}

static void
what_is_left_out_has_a_default(void **state)
{
    static const char *const bodies[] = {
        "{\"code\":\"\"}",
        ("{\"code\":\"\",\"context\":null,\"key\":null,\"files\":null,"
         "\"timeout\":null}"),
        "{\"code\":\"\",\"key\":\"\",\"files\":[]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct reading reading;

        accept(&reading, bodies[i]);
        assert_span(reading.job.code, "\"\"");
        assert_null(reading.job.context.at);
        assert_null(reading.job.key);
        assert_int_equal(reading.job.file_count, 0);
        assert_true(reading.job.timeout == limits.timeout);
        forget(&reading);
    }
}

static void
the_media_type_is_checked(void **state)
{
    static const struct {
        const char *type;
        int status;
        const char *text;
    } table[] = {
        {"application/json", 0, ""},
        {"Application/JSON", 0, ""},
        {" application/json ", 0, ""},
        {"application/json;", 0, ""},
        {"application/json;charset=utf-8", 0, ""},
        {"application/json ; Charset=\"UTF-8\"", 0, ""},
        {"application/json; a=b; charset=utf-8 ; c=d", 0, ""},
        {NULL, 415, "application/json"},
        {NULL, 415, "application/x-www-form-urlencoded"},
        {NULL, 415, "multipart/form-data"},
        {"multipart/mixed; boundary=b", 415, "multipart/form-data"},
        {"multipart/form-data; charset=latin1; boundary=b", 415, "UTF-8"},
        {"application/x-www-form-urlencoded; charset=latin1", 415, "UTF-8"},
        {"", 415, "application/json"},
        {" ", 415, "application/json"},
        {";", 415, "application/json"},
        {"application/jso", 415, "application/json"},
        {"application/jsonp", 415, "application/jsonp"},
        {"application/json charset=utf-8", 415, "application/json"},
        {"text/plain", 415, "text/plain"},
        {"text/\x01\xff\n", 415, "application/json"},
        {"application/json; charset=latin1", 415, "UTF-8"},
        {"application/json; charset=", 415, "UTF-8"},
        {"application/json; charset=utf-16", 415, "UTF-8"},
        {"application/json; charset='utf-8'", 415, "UTF-8"},
        {"application/json; charset=utf-8; charset=utf-7", 415, "UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct reading reading;
        int rc = read_bytes(&reading, table[i].type, "{\"code\":\"\"}", 11);

        assert_int_equal(rc, table[i].status == 0 ? 0 : -1);
        if (rc == -1) {
            assert_problem(&reading.problem, table[i].status);
            assert_non_null(strstr(reading.problem.detail, table[i].text));
        }
        forget(&reading);
    }
}

static void
a_body_is_one_object(void **state)
{
    static const char *const not_json[] = {
        "print(1)", "{", "{}}", "{\"code\":\"a\"}}{\"code\":\"b\"}",
        "{\"code\":\"a\"} x", "{'code':1}", "{\"code\":\"a\",}",
        "[1,", "\"a", "1 2", "NaN", "code=print(1)", "{\"code\":\"\"}\f",
    };
    struct reading reading;

    (void)state;
    refuses("", "", "empty");
    refuses(" \r\n", "", "empty");
    refuses("[\"print(1)\"]", "", "\"code\", not an array");
    refuses("\"print(1)\"", "", "\"code\", not a string");
    refuses(" 5 ", "", "\"code\", not a number");
    refuses("null", "", "\"code\", not null");
    refuses("true", "", "\"code\", not a boolean");
    refuses("\xef\xbb\xbf{\"code\":\"a\"}", "", "byte order mark");
    for (size_t i = 0; i < COUNT(not_json); i++)
        refuses(not_json[i], "", "JSON");
    assert_int_equal(read_bytes(&reading, "application/json",
                                "{\"code\":\"\"}\0", 12), -1);
    assert_problem(&reading.problem, 400);
    forget(&reading);
    assert_int_equal(request_parse("application/json", NULL, 0, &limits,
                                   &reading.job, &reading.problem), -1);
    assert_problem(&reading.problem, 400);
}

static void
a_fault_names_its_member(void **state)
{
    (void)state;
    refuses("{\"code\":\"\",\"context\":{\"v\":NaN}}", "context",
            "\"context\" cannot be read as JSON: NaN");
    refuses("{\"code\":\"\",\"context\":{\"v\":[1,-Infinity]}}", "context",
            "Infinity");
    refuses("{\"code\":\"\",\"context\":{\"s\":\"cut \\ud83d\"}}", "context",
            "a lone surrogate at byte 31");
    refuses("{\"code\":\"\xff\"}", "code", "invalid UTF-8 at byte 9");
    refuses("{\"key\":\"geheim\n\"}", "key", "a control character");
    refuses("{\"code\"}", "code", "no colon at byte 7");
    refuses_filled("{\"code\":\"\",\"context\":{\"v\":%s}}", 5000, "[",
                   "context", "nesting deeper than 10");
    accepts("{\"code\":\"\",\"context\":{\"v\":[[[[[[[[]]]]]]]]}}");
    refuses("{\"code\":\"\",\"context\":{\"v\":[[[[[[[[[]]]]]]]]]}}", "context",
            "nesting deeper than 10");
}

static void
other_members_are_refused(void **state)
{
    static const char all[] = "code, context, key, files, timeout";

    (void)state;
    refuses("{\"x\":1}", "x", all);
    refuses("{\"contxt\":{}}", "contxt", "did you mean \"context\"?");
    refuses("{\"Code\":\"\"}", "Code", "did you mean \"code\"?");
    refuses("{\"file\":[]}", "file", "did you mean \"files\"?");
    refuses("{\"time_out\":1}", "time_out", "did you mean \"timeout\"?");
    refuses("{\"keys\":1}", "keys", "did you mean \"key\"?");
    refuses("{\"\":1}", "", all);
    refuses("{\"a\\nb\":1}", "a\\nb", "\"a\\nb\" is no member of a job. ");
    refuses("{\"a\x7f\xc2\x85\xe2\x80\xae\":1}",
            "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", all);
    refuses_filled("{\"%s\":1}", 100000, "x",
                   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...",
                   all);
    refuses_filled("{\"x%s\":1}", 100000, "\xf0\x9f\x98\x80",
                   "x" "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
                   "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
                   "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
                   "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80...",
                   all);
    refuses("{\"code\":\"\",\"files\":[{\"nam\":\"\"}]}", "files",
            "\"files[0].nam\" is no member of a file; did you mean \"name\"? "
            "Its members are name, data.");
}

static void
no_member_comes_twice(void **state)
{
    (void)state;
    refuses("{\"code\":\"\",\"code\":\"\"}", "code", "twice");
    refuses("{\"code\":\"\",\"c\\u006fde\":\"\"}", "code", "twice");
    refuses("{\"key\":null,\"key\":\"geheim\"}", "key", "twice");
    refuses("{\"code\":\"\",\"files\":[{\"name\":\"a\",\"name\":\"b\"}]}",
            "files", "\"files[0].name\" is there twice");
}

static void
types_are_checked(void **state)
{
    (void)state;
    refuses("{}", "code", "\"code\" is required in a job");
    refuses("{\"context\":{}}", "code", "must be a string");
    refuses("{\"code\":5}", "code", "must be a string, not a number");
    refuses("{\"code\":null}", "code", "must be a string, not null");
    refuses("{\"code\":\"\",\"context\":[1]}", "context",
            "must be an object or null, not an array");
    refuses("{\"code\":\"\",\"key\":7}", "key",
            "must be a string or null, not a number");
    refuses("{\"code\":\"\",\"files\":{}}", "files",
            "must be an array or null, not an object");
    refuses("{\"code\":\"\",\"timeout\":\"9\"}", "timeout",
            "must be a number or null, not a string");
    refuses("{\"code\":\"\",\"timeout\":true}", "timeout", "not a boolean");
    refuses("{\"code\":\"\",\"files\":[\"a\"]}", "files",
            "must hold objects of name and data, not a string");
    refuses("{\"code\":\"\",\"files\":[{\"name\":\"a\"}]}", "files",
            "\"files[0].data\" is required in a file");
    refuses("{\"code\":\"\",\"files\":[{\"data\":\"\"}]}", "files",
            "\"files[0].name\" is required in a file");
    refuses("{\"code\":\"\",\"files\":[{\"name\":\"a\",\"data\":null}]}",
            "files", "must be a string of base64, not null");
}

static void
code_is_bounded_when_decoded(void **state)
{
    (void)state;
    accepts_filled("{\"code\":\"%s\"}", 20, "x");
    refuses_filled("{\"code\":\"%s\"}", 21, "x", "code", "at most 20");
    accepts_filled("{\"code\":\"%s\"}", 20, "\\u0000");
    refuses_filled("{\"code\":\"%s\"}", 21, "\\n", "code", "at most 20");
    accepts_filled("{\"code\":\"%s\"}", 10, "\\u00e9");
    refuses_filled("{\"code\":\"%s\"}", 7, "\xe2\x82\xac", "code",
                   "has 21 bytes");
}

static void
context_names_are_checked(void **state)
{
    (void)state;
    accepts("{\"code\":\"\",\"context\":{}}");
    accepts("{\"code\":\"\",\"context\":{\"\":0}}");
    accepts("{\"code\":\"\",\"context\":{\"\":0,\"a\":0,\"b\":0,\"c\":0}}");
    accepts("{\"code\":\"\",\"context\":{\"_\":{\"__a\":1},\"my var\":[]}}");
    refuses("{\"code\":\"\",\"context\":{\"__\":1}}", "context", "\"__\"");
    refuses("{\"code\":\"\",\"context\":{\"a\":1,\"_\\u005fname__\":1}}",
            "context", "\"_\\u005fname__\"");
    refuses("{\"code\":\"\",\"context\":{\"a\":1,\"b\":1,\"\\u0061\":1}}",
            "context", "twice");
    accepts("{\"code\":\"\",\"context\":{\"a\":1,\"A\":1,\"a\\u0000\":1}}");
}

/* Ends within a test's patience only when it is not quadratic. */
static void
many_context_names_are_checked(void **state)
{
    static const char *const lasts[] = {"\"n\":0", "\"n77777\":0"};
    char *body = malloc(4 << 20);

    (void)state;
    assert_non_null(body);
    for (size_t i = 0; i < COUNT(lasts); i++) {
        char *end = body + sprintf(body, "{\"code\":\"\",\"context\":{");

        for (int name = 0; name < 100000; name++)
            end += sprintf(end, "\"n%d\":%d,", name, name);
        sprintf(end, "%s}}", lasts[i]);
        if (i == 0)
            accepts(body);
        else
            refuses(body, "context", "\"n77777\" twice");
    }
    free(body);
}

static void
the_key_is_checked_and_never_told(void **state)
{
    static const char *const bad[] = {
        "geheim geheim", " geheim", "geheim\\n", "geheim\\u0000",
        "\\u0000geheim", "geheim\\u007f", "geheim\xc3\xa9",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        char body[128];
        struct reading reading;

        snprintf(body, sizeof(body), "{\"code\":\"\",\"key\":\"%s\"}", bad[i]);
        assert_int_equal(read_bytes(&reading, "application/json", body,
                                    strlen(body)), -1);
        assert_problem(&reading.problem, 400);
        assert_string_equal(reading.problem.member, "key");
        assert_null(strstr(reading.problem.detail, "geheim"));
        forget(&reading);
    }
    accepts("{\"code\":\"\",\"key\":\"!~\"}");
    accepts_filled("{\"code\":\"\",\"key\":\"%s\"}", 256, "k");
    refuses_filled("{\"code\":\"\",\"key\":\"%s\"}", 257, "k", "key", "256");
}

/* What the sentence about a file's name says, for names good and bad. */
static const struct {
    const char *name;
    const char *text;
} names[] = {
    {"a", NULL}, {"a.b", NULL}, {".a", NULL}, {"...", NULL}, {"..a", NULL},
    {"a b", NULL}, {"a/b/c", NULL}, {"\xc3\xa9", NULL}, {"\\u00e9", NULL},
    {"-rf", NULL}, {"a:b", NULL}, {"\xe5\x9b\xbe", NULL}, {"a\\/b", NULL},
    {"", "empty"}, {"/", "empty"}, {"/a", "relative"}, {"a/", "empty"},
    {"a//b", "empty"}, {".", "part"}, {"..", "part"}, {"../a", "part"},
    {"a/./b", "part"}, {"a/../b", "part"}, {"a/..", "part"},
    {"\\u002e\\u002e/a", "part"},
    {"a\\\\b", "backslash"}, {"..\\\\a", "backslash"},
    {"a\\u0000", "control"}, {"\\u0000", "control"}, {"a\\n", "control"},
    {"\\u001f", "control"}, {"a\x7f", "control"}, {"\\u0085", "control"},
    {"a\\u202etxt.exe", "bidi"}, {"\\u2066", "bidi"}, {"\\u200f", "bidi"},
    {"\\u061c", "bidi"},
};

static void
file_names_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char body[128];

        snprintf(body, sizeof(body), "{\"code\":\"\",\"files\":[{\"data\":\"\","
                 "\"name\":\"%s\"}]}", names[i].name);
        if (names[i].text == NULL)
            accepts(body);
        else
            refuses(body, "files", names[i].text);
    }
}

static void
file_names_are_bounded(void **state)
{
    static const char one[] =
        "{\"code\":\"\",\"files\":[{\"data\":\"\",\"name\":\"%s\"}]}";
    static const char long_parts[] =
        "{\"code\":\"\",\"files\":[{\"data\":\"\",\"name\":\"%sx\"}]}";
    char part[205];

    (void)state;
    accepts_filled(one, 255, "x");
    refuses_filled(one, 256, "x", "files", "at most 255");
    accepts_filled(one, 127, "\\u00e9");
    refuses_filled(one, 128, "\\u00e9", "files", "at most 255");
    accepts_filled(long_parts, 15, "a/");
    refuses_filled(long_parts, 16, "a/", "files", "at most 16");

    memset(part, 'x', 203);
    strcpy(part + 203, "/");
    accepts_filled("{\"code\":\"\",\"files\":[{\"data\":\"\",\"name\":"
                   "\"%s1234\"}]}", 5, part);
    refuses_filled("{\"code\":\"\",\"files\":[{\"data\":\"\",\"name\":"
                   "\"%s12345\"}]}", 5, part, "files", "at most 1024");
}

static void
file_names_do_not_clash(void **state)
{
    static const struct {
        const char *names[3];
        const char *text;
    } table[] = {
        {{"a", "b", "c"}, NULL},
        {{"a", "a.", "ab"}, NULL},
        {{"a/b", "a/c", "a-"}, NULL},
        {{"a-", "a-/b", "a"}, "\"a-\" as a file and a directory"},
        {{"a", "a-b", "a/b"}, "\"a\" as a file and a directory"},
        {{"a/b", "a-b", "a"}, "\"a\" as a file and a directory"},
        {{"a/b", "a!b", "a/b/c/d"}, "\"a/b\" as a file and a directory"},
        {{"a", "b", "\\u0061"}, "\"a\" twice"},
        {{"x/y", "b", "x/y"}, "\"x/y\" twice"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char body[256];

        snprintf(body, sizeof(body), "{\"code\":\"\",\"files\":["
                 "{\"name\":\"%s\",\"data\":\"\"},"
                 "{\"name\":\"%s\",\"data\":\"\"},"
                 "{\"name\":\"%s\",\"data\":\"\"}]}", table[i].names[0],
                 table[i].names[1], table[i].names[2]);
        if (table[i].text == NULL)
            accepts(body);
        else
            refuses(body, "files", table[i].text);
    }
}

static const struct {
    const char *data;
    const char *text;  /* NULL: refused */
} base64[] = {
    {"", ""}, {"AA==", "\0"}, {"QQ==", "A"}, {"QUI=", "AB"}, {"QUJD", "ABC"},
    {"QUJDRA==", "ABCD"}, {"\\/+\\/+", "\xff\xef\xfe"},
    {"\\u0051Q\\u003d=", "A"},
    {"Q", NULL}, {"QQ", NULL}, {"QQ=", NULL}, {"QQ===", NULL}, {"Q===", NULL},
    {"=", NULL}, {"==", NULL}, {"====", NULL}, {"QQ==QQ==", NULL},
    {"Q=Q=", NULL}, {"QR==", NULL}, {"QUJ=", NULL}, {"QUI=\\n", NULL},
    {" QQ==", NULL}, {"QQ= =", NULL}, {"-_-_", NULL}, {"QU\\u0000D", NULL},
    {"QU\xc3\xa9", NULL}, {"QUJD\\nQUJD", NULL}, {"QUJDQ", NULL},
};

static void
file_data_are_strict_base64(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(base64); i++) {
        const struct input_file *file;
        char body[128];
        struct reading reading;

        snprintf(body, sizeof(body), "{\"code\":\"\",\"files\":[{\"name\":"
                 "\"a\",\"data\":\"%s\"}]}", base64[i].data);
        if (base64[i].text == NULL) {
            refuses(body, "files", "\"files[0].data\" must be base64");
            continue;
        }
        accept(&reading, body);
        file = reading.job.files;
        assert_int_equal(file->size, i == 1 ? 1 : strlen(base64[i].text));
        assert_memory_equal(file->data, base64[i].text, file->size);
        forget(&reading);
    }
}

static void
files_are_bounded(void **state)
{
    static const char one[] =
        "{\"code\":\"\",\"files\":[{\"name\":\"a\",\"data\":\"%s\"}]}";
    static const char two[] =
        "{\"code\":\"\",\"files\":[{\"name\":\"a\",\"data\":\"QUJD\"},"
        "{\"name\":\"b\",\"data\":\"QUJD%s\"}]}";

    (void)state;
    accepts_filled(one, 2, "QUJD");
    refuses_filled(one, 3, "QUJD", "files", "at most 6 bytes");
    accepts_filled(two, 0, "QQ==");
    refuses_filled(two, 1, "QQ==", "files",
                   "\"files[1].data\" is too large");
    accepts("{\"code\":\"\",\"files\":[{\"name\":\"a\",\"data\":\"\"},"
            "{\"name\":\"b\",\"data\":\"\"},{\"name\":\"c\",\"data\":\"\"}]}");
    refuses("{\"code\":\"\",\"files\":[{\"name\":\"a\",\"data\":\"\"},"
            "{\"name\":\"b\",\"data\":\"\"},{\"name\":\"c\",\"data\":\"\"},{}]}",
            "files", "\"files\" may hold at most 3 files.");
}

static void
the_timeout_is_refused_not_clipped(void **state)
{
    static const char *const good[] = {
        "90", "9e1", "90.0", "0.001", "1e-300", "89.99999999999",
    };
    static const char *const bad[] = {
        "0", "-0", "-1", "0.0", "90.001", "91", "1e999", "-1e999", "1e-999",
    };
    char body[64];

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        snprintf(body, sizeof(body), "{\"code\":\"\",\"timeout\":%s}", good[i]);
        accepts(body);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(body, sizeof(body), "{\"code\":\"\",\"timeout\":%s}", bad[i]);
        refuses(body, "timeout", "more than 0 and at most 90 seconds, not ");
    }
    refuses_filled("{\"code\":\"\",\"timeout\":1%s}", 100000, "0", "timeout",
                   "at most 90 seconds");
}

static void
the_body_is_bounded(void **state)
{
    char *body = filled("%s{\"code\":\"\"}", limits.max_body - 11, " ");
    struct reading reading;

    (void)state;
    accepts(body);
    free(body);
    body = filled("%s{\"code\":\"\"}", limits.max_body - 10, " ");
    assert_int_equal(read_bytes(&reading, "application/json", body,
                                limits.max_body + 1), -1);
    assert_problem(&reading.problem, 413);
    assert_non_null(strstr(reading.problem.detail, "at most 8388608"));
    forget(&reading);
    free(body);
}

/*** Forms ***/

static const char multipart[] = "multipart/form-data; boundary=xyz";

/* Append a field to a form's body of the one kind or the other. */
static void
add_pair(char *body, const char *name, const char *value)
{
    char *end = body + strlen(body);

    end += sprintf(end, "%s%s=", end == body ? "" : "&", name);
    for (; *value != '\0'; value++)
        end += sprintf(end, *value == ' ' ? "+" : "%%%02X",
                       (unsigned char)*value);
}

static void
add_part(char *body, const char *name, const char *more, const char *value)
{
    sprintf(body + strlen(body), "--xyz\r\nContent-Disposition: form-data; "
            "name=\"%s\"%s\r\n\r\n%s\r\n", name, more, value);
}

static int
read_parts(struct reading *reading, const char *parts)
{
    char body[4096];

    snprintf(body, sizeof(body), "%s--xyz--\r\n", parts);
    return read_bytes(reading, multipart, body, strlen(body));
}

/* Both kinds of form, made of a field of code and another, give this job. */
static int
read_field(struct reading *reading, bool is_multipart, const char *name,
           const char *value)
{
    char body[4096] = "";

    if (!is_multipart) {
        add_pair(body, "code", "1");
        add_pair(body, name, value);
        return read_bytes(reading, "application/x-www-form-urlencoded", body,
                          strlen(body));
    }
    add_part(body, "code", "", "1");
    add_part(body, name, "", value);
    return read_parts(reading, body);
}

static void
fields_are_read_as_members_are(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        const char *text;  /* of the sentence; NULL: accepted */
    } table[] = {
        {"context", "", NULL}, {"context", "null", NULL},
        {"context", " \r\n", NULL}, {"context", " {\"a\":\r\n1.50} ", NULL},
        {"context", "[1]", "must be an object or null, not an array"},
        {"context", "1", "must be an object or null, not a number"},
        {"context", "{", "cannot be read as JSON: "},
        {"context", "{\"v\":NaN}", "NaN, which JSON does not have, at byte 5"},
        {"context", "{},\"key\":\"k\"", "text after the end at byte 2 of the"},
        {"context", "{}}", "text after the end at byte 2 of the field"},
        {"context", "{\"a\":\"x\ny\"}", "a control character in a string"},
        {"context", "{\"a\":\"\xff\"}", "invalid UTF-8 at byte 6"},
        {"context", "\xef\xbb\xbf{}", "no value at byte 0"},
        {"context", "{\"v\":[[[[[[[[]]]]]]]]}", NULL},
        {"context", "{\"v\":[[[[[[[[[]]]]]]]]]}", "nesting deeper than 10"},
        {"context", "{\"__a\":1}", "begin with \"__\""},
        {"context", "{\"a\":1,\"\\u0061\":1}", "\"\\u0061\" twice"},
        {"key", "", NULL}, {"key", "k", NULL},
        {"key", "geheim geheim", "printable ASCII"},
        {"key", "geheim\r\n", "printable ASCII"},
        {"key", "geheim\xff", "printable ASCII"},
        {"timeout", "", NULL}, {"timeout", " 2.5 ", NULL},
        {"timeout", "90", NULL},
        {"timeout", "0", "more than 0 and at most 90 seconds"},
        {"timeout", "91", "more than 0 and at most 90 seconds"},
        {"timeout", "ten", "a number like 10 or 0.5, not \"ten\""},
        {"timeout", "\"5\"", "a number like"}, {"timeout", "1 2", "a number"},
        {"timeout", "null", "a number like"}, {"timeout", "[]", "a number"},
        {"files", "", NULL}, {"files", "a.csv", "must be sent as files"},
        {"code", "2", "is there twice"},
        {"contxt", "", "did you mean \"context\"?"},
        {"submit", "Run", "Its members are code, context, key, files, timeout"},
        {"_charset_", "UTF-8", NULL}, {"_charset_", "", NULL},
        {"_charset_", "windows-1252", "must be UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(table); i++) {
        const char *text = table[i / 2].text;
        struct reading reading;
        int rc = read_field(&reading, i % 2 == 1, table[i / 2].name,
                            table[i / 2].value);

        if (rc != (text == NULL ? 0 : -1))
            fail_msg("%s=%s: %d %s", table[i / 2].name, table[i / 2].value, rc,
                     reading.problem.detail);
        if (rc == -1) {
            assert_problem(&reading.problem, 400);
            if (strstr(reading.problem.detail, text) == NULL)
                fail_msg("%s", reading.problem.detail);
            assert_string_equal(reading.problem.member, table[i / 2].name);
            assert_null(strstr(reading.problem.detail, "geheim"));
        } else {
            assert_span(reading.job.code, "\"1\"");
        }
        forget(&reading);
    }
}

static void
a_whole_form_is_read(void **state)
{
    char body[4096] = "";
    struct reading reading;
    const struct job *job = &reading.job;

    (void)state;
    add_part(body, "files", "; filename=\"d/b%22\"", "\r\n\r\n");
    add_part(body, "timeout", "", "2.5");
    add_part(body, "code", "", "a\r\n\r\"\\");
    add_part(body, "anything", "; filename=a", "x");
    add_part(body, "none", "; filename=\"\"", "");
    add_part(body, "context", "", " {\"n\":\r\n9007199254740993} ");
    add_part(body, "key", "", "abc1");
    assert_int_equal(read_parts(&reading, body), 0);
    assert_span(job->code, "\"a\\n\\n\\\"\\\\\"");
    assert_span(job->context, "{\"n\":\r\n9007199254740993}");
    assert_string_equal(job->key, "abc1");
    assert_true(job->timeout == 2.5);
    assert_int_equal(job->file_count, 2);
    assert_string_equal(job->files[0].name, "a");
    assert_int_equal(job->files[0].size, 1);
    assert_string_equal(job->files[1].name, "d/b\"");
    assert_int_equal(job->files[1].size, 4);
    assert_memory_equal(job->files[1].data, "\r\n\r\n", 4);
    forget(&reading);
}

static void
code_of_a_form_is_checked(void **state)
{
    static const struct {
        const char *body;
        const char *json;  /* or what the sentence says */
        bool is_good;
    } table[] = {
        {"code=", "\"\"", true},
        {"code=+%09", "\" \\t\"", true},
        {"code=a%0D%0Ab%0Dc%0A%0D%0A%0D", "\"a\\nb\\nc\\n\\n\\n\"", true},
        {"code=%00%7F%C3%A9", "\"\\u0000\x7f\xc3\xa9\"", true},
        {"code=xxxxxxxxxxxxxxxxxxxx", "\"xxxxxxxxxxxxxxxxxxxx\"", true},
        {"code=xxxxxxxxxxxxxxxxxx%0D%0Ax", "\"xxxxxxxxxxxxxxxxxx\\nx\"", true},
        {"code=xxxxxxxxxxxxxxxxxxxxx", "has 21 bytes; it may have at most 20",
         false},
        {"code=a%E9", "\"code\" has invalid UTF-8 at byte 1", false},
        {"", "\"code\" is required in a job", false},
        {"print(1)", "\"print(1)\" is no member of a job", false},
        {"code=5%2", "\"%\" at byte 6", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct reading reading;
        int rc = read_bytes(&reading,
                            "application/x-www-form-urlencoded; charset=UTF-8",
                            table[i].body, strlen(table[i].body));

        assert_int_equal(rc, table[i].is_good ? 0 : -1);
        if (rc == 0)
            assert_span(reading.job.code, table[i].json);
        else if (strstr(reading.problem.detail, table[i].json) == NULL)
            fail_msg("%s", reading.problem.detail);
        forget(&reading);
    }
}

/* A form of parts, code and file names given, is refused with this text. */
static void
refuses_files(const char *const filenames[], const char *data, const char *text)
{
    char body[4096] = "";
    struct reading reading;
    int rc;

    add_part(body, "code", "", "1");
    for (size_t i = 0; filenames[i] != NULL; i++) {
        char more[256];

        snprintf(more, sizeof(more), "; filename=\"%s\"", filenames[i]);
        add_part(body, "files", more, data);
    }
    rc = read_parts(&reading, body);
    assert_int_equal(rc, text == NULL ? 0 : -1);
    if (rc == -1) {
        assert_problem(&reading.problem, 400);
        assert_string_equal(reading.problem.member, "files");
        if (strstr(reading.problem.detail, text) == NULL)
            fail_msg("%s", reading.problem.detail);
    }
    forget(&reading);
}

static void
files_of_a_form_are_checked(void **state)
{
    static const struct {
        const char *names[5];
        const char *data;
        const char *text;
    } table[] = {
        {{"a", "b", "c"}, "12", NULL},
        {{"a", "b", "c"}, "123", "\"files[2].data\" is too large"},
        {{"a", "b", "c", "d"}, "", "\"files\" may hold at most 3 files."},
        {{"a", "b", "a"}, "", "\"a\" twice"},
        {{"a", "a/b"}, "", "\"a\" as a file and a directory"},
        {{"a", "../b"}, "", "\"files[1].name\" must have no part"},
        {{"/a", "b"}, "", NULL},
        {{"/d/e/a", "a"}, "", "\"a\" twice"},
        {{"/"}, "", "must be a relative path"},
        {{"/a/.."}, "", "must have no part"},
        {{""}, "x", "must be a relative path"},
        {{"a\\\\b"}, "", "without backslashes"},
        {{"a%0Ab"}, "", "control"},
        {{"a\xe2\x80\xae"}, "", "bidirectional"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        refuses_files(table[i].names, table[i].data, table[i].text);
}

/* Above all the key, which must not become a program's to read. */
static void
a_field_is_no_file(void **state)
{
    static const char *const fields[] = {"code", "context", "key", "timeout"};

    (void)state;
    for (size_t i = 0; i < COUNT(fields); i++) {
        char body[512] = "";
        struct reading reading;

        add_part(body, fields[i], "; filename=\"key.txt\"", "geheim");
        assert_int_equal(read_parts(&reading, body), -1);
        assert_problem(&reading.problem, 400);
        assert_string_equal(reading.problem.member, fields[i]);
        assert_non_null(strstr(reading.problem.detail, "not a file"));
        assert_null(strstr(reading.problem.detail, "geheim"));
        forget(&reading);
    }
}

static void
fields_of_a_form_are_counted(void **state)
{
    struct reading reading;
    char *body = filled("code=1%s", 18, "&_charset_");

    (void)state;
    assert_int_equal(read_bytes(&reading, "application/x-www-form-urlencoded",
                                body, strlen(body)), 0);
    forget(&reading);
    free(body);
    body = filled("code=1%s", 19, "&_charset_");
    assert_int_equal(read_bytes(&reading, "application/x-www-form-urlencoded",
                                body, strlen(body)), -1);
    assert_problem(&reading.problem, 400);
    assert_non_null(strstr(reading.problem.detail, "at most 19 fields"));
    forget(&reading);
    free(body);
}

static void
a_form_that_cannot_be_read_is_told(void **state)
{
    static const struct {
        const char *type;
        const char *text;
    } table[] = {
        {"multipart/form-data", "must have a boundary"},
        {"multipart/form-data; boundary=abc", "The body has no line"},
        {"multipart/form-data; boundary=xyz", "Part 1 of the form has no end"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char body[512] = "";
        struct reading reading;

        add_part(body, "key", "", "geheim");
        assert_int_equal(read_bytes(&reading, table[i].type, body,
                                    strlen(body)), -1);
        assert_problem(&reading.problem, 400);
        assert_string_equal(reading.problem.member, "");
        assert_non_null(strstr(reading.problem.detail, table[i].text));
        assert_null(strstr(reading.problem.detail, "geheim"));
        forget(&reading);
    }
}

/* A refused body leaves the caller's job as it was. */
static void
a_refused_job_is_left_alone(void **state)
{
    static const char body[] = "{\"code\":\"\",\"key\":\"geheim\",\"files\":["
                               "{\"name\":\"a\",\"data\":\"QQ==\"}],"
                               "\"timeout\":0}";
    struct job job = {.timeout = 7};
    struct problem problem;

    (void)state;
    assert_int_equal(request_parse("application/json", body, sizeof(body) - 1,
                                   &limits, &job, &problem), -1);
    assert_true(job.timeout == 7 && job.key == NULL && job.files == NULL);
    assert_string_equal(problem.member, "timeout");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_job_is_read),
        cmocka_unit_test(what_is_left_out_has_a_default),
        cmocka_unit_test(the_media_type_is_checked),
        cmocka_unit_test(a_body_is_one_object),
        cmocka_unit_test(a_fault_names_its_member),
        cmocka_unit_test(other_members_are_refused),
        cmocka_unit_test(no_member_comes_twice),
        cmocka_unit_test(types_are_checked),
        cmocka_unit_test(code_is_bounded_when_decoded),
        cmocka_unit_test(context_names_are_checked),
        cmocka_unit_test(many_context_names_are_checked),
        cmocka_unit_test(the_key_is_checked_and_never_told),
        cmocka_unit_test(file_names_are_checked),
        cmocka_unit_test(file_names_are_bounded),
        cmocka_unit_test(file_names_do_not_clash),
        cmocka_unit_test(file_data_are_strict_base64),
        cmocka_unit_test(files_are_bounded),
        cmocka_unit_test(the_timeout_is_refused_not_clipped),
        cmocka_unit_test(the_body_is_bounded),
        cmocka_unit_test(fields_are_read_as_members_are),
        cmocka_unit_test(a_whole_form_is_read),
        cmocka_unit_test(code_of_a_form_is_checked),
        cmocka_unit_test(files_of_a_form_are_checked),
        cmocka_unit_test(a_field_is_no_file),
        cmocka_unit_test(fields_of_a_form_are_counted),
        cmocka_unit_test(a_form_that_cannot_be_read_is_told),
        cmocka_unit_test(a_refused_job_is_left_alone),
    };

    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}

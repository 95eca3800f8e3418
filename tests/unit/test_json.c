#include "json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPAN(text) ((struct span){(text), sizeof(text) - 1})
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { DEPTH = 200 };

/*
 * Read text as one value, from memory that ends where the text does, so that
 * the sanitizer sees one byte too many. Returns 0, or -1 and why.
 */
static int
read_text(struct span text, int max_depth, struct json_reader *reader)
{
    char *exact = malloc(text.len);
    struct span value;
    int rc;

    assert_non_null(exact);
    memcpy(exact, text.at, text.len);
    json_reader_init(reader, (struct span){exact, text.len}, max_depth);
    rc = json_value(reader, &value);
    if (rc == 0)
        rc = json_end(reader);
    free(exact);
    return rc;
}

static const struct span good[] = {
    SPAN("null"), SPAN("true"), SPAN("false"), SPAN("0"), SPAN("-0"),
    SPAN("-0.0"), SPAN("1"), SPAN("-12"), SPAN("0.5"), SPAN("10.25e-3"),
    SPAN("1E+2"), SPAN("1e2"), SPAN("0e0"), SPAN("1e999"),
    SPAN("123456789012345678901234567890"), SPAN("\"\""), SPAN("\" \""),
    SPAN("\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\t\""), SPAN("\"\\u0000\""),
    SPAN("\"\\u00e9\\uD834\\udd1e\""), SPAN("\"\\uFFFF\""), SPAN("\"\x7f\""),
    SPAN("\"\xc2\x80\""), SPAN("\"\xdf\xbf\""), SPAN("\"\xe0\xa0\x80\""),
    SPAN("\"\xed\x9f\xbf\""), SPAN("\"\xee\x80\x80\""),
    SPAN("\"\xef\xbf\xbf\""), SPAN("\"\xf0\x90\x80\x80\""),
    SPAN("\"\xf4\x8f\xbf\xbf\""), SPAN("\"\xe2\x80\xa8\""),
    SPAN("\"eight plain bytes and more, then \xc3\xa9 and more of them\""),
    SPAN("[]"), SPAN("{}"), SPAN("[ ]"), SPAN("{ }"), SPAN("[[],{}]"),
    SPAN("[1,2 , 3]"), SPAN("{\"a\":1}"), SPAN("{\"a\" : [ {} ] , \"\":null}"),
    SPAN("{\"a\":1,\"a\":2}"), SPAN(" \t\r\n1 \t\r\n"),
    SPAN("[{\"a\":[]},[{}],\"]\",\"}\"]"), SPAN("[true,false,null]"),
};

static void
good_text_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct json_reader reader;

        if (read_text(good[i], DEPTH, &reader) == -1)
            fail_msg("%s: %s at %zu", good[i].at, reader.why, reader.at);
        assert_string_equal(reader.why, "");
    }
}

static const struct {
    struct span text;
    size_t at;
    const char *why;
} bad[] = {
    {SPAN(""), 0, "no value"},
    {SPAN("  "), 2, "no value"},
    {SPAN("\xef\xbb\xbf{}"), 0, "no value"},
    {SPAN("\0"), 0, "no value"},
    {SPAN("1\0"), 1, "text after the end"},
    {SPAN("1 2"), 2, "text after the end"},
    {SPAN("{}}"), 2, "text after the end"},
    {SPAN("[]\f"), 2, "text after the end"},
    {SPAN("\v1"), 0, "no value"},
    {SPAN("\xc2\xa0""1"), 0, "no value"},
    {SPAN("nul"), 0, "no value"},
    {SPAN("nulL"), 0, "no value"},
    {SPAN("True"), 0, "no value"},
    {SPAN("truer"), 4, "text after the end"},
    {SPAN("'a'"), 0, "no value"},
    {SPAN("/**/1"), 0, "no value"},
    {SPAN("NaN"), 0, "NaN"},
    {SPAN("[NaN]"), 1, "NaN"},
    {SPAN("Infinity"), 0, "Infinity"},
    {SPAN("-Infinity"), 1, "Infinity"},
    {SPAN("-NaN"), 1, "a digit missing"},
    {SPAN("-"), 1, "a digit missing"},
    {SPAN("--1"), 1, "a digit missing"},
    {SPAN("+1"), 0, "no value"},
    {SPAN(".5"), 0, "no value"},
    {SPAN("5."), 2, "a digit missing"},
    {SPAN("5.e1"), 2, "a digit missing"},
    {SPAN("1e"), 2, "a digit missing"},
    {SPAN("1e+"), 3, "a digit missing"},
    {SPAN("1.5e-x"), 5, "a digit missing"},
    {SPAN("01"), 0, "a number with a leading zero"},
    {SPAN("-012"), 1, "a number with a leading zero"},
    {SPAN("00"), 0, "a number with a leading zero"},
    {SPAN("0x10"), 1, "text after the end"},
    {SPAN("1_000"), 1, "text after the end"},
    {SPAN("1a"), 1, "text after the end"},
    {SPAN("\""), 1, "a string without an end"},
    {SPAN("\"abc"), 4, "a string without an end"},
    {SPAN("\"abc\\\""), 6, "a string without an end"},
    {SPAN("\"abc\\"), 4, "an unknown escape"},
    {SPAN("\"\\x41\""), 1, "an unknown escape"},
    {SPAN("\"\\a\""), 1, "an unknown escape"},
    {SPAN("\"\\\0\""), 1, "an unknown escape"},
    {SPAN("\"\\u\""), 1, "an unknown escape"},
    {SPAN("\"\\u00e\""), 1, "an unknown escape"},
    {SPAN("\"\\u00"), 1, "an unknown escape"},
    {SPAN("\"\\u00g0\""), 1, "an unknown escape"},
    {SPAN("\"\\U0041\""), 1, "an unknown escape"},
    {SPAN("\"\\ud83d\""), 1, "a lone surrogate"},
    {SPAN("\"\\ud83d"), 1, "a lone surrogate"},
    {SPAN("\"\\ud83d\\u"), 1, "a lone surrogate"},
    {SPAN("\"\\ud83dx\""), 1, "a lone surrogate"},
    {SPAN("\"\\ud83d\\n\""), 1, "a lone surrogate"},
    {SPAN("\"\\ud83d\\u0041\""), 1, "a lone surrogate"},
    {SPAN("\"\\ud83d\\ud83d\""), 1, "a lone surrogate"},
    {SPAN("\"\\ude00\\ud83d\""), 1, "a lone surrogate"},
    {SPAN("\"\\udc00\""), 1, "a lone surrogate"},
    {SPAN("\"\n\""), 1, "a control character in a string"},
    {SPAN("\"a\tb\""), 2, "a control character in a string"},
    {SPAN("\"a\0b\""), 2, "a control character in a string"},
    {SPAN("\"1234567\x1f\""), 8, "a control character in a string"},
    {SPAN("\"\x80\""), 1, "invalid UTF-8"},
    {SPAN("\"\xff\""), 1, "invalid UTF-8"},
    {SPAN("\"\xc0\x80\""), 1, "invalid UTF-8"},
    {SPAN("\"\xc1\xbf\""), 1, "invalid UTF-8"},
    {SPAN("\"\xc3\""), 1, "invalid UTF-8"},
    {SPAN("\"\xc3"), 1, "invalid UTF-8"},
    {SPAN("\"\xe0\x9f\xbf\""), 1, "invalid UTF-8"},
    {SPAN("\"\xe2\x82\""), 1, "invalid UTF-8"},
    {SPAN("\"\xed\xa0\x80\""), 1, "invalid UTF-8"},
    {SPAN("\"\xf0\x8f\xbf\xbf\""), 1, "invalid UTF-8"},
    {SPAN("\"\xf4\x90\x80\x80\""), 1, "invalid UTF-8"},
    {SPAN("\"\xf5\x80\x80\x80\""), 1, "invalid UTF-8"},
    {SPAN("["), 1, "no value"},
    {SPAN("[1"), 2, "no comma or ]"},
    {SPAN("[1,"), 3, "no value"},
    {SPAN("[1,]"), 3, "no value"},
    {SPAN("[,1]"), 1, "no value"},
    {SPAN("[,]"), 1, "no value"},
    {SPAN("[1,,2]"), 3, "no value"},
    {SPAN("[1 2]"), 3, "no comma or ]"},
    {SPAN("[1}"), 2, "no comma or ]"},
    {SPAN("[1:2]"), 2, "no comma or ]"},
    {SPAN("[[]"), 3, "no comma or ]"},
    {SPAN("]"), 0, "no value"},
    {SPAN("{"), 1, "no member name in double quotes"},
    {SPAN("{]"), 1, "no member name in double quotes"},
    {SPAN("{1:2}"), 1, "no member name in double quotes"},
    {SPAN("{a:1}"), 1, "no member name in double quotes"},
    {SPAN("{'a':1}"), 1, "no member name in double quotes"},
    {SPAN("{,}"), 1, "no member name in double quotes"},
    {SPAN("{\"a\":1,}"), 7, "no member name in double quotes"},
    {SPAN("{\"a\""), 4, "no colon"},
    {SPAN("{\"a\",1}"), 4, "no colon"},
    {SPAN("{\"a\":"), 5, "no value"},
    {SPAN("{\"a\":}"), 5, "no value"},
    {SPAN("{\"a\"::1}"), 5, "no value"},
    {SPAN("{\"a\":1"), 6, "no comma or }"},
    {SPAN("{\"a\":1 \"b\":2}"), 7, "no comma or }"},
    {SPAN("{\"a\":1]"), 6, "no comma or }"},
    {SPAN("{\"a\":{}{}}"), 7, "no comma or }"},
    {SPAN("[[]{}]"), 3, "no comma or ]"},
};

static void
bad_text_is_refused_where_it_is_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct json_reader reader;

        if (read_text(bad[i].text, DEPTH, &reader) == 0)
            fail_msg("accepted: %s", bad[i].text.at);
        if (strncmp(reader.why, bad[i].why, strlen(bad[i].why)) != 0 ||
            reader.at != bad[i].at)
            fail_msg("%s: %s at %zu", bad[i].text.at, reader.why, reader.at);
    }
}

/* Whatever is cut off a good text, reading ends within what is left. */
static void
cut_text_is_read_no_further(void **state)
{
    static const struct span text =
        SPAN("{\"a\": [1.5e3, \"\\ud83d\\ude00 \xf0\x9f\x98\x80\"], "
             "\"b\": {\"c\": null}}");

    (void)state;
    for (size_t len = 0; len < text.len; len++) {
        struct json_reader reader;

        assert_int_equal(read_text((struct span){text.at, len}, DEPTH,
                                   &reader), -1);
        assert_true(reader.at <= len);
    }
}

static int
read_nested(int depth, int max_depth)
{
    size_t len = 2 * (size_t)depth;
    char *text = malloc(len + 1);
    struct json_reader reader;
    int rc;

    assert_non_null(text);
    memset(text, '[', len / 2);
    memset(text + len / 2, ']', len / 2);
    rc = read_text((struct span){text, len}, max_depth, &reader);
    free(text);
    return rc;
}

static void
depth_is_bounded(void **state)
{
    struct json_reader reader;

    (void)state;
    assert_int_equal(read_nested(1, 1), 0);
    assert_int_equal(read_nested(2, 1), -1);
    assert_int_equal(read_nested(DEPTH, DEPTH), 0);
    assert_int_equal(read_nested(DEPTH + 1, DEPTH), -1);
    assert_int_equal(read_nested(1000000, DEPTH), -1);
    assert_int_equal(read_text(SPAN("[]"), 0, &reader), -1);
    assert_int_equal(read_text(SPAN("1"), 0, &reader), 0);
    assert_int_equal(read_text(SPAN("[{},[],{}]"), 2, &reader), 0);
    assert_int_equal(read_text(SPAN("[{\"a\":[]}]"), 2, &reader), -1);
    assert_string_equal(reader.why, "nesting deeper than 2");
}

static void
assert_span(struct span span, const char *text)
{
    assert_int_equal(span.len, strlen(text));
    assert_memory_equal(span.at, text, span.len);
}

static void
members_come_as_they_were_sent(void **state)
{
    struct json_reader reader;
    struct span name;
    struct span value;

    (void)state;
    json_reader_init(&reader, SPAN(" {\"a\" : 1.5 ,\"b\\u0041\":{\"c\":[ ]}} "),
                     DEPTH);
    assert_int_equal(json_member(&reader, &name, &value), 1);
    assert_span(name, "\"a\"");
    assert_span(value, "1.5");
    assert_int_equal(json_member(&reader, &name, &value), 1);
    assert_span(name, "\"b\\u0041\"");
    assert_span(value, "{\"c\":[ ]}");
    assert_int_equal(json_member(&reader, &name, &value), 0);

    json_reader_init(&reader, SPAN("{}"), DEPTH);
    assert_int_equal(json_member(&reader, &name, &value), 0);
}

static void
elements_come_as_they_were_sent(void **state)
{
    struct json_reader reader;
    struct span value;

    (void)state;
    json_reader_init(&reader, SPAN("[[1, 2],\"x\" , {}]"), DEPTH);
    assert_int_equal(json_element(&reader, &value), 1);
    assert_span(value, "[1, 2]");
    assert_int_equal(json_element(&reader, &value), 1);
    assert_span(value, "\"x\"");
    assert_int_equal(json_element(&reader, &value), 1);
    assert_span(value, "{}");
    assert_int_equal(json_element(&reader, &value), 0);
}

static void
items_of_bad_containers_are_refused(void **state)
{
    static const struct span texts[] = {
        SPAN(""), SPAN("1"), SPAN("[1"), SPAN("{\"a\":1"), SPAN("{\"a\":1}}"),
        SPAN("[1]]"), SPAN("{\"a\":1}{\"b\":2}"), SPAN("[1][2]"), SPAN("[}"),
        SPAN("{]"), SPAN("[\"\\ud800\"]"), SPAN("{\"a\":NaN}"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct json_reader reader;
        struct span name;
        struct span value;
        int rc;

        json_reader_init(&reader, texts[i], DEPTH);
        while ((rc = json_member(&reader, &name, &value)) == 1)
            ;
        assert_int_equal(rc, -1);
        assert_true(reader.why[0] != '\0');

        json_reader_init(&reader, texts[i], DEPTH);
        while ((rc = json_element(&reader, &value)) == 1)
            ;
        assert_int_equal(rc, -1);
        assert_true(reader.why[0] != '\0');
    }
}

static void
a_faulty_member_is_named(void **state)
{
    struct json_reader reader;
    struct span name = {NULL, 0};
    struct span value = {NULL, 0};

    (void)state;
    json_reader_init(&reader, SPAN("{\"a\":[1,NaN]}"), DEPTH);
    assert_int_equal(json_member(&reader, &name, &value), -1);
    assert_span(name, "\"a\"");
    assert_null(value.at);
    assert_int_equal(reader.at, 8);
}

static void
kinds_are_told(void **state)
{
    static const struct span texts[] = {
        SPAN("null"), SPAN("true"), SPAN("-1"), SPAN("\"\""), SPAN("[]"),
        SPAN("{}"),
    };
    static const char *const names[] = {
        "null", "a boolean", "a number", "a string", "an array", "an object",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_int_equal(json_kind(texts[i]), i);
        assert_string_equal(json_kind_name(json_kind(texts[i])), names[i]);
    }
}

static void
numbers_are_read(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        double number;
    } table[] = {
        {"0", 1, 0}, {"-1.5e1", 6, -15}, {"129", 2, 12}, {"1e999", 5, HUGE_VAL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        assert_true(json_number((struct span){table[i].text, table[i].len}) ==
                    table[i].number);
}

static const struct {
    struct span raw;
    struct span text;
} strings[] = {
    {SPAN("\"\""), SPAN("")},
    {SPAN("\"a\""), SPAN("a")},
    {SPAN("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), SPAN("\"\\/\b\f\n\r\t")},
    {SPAN("\"a\\u0000b\""), SPAN("a\0b")},
    {SPAN("\"\\u007f\\u0080\\u07ff\""), SPAN("\x7f\xc2\x80\xdf\xbf")},
    {SPAN("\"\\u0800\\uFFFF\""), SPAN("\xe0\xa0\x80\xef\xbf\xbf")},
    {SPAN("\"\\ud800\\udc00\\uDBFF\\uDFFF\""),
     SPAN("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")},
    {SPAN("\"plain text of some length \\u00e9 and then some\""),
     SPAN("plain text of some length \xc3\xa9 and then some")},
    {SPAN("\"\xe2\x82\xac\""), SPAN("\xe2\x82\xac")},
};

static void
strings_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(strings); i++) {
        size_t len;
        char *text = json_string(strings[i].raw, &len);

        assert_non_null(text);
        assert_int_equal(len, strings[i].text.len);
        assert_int_equal(len, json_string_length(strings[i].raw));
        assert_memory_equal(text, strings[i].text.at, len + 1);
        free(text);
    }
}

static void
strings_are_compared_decoded(void **state)
{
    (void)state;
    assert_true(json_string_equals(SPAN("\"code\""), "code"));
    assert_true(json_string_equals(SPAN("\"c\\u006fde\""), "code"));
    assert_true(json_string_equals(SPAN("\"\\u00e9\""), "\xc3\xa9"));
    assert_true(json_string_equals(SPAN("\"\""), ""));
    assert_false(json_string_equals(SPAN("\"code\\u0000\""), "code"));
    assert_false(json_string_equals(SPAN("\"\\u0000\""), ""));
    assert_false(json_string_equals(SPAN("\"cod\""), "code"));
    assert_false(json_string_equals(SPAN("\"codex\""), "code"));
    assert_false(json_string_equals(SPAN("\"Code\""), "code"));
    assert_false(json_string_equals(SPAN("\"\xc3\xa9\""), "\xc3"));

    assert_true(json_string_starts(SPAN("\"__x\""), "__"));
    assert_true(json_string_starts(SPAN("\"_\\u005f\""), "__"));
    assert_false(json_string_starts(SPAN("\"_\""), "__"));

    assert_int_equal(json_string_compare(SPAN("\"a\""), SPAN("\"\\u0061\"")),
                     0);
    assert_true(json_string_compare(SPAN("\"a\""), SPAN("\"ab\"")) < 0);
    assert_true(json_string_compare(SPAN("\"b\""), SPAN("\"ab\"")) > 0);
    assert_true(json_string_compare(SPAN("\"\""), SPAN("\"\\u0000\"")) < 0);
    assert_true(json_string_compare(SPAN("\"\\uffff\""),
                                    SPAN("\"\xf0\x90\x80\x80\"")) < 0);
}

struct sink {
    char text[256];
    size_t len;
    int calls_left;
};

static int
sink_write(void *context, const char *text, size_t len)
{
    struct sink *sink = context;

    if (sink->calls_left-- == 0)
        return -1;
    assert_true(len > 0 && sink->len + len <= sizeof(sink->text));
    memcpy(sink->text + sink->len, text, len);
    sink->len += len;
    return 0;
}

#define FFFD "\xef\xbf\xbd"

static const struct {
    struct span text;
    struct span quoted;
} quotes[] = {
    {SPAN(""), SPAN("\"\"")},
    {SPAN("a"), SPAN("\"a\"")},
    {SPAN("a\"b\\c/"), SPAN("\"a\\\"b\\\\c/\"")},
    {SPAN("\b\f\n\r\t"), SPAN("\"\\b\\f\\n\\r\\t\"")},
    {SPAN("\0\x01\x1f\x7f"), SPAN("\"\\u0000\\u0001\\u001f\x7f\"")},
    {SPAN("\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80"),
     SPAN("\"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80\"")},
    {SPAN("twelve bytes\nand twelve more"),
     SPAN("\"twelve bytes\\nand twelve more\"")},
    {SPAN("a\xff""b"), SPAN("\"a" FFFD "b\"")},
    {SPAN("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"),
     SPAN("\"" FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A\"")},
    {SPAN("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"),
     SPAN("\"" FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A\"")},
    {SPAN("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"),
     SPAN("\"" FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B\"")},
    {SPAN("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"),
     SPAN("\"" FFFD FFFD FFFD FFFD "A\"")},
    {SPAN("\xf0\x9f\x98"), SPAN("\"" FFFD "\"")},
};

/* The rows of invalid UTF-8 are tables 3-8 to 3-11 of the Unicode standard. */
static void
bytes_are_quoted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(quotes); i++) {
        struct sink sink = {.calls_left = -1};
        struct json_reader reader;

        assert_int_equal(json_quote(quotes[i].text.at, quotes[i].text.len,
                                    sink_write, &sink), 0);
        assert_int_equal(sink.len, quotes[i].quoted.len);
        assert_memory_equal(sink.text, quotes[i].quoted.at, sink.len);
        assert_int_equal(read_text((struct span){sink.text, sink.len}, DEPTH,
                                   &reader), 0);
    }
}

static void
quoting_stops_when_the_sink_does(void **state)
{
    (void)state;
    for (int calls = 0; calls < 5; calls++) {
        struct sink sink = {.calls_left = calls};

        assert_int_equal(json_quote("ab\ncd", 5, sink_write, &sink), -1);
        assert_int_equal(sink.calls_left, -1);
    }
}

static void
every_character_survives(void **state)
{
    (void)state;
    for (int32_t code = 0; code <= 0x10ffff; code++) {
        struct json_reader reader;
        char raw[16];
        char *text;
        size_t len;
        int32_t back;

        snprintf(raw, sizeof(raw), code < 0x10000 ? "\"\\u%04x\""
                                                  : "\"\\u%04x\\u%04x\"",
                 (unsigned int)(code < 0x10000
                                ? code : 0xd7c0 + (code >> 10)),
                 (unsigned int)(0xdc00 | (code & 0x3ff)));
        json_reader_init(&reader, (struct span){raw, strlen(raw)}, 1);
        if (code >= 0xd800 && code <= 0xdfff) {
            assert_int_equal(json_value(&reader, &(struct span){0}), -1);
            continue;
        }
        assert_int_equal(json_value(&reader, &(struct span){0}), 0);
        text = json_string((struct span){raw, strlen(raw)}, &len);
        assert_non_null(text);
        assert_int_equal(utf8_step(text, len, &back), len);
        assert_int_equal(back, code);
        free(text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_text_is_read),
        cmocka_unit_test(bad_text_is_refused_where_it_is_bad),
        cmocka_unit_test(cut_text_is_read_no_further),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(members_come_as_they_were_sent),
        cmocka_unit_test(elements_come_as_they_were_sent),
        cmocka_unit_test(items_of_bad_containers_are_refused),
        cmocka_unit_test(a_faulty_member_is_named),
        cmocka_unit_test(kinds_are_told),
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(strings_are_compared_decoded),
        cmocka_unit_test(bytes_are_quoted),
        cmocka_unit_test(quoting_stops_when_the_sink_does),
        cmocka_unit_test(every_character_survives),
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

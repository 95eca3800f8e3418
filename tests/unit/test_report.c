#include "report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPAN(text) ((struct span){(text), sizeof(text) - 1})
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A report's line around its members; all null when nothing happened. */
#define REPORT(result, error, figure, limit, notes) \
    "{\"result\":" result ",\"error\":" error ",\"figure\":" figure \
    ",\"limit\":" limit ",\"notes\":" notes "}\n"
#define QUIET REPORT("null", "null", "null", "null", "[]")
#define WITH_ERROR(error) REPORT("null", error, "null", "null", "[]")
#define WITH_FIGURE(figure) REPORT("null", "null", figure, "null", "[]")
#define WITH_LINE(line) \
    WITH_ERROR("{\"kind\":\"exception\",\"type\":\"E\",\"message\":\"m\"," \
               "\"traceback\":\"t\",\"line\":" line "}")
#define STACK "Stack (most recent call first):\n"
#define PLACE "  File \"/tmp/main.py\", line "

/* What a child sent, and what was read of it. */
struct reading {
    char *text;
    struct report report;
};

/* Read from memory that ends where the text does. */
static void
parse(struct reading *reading, struct span text)
{
    reading->text = malloc(text.len);
    assert_non_null(reading->text);
    memcpy(reading->text, text.at, text.len);
    memset(&reading->report, 0xff, sizeof(reading->report));
    report_parse(reading->text, text.len, &reading->report);
}

static void
forget(struct reading *reading)
{
    free(reading->text);
}

/* raw NULL: the span is to be null. */
static void
assert_span(struct span span, const char *raw)
{
    if (raw == NULL) {
        assert_null(span.at);
        return;
    }
    assert_non_null(span.at);
    assert_int_equal(span.len, strlen(raw));
    assert_memory_equal(span.at, raw, span.len);
}

static void
assert_nothing_said(const struct report *report)
{
    assert_false(report->is_valid);
    assert_false(report->has_error);
    assert_int_equal(report->error_line, 0);
    assert_span(report->result, NULL);
    assert_span(report->error_kind, NULL);
    assert_span(report->error_type, NULL);
    assert_span(report->error_message, NULL);
    assert_span(report->error_traceback, NULL);
    assert_span(report->figure_type, NULL);
    assert_span(report->figure_message, NULL);
    assert_span(report->limit, NULL);
    assert_span(report->notes, NULL);
}

/* These bytes are no report. */
static void
refuse(struct span text)
{
    struct reading reading;

    parse(&reading, text);
    if (reading.report.is_valid)
        fail_msg("accepted: %.*s", (int)text.len, text.at);
    assert_nothing_said(&reading.report);
    forget(&reading);
}

/*** Reports that are valid ***/

/* All raw; NULL: null, or not said. */
struct said {
    const char *result, *kind, *type, *message, *traceback;
    long line;
    const char *figure_type, *figure_message, *limit, *notes;
};

static void
assert_said(const struct report *report, const struct said *said)
{
    assert_true(report->is_valid);
    assert_span(report->result, said->result);
    assert_int_equal(report->has_error, said->kind != NULL);
    assert_span(report->error_kind, said->kind);
    assert_span(report->error_type, said->type);
    assert_span(report->error_message, said->message);
    assert_span(report->error_traceback, said->traceback);
    assert_int_equal(report->error_line, said->line);
    assert_span(report->figure_type, said->figure_type);
    assert_span(report->figure_message, said->figure_message);
    assert_span(report->limit, said->limit);
    assert_span(report->notes, said->notes);
}

static const struct {
    struct span text;
    struct said said;
} valid[] = {
    {SPAN(QUIET), {.notes = "[]"}},
    {SPAN(REPORT("\"42\"", "null", "null", "null", "[]")),
     {.result = "\"42\"", .notes = "[]"}},
    {SPAN(REPORT("\"\"", "null", "null", "\"too many\"", "[\"a\", \"b\"]")),
     {.result = "\"\"", .limit = "\"too many\"", .notes = "[\"a\", \"b\"]"}},
    {SPAN(WITH_ERROR("{\"kind\":\"exception\",\"type\":\"KeyError\","
                     "\"message\":\"'x'\",\"traceback\":\"T\\n\","
                     "\"line\":3}")),
     {.kind = "\"exception\"", .type = "\"KeyError\"", .message = "\"'x'\"",
      .traceback = "\"T\\n\"", .line = 3, .notes = "[]"}},
    {SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":\"SystemExit\","
                     "\"message\":\"\",\"traceback\":\"\",\"line\":null}")),
     {.kind = "\"exit\"", .type = "\"SystemExit\"", .message = "\"\"",
      .traceback = "\"\"", .notes = "[]"}},
    {SPAN(WITH_ERROR("{\"kind\":\"timeout\",\"type\":\"TimeoutError\","
                     "\"message\":\"m\",\"traceback\":\"t\",\"line\":1}")),
     {.kind = "\"timeout\"", .type = "\"TimeoutError\"", .message = "\"m\"",
      .traceback = "\"t\"", .line = 1, .notes = "[]"}},
    {SPAN(WITH_ERROR("{\"kind\":\"memory\",\"type\":\"MemoryError\","
                     "\"message\":\"m\",\"traceback\":\"t\",\"line\":2}")),
     {.kind = "\"memory\"", .type = "\"MemoryError\"", .message = "\"m\"",
      .traceback = "\"t\"", .line = 2, .notes = "[]"}},
    {SPAN(WITH_FIGURE("{\"type\":\"ValueError\",\"message\":\"no data\"}")),
     {.figure_type = "\"ValueError\"", .figure_message = "\"no data\"",
      .notes = "[]"}},
    /* Members in any order, escaped names, space, other characters. */
    {SPAN("{ \"notes\" : [ ] , \"limit\":null,\"figure\":null,"
          "\"err\\u006fr\": {\"line\":7,\"traceback\":\"\",\"message\":\"\","
          "\"type\":\"\",\"kind\":\"e\\u0078it\"},\t\"result\":"
          "\"\xe2\x82\xac\\u0000\" } \r\n"),
     {.result = "\"\xe2\x82\xac\\u0000\"", .kind = "\"e\\u0078it\"",
      .type = "\"\"", .message = "\"\"", .traceback = "\"\"", .line = 7,
      .notes = "[ ]"}},
};

static void
a_valid_report_is_handed_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(valid); i++) {
        struct reading reading;

        parse(&reading, valid[i].text);
        assert_said(&reading.report, &valid[i].said);
        assert_int_equal(reading.report.place, 0);
        forget(&reading);
    }
}

/*** Members ***/

static void
a_missing_member_is_refused(void **state)
{
    static const struct span texts[] = {
        SPAN("{}\n"),
        SPAN("{\"error\":null,\"figure\":null,\"limit\":null,"
             "\"notes\":[]}\n"),
        SPAN("{\"result\":null,\"figure\":null,\"limit\":null,"
             "\"notes\":[]}\n"),
        SPAN("{\"result\":null,\"error\":null,\"limit\":null,"
             "\"notes\":[]}\n"),
        SPAN("{\"result\":null,\"error\":null,\"figure\":null,"
             "\"notes\":[]}\n"),
        SPAN("{\"result\":null,\"error\":null,\"figure\":null,"
             "\"limit\":null}\n"),
        SPAN(WITH_ERROR("{}")),
        SPAN(WITH_ERROR("{\"type\":\"E\",\"message\":\"m\","
                        "\"traceback\":\"t\",\"line\":1}")),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"message\":\"m\","
                        "\"traceback\":\"t\",\"line\":1}")),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":\"E\","
                        "\"traceback\":\"t\",\"line\":1}")),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":\"E\","
                        "\"message\":\"m\",\"line\":1}")),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":\"E\","
                        "\"message\":\"m\",\"traceback\":\"t\"}")),
        SPAN(WITH_FIGURE("{}")),
        SPAN(WITH_FIGURE("{\"type\":\"E\"}")),
        SPAN(WITH_FIGURE("{\"message\":\"m\"}")),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(texts[i]);
}

static void
an_extra_member_is_refused(void **state)
{
    static const struct span texts[] = {
        SPAN("{\"result\":null,\"error\":null,\"figure\":null,"
             "\"limit\":null,\"notes\":[],\"more\":null}\n"),
        SPAN("{\"\":1,\"result\":null,\"error\":null,\"figure\":null,"
             "\"limit\":null,\"notes\":[]}\n"),
        SPAN("{\"Result\":null,\"error\":null,\"figure\":null,"
             "\"limit\":null,\"notes\":[]}\n"),
        SPAN("{\"result\\u0000\":null,\"error\":null,\"figure\":null,"
             "\"limit\":null,\"notes\":[]}\n"),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":\"E\",\"message\":\"m\","
                        "\"traceback\":\"t\",\"line\":1,\"code\":1}")),
        SPAN(WITH_FIGURE("{\"type\":\"E\",\"message\":\"m\",\"line\":1}")),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(texts[i]);
}

static void
a_duplicate_member_is_refused(void **state)
{
    static const struct span texts[] = {
        SPAN("{\"result\":\"1\",\"result\":\"2\",\"error\":null,"
             "\"figure\":null,\"limit\":null,\"notes\":[]}\n"),
        SPAN("{\"result\":\"1\",\"result\":\"2\",\"error\":null,"
             "\"figure\":null,\"notes\":[]}\n"),
        SPAN("{\"result\":\"1\",\"result\":null,\"error\":null,"
             "\"figure\":null,\"notes\":[]}\n"),
        SPAN("{\"result\":null,\"error\":null,\"figure\":null,"
             "\"notes\":[],\"notes\":[]}\n"),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"kind\":\"exit\",\"type\":\"E\","
                        "\"message\":\"m\",\"traceback\":\"t\"}")),
        SPAN(WITH_FIGURE("{\"type\":\"E\",\"type\":\"E\"}")),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(texts[i]);
}

/* A null fills no span, and must not make room for its like. */
static void
a_null_does_not_stand_for_a_missing_member(void **state)
{
    static const struct span texts[] = {
        SPAN("{\"result\":null,\"result\":null,\"error\":null,"
             "\"figure\":null,\"notes\":[]}\n"),
        SPAN("{\"result\":null,\"result\":\"1\",\"error\":null,"
             "\"figure\":null,\"notes\":[]}\n"),
        SPAN("{\"result\":null,\"error\":null,\"error\":null,"
             "\"figure\":null,\"limit\":null}\n"),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"message\":\"m\","
                        "\"traceback\":\"t\",\"line\":null,\"line\":null}")),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":\"E\","
                        "\"traceback\":\"t\",\"line\":null,\"line\":1}")),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(texts[i]);
}

static void
a_null_does_not_stand_for_the_kind(void **state)
{
    (void)state;
    refuse(SPAN(WITH_ERROR("{\"line\":null,\"line\":null,\"type\":\"E\","
                           "\"message\":\"m\",\"traceback\":\"t\"}")));
}

static void
a_member_of_the_wrong_type_is_refused(void **state)
{
    static const struct span texts[] = {
        SPAN(REPORT("1", "null", "null", "null", "[]")),
        SPAN(REPORT("[]", "null", "null", "null", "[]")),
        SPAN(REPORT("null", "\"\"", "null", "null", "[]")),
        SPAN(REPORT("null", "[]", "null", "null", "[]")),
        SPAN(REPORT("null", "false", "null", "null", "[]")),
        SPAN(REPORT("null", "null", "\"\"", "null", "[]")),
        SPAN(REPORT("null", "null", "[]", "null", "[]")),
        SPAN(REPORT("null", "null", "null", "1", "[]")),
        SPAN(REPORT("null", "null", "null", "true", "[]")),
        SPAN(REPORT("null", "null", "null", "null", "null")),
        SPAN(REPORT("null", "null", "null", "null", "\"\"")),
        SPAN(REPORT("null", "null", "null", "null", "{}")),
        SPAN(REPORT("null", "null", "null", "null", "[1]")),
        SPAN(REPORT("null", "null", "null", "null", "[\"a\",null]")),
        SPAN(REPORT("null", "null", "null", "null", "[\"a\",[\"b\"]]")),
        SPAN(WITH_ERROR("{\"kind\":null,\"type\":\"E\",\"message\":\"m\","
                        "\"traceback\":\"t\",\"line\":1}")),
        SPAN(WITH_ERROR("{\"kind\":1,\"type\":\"E\",\"message\":\"m\","
                        "\"traceback\":\"t\",\"line\":1}")),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":null,\"message\":\"m\","
                        "\"traceback\":\"t\",\"line\":1}")),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":\"E\",\"message\":null,"
                        "\"traceback\":\"t\",\"line\":1}")),
        SPAN(WITH_ERROR("{\"kind\":\"exit\",\"type\":\"E\",\"message\":\"m\","
                        "\"traceback\":null,\"line\":1}")),
        SPAN(WITH_FIGURE("{\"type\":null,\"message\":\"m\"}")),
        SPAN(WITH_FIGURE("{\"type\":\"E\",\"message\":null}")),
        SPAN(WITH_LINE("\"1\"")),
        SPAN(WITH_LINE("[1]")),
        SPAN(WITH_LINE("true")),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(texts[i]);
}

#define WITH_KIND(kind) \
    SPAN(WITH_ERROR("{\"kind\":\"" kind "\",\"type\":\"E\"," \
                    "\"message\":\"m\",\"traceback\":\"t\",\"line\":1}"))

static void
kinds_that_are_not_the_childs_are_refused(void **state)
{
    static const struct span texts[] = {
        WITH_KIND(""), WITH_KIND("ok"), WITH_KIND("crash"),
        WITH_KIND("empty"), WITH_KIND("figure"), WITH_KIND("limit"),
        WITH_KIND("Exception"), WITH_KIND("exceptio"),
        WITH_KIND("exceptions"), WITH_KIND("exit\\u0000"),
        WITH_KIND(" memory"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(texts[i]);
}

static void
a_line_that_no_program_has_is_refused(void **state)
{
    static const struct span texts[] = {
        SPAN(WITH_LINE("0")), SPAN(WITH_LINE("-0")), SPAN(WITH_LINE("-1")),
        SPAN(WITH_LINE("0.5")), SPAN(WITH_LINE("1000000001")),
        SPAN(WITH_LINE("1000000000.5")), SPAN(WITH_LINE("1e10")),
        SPAN(WITH_LINE("1e999")), SPAN(WITH_LINE("-1e999")),
        SPAN(WITH_LINE("18446744073709551617")), SPAN(WITH_LINE("1e-999")),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(texts[i]);
}

static void
a_line_is_handed_on_as_a_whole_number(void **state)
{
    static const struct {
        struct span text;
        long line;
    } table[] = {
        {SPAN(WITH_LINE("1")), 1},
        {SPAN(WITH_LINE("1000000000")), 1000000000},
        {SPAN(WITH_LINE("1e9")), 1000000000},
        {SPAN(WITH_LINE("12.0")), 12},
        {SPAN(WITH_LINE("1.5")), 1},
        {SPAN(WITH_LINE("null")), 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct reading reading;

        parse(&reading, table[i].text);
        assert_true(reading.report.is_valid);
        assert_int_equal(reading.report.error_line, table[i].line);
        forget(&reading);
    }
}

/*** Lines ***/

#define SAYS(result) REPORT("\"" result "\"", "null", "null", "null", "[]")

/* NULL: no report. */
static const struct {
    struct span text;
    const char *result;
} lines[] = {
    {SPAN(SAYS("1") SAYS("2")), "\"2\""},
    {SPAN(SAYS("1") SAYS("2") SAYS("3")), "\"3\""},
    {SPAN(WITH_LINE("3") SAYS("2")), "\"2\""},
    {SPAN(SAYS("1") "{\"result\":\"2\",\"err"), "\"1\""},
    {SPAN(SAYS("1") "{"), "\"1\""},
    {SPAN(SAYS("1") "{\n"), NULL},
    {SPAN(SAYS("1") "{}\n"), NULL},
    {SPAN(SAYS("1") "{\"result\":\"2\",\"err\n"), NULL},
    {SPAN("{}\n" SAYS("2")), "\"2\""},
    {SPAN("{\n" SAYS("2")), "\"2\""},
    {SPAN("{}\n" SAYS("2") "{}\n"), NULL},
    {SPAN("\n\n" SAYS("1") "\n\n"), "\"1\""},
    {SPAN("rubbish\n" SAYS("1")), "\"1\""},
    {SPAN(SAYS("1") "rubbish\n"), "\"1\""},
    {SPAN("rubbish " SAYS("1")), NULL},
    {SPAN(" " SAYS("1")), NULL},
    {SPAN("\0" SAYS("1")), NULL},
};

static void
the_last_whole_report_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct reading reading;

        if (lines[i].result == NULL) {
            refuse(lines[i].text);
            continue;
        }
        parse(&reading, lines[i].text);
        assert_true(reading.report.is_valid);
        assert_span(reading.report.result, lines[i].result);
        assert_false(reading.report.has_error);
        forget(&reading);
    }
}

static void
a_line_without_an_end_is_not_read(void **state)
{
    static const struct span text = SPAN(SAYS("1"));

    (void)state;
    for (size_t len = 0; len < text.len; len++)
        refuse((struct span){text.at, len});
}

/*** Where the program was ***/

static const struct {
    struct span text;
    long place;
} places[] = {
    {SPAN(PLACE "12 in f\n"), 12},
    {SPAN(PLACE "12\n"), 12},
    {SPAN(PLACE "12 in f\n" PLACE "30 in <module>\n"), 12},
    {SPAN("Current thread 0x1 (most recent call first):\n"
          "  File \"/usr/lib/python3/a.py\", line 5 in g\n"
          PLACE "12 in f\n"), 12},
    {SPAN(PLACE "0 in f\n" PLACE "3 in g\n"), 3},
    {SPAN(PLACE "x in f\n" PLACE "3 in g\n"), 3},
    {SPAN(PLACE "-1 in f\n"), 0},
    {SPAN(PLACE "\n"), 0},
    {SPAN(PLACE "12"), 0},
    {SPAN(PLACE), 0},
    {SPAN("  File \"/tmp/main.py\", line\n"), 0},
    {SPAN("   File \"/tmp/main.py\", line 12 in f\n"), 0},
    {SPAN("File \"/tmp/main.py\", line 12 in f\n"), 0},
    {SPAN("  file \"/tmp/main.py\", line 12 in f\n"), 0},
    {SPAN("  File \"main.py\", line 12 in f\n"), 0},
    {SPAN("  File \"/tmp/main.pyc\", line 12 in f\n"), 0},
    {SPAN("  File \"/tmp/main.py\", line  12 in f\n"), 0},
    {SPAN("  File \"/tmp/main.py\", line \0" "12\n"), 0},
    {SPAN("{" PLACE "12 in f\n"), 0},
    {SPAN(PLACE "999999999 in f\n"), 999999999},
    {SPAN(PLACE "000012 in f\n"), 12},
};

static void
the_innermost_line_of_the_program_is_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(places); i++) {
        struct reading reading;

        parse(&reading, places[i].text);
        if (reading.report.place != places[i].place)
            fail_msg("%s: %ld", places[i].text.at, reading.report.place);
        assert_nothing_said(&reading.report);
        forget(&reading);
    }
}

static void
a_huge_place_is_bounded(void **state)
{
    struct reading reading;

    (void)state;
    parse(&reading, SPAN(PLACE "99999999999999999999999999999999999999\n"));
    assert_true(reading.report.place > 0);
    assert_true(reading.report.place <= 1000000000);
    forget(&reading);
}

static void
the_place_stands_beside_any_report(void **state)
{
    static const struct {
        struct span text;
        bool is_valid;
    } table[] = {
        {SPAN(PLACE "12 in f\n" QUIET), true},
        {SPAN(QUIET PLACE "12 in f\n"), true},
        {SPAN(PLACE "12 in f\n" QUIET PLACE "13 in f\n"), true},
        {SPAN(PLACE "12 in f\n{}\n"), false},
        {SPAN(PLACE "12 in f\n" QUIET "{}\n"), false},
        {SPAN("{}\n" PLACE "12 in f\n{"), false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct reading reading;

        parse(&reading, table[i].text);
        assert_int_equal(reading.report.is_valid, table[i].is_valid);
        assert_int_equal(reading.report.place, 12);
        forget(&reading);
    }
}

/* Of two stacks the last one is where time was up. */
static void
the_peak_stands_beside_any_report(void **state)
{
    static const struct {
        struct span text;
        long peak_kib;
        bool is_valid;
    } rows[] = {
        {SPAN(QUIET "peak 640\n"), 640, true},
        {SPAN("peak 640\n" QUIET), 640, true},
        {SPAN("peak 1\n" QUIET "peak 2\npeak 3"), 2, true},
        {SPAN("peak 12 and more\n"), 12, false},
        {SPAN("peak \n123\n"), 0, false},
        {SPAN("peak -1\n" QUIET), 0, true},
        {SPAN("peak 99999999999999999999\n"), 999999999, false},
        {SPAN(QUIET "peak\n"), 0, true},
        {SPAN(QUIET), 0, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reading reading;

        parse(&reading, rows[i].text);
        assert_int_equal(reading.report.peak_kib, rows[i].peak_kib);
        assert_int_equal(reading.report.is_valid, rows[i].is_valid);
        forget(&reading);
    }
}

static void
a_new_stack_has_a_new_place(void **state)
{
    struct reading reading;

    (void)state;
    parse(&reading, SPAN(STACK PLACE "12 in f\n" STACK PLACE "13 in g\n"));
    assert_int_equal(reading.report.place, 13);
    forget(&reading);
    parse(&reading, SPAN(STACK PLACE "12 in f\n" STACK QUIET));
    assert_int_equal(reading.report.place, 0);
    forget(&reading);
}

/*** The stack for the log ***/

static void
a_stack_is_words_of_known_letters(void **state)
{
    static const struct {
        struct span text;
        size_t from;
        const char *stack;
    } table[] = {
        {SPAN(""), 0, "unknown"},
        {SPAN(PLACE "12 in f\n"), 0, "unknown"},
        {SPAN(STACK), 0, "unknown"},
        {SPAN(STACK PLACE "12 in f\n" PLACE "3 in <module>\n"), 0,
         "main.py:12:f,main.py:3:<module>"},
        {SPAN(STACK PLACE "12 in f\n" STACK PLACE "3 in g\n"), 0,
         "main.py:12:f"},
        {SPAN(STACK PLACE "12 in f\n" STACK PLACE "3 in g\n"), 1,
         "main.py:3:g"},
        {SPAN(STACK "  File \"/usr/x.py\", line 1 in x\n" PLACE "2 in f\n"), 0,
         "main.py:2:f"},
        {SPAN(STACK PLACE "2 in a b\"\\\x1b\xff,\0c\n"), 0,
         "main.py:2:a?b??????c"},
        {SPAN(STACK PLACE "2 in \n" PLACE "3\n" PLACE "4 of x\n"), 0,
         "main.py:2:,main.py:3:,main.py:4:"},
        {SPAN(STACK PLACE "99999999999999999999 in f\n"), 0,
         "main.py:999999999:f"},
        {SPAN(STACK PLACE "0 in f\n" PLACE "-1 in f\n"), 0, "unknown"},
        {SPAN(STACK PLACE "2 in cut"), 0, "unknown"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct text stack = {0};

        report_stack(table[i].text.at, table[i].text.len, table[i].from,
                     &stack);
        assert_string_equal(stack.data, table[i].stack);
        text_clear(&stack);
    }
}

static void
a_stack_is_bounded(void **state)
{
    struct text text = {0}, stack = {0};

    (void)state;
    text_print(&text, STACK);
    for (int i = 1; i <= 1000; i++) {
        text_print(&text, PLACE "%d in ", i);
        for (int j = 0; j < 200; j++)
            text_add(&text, "x", 1);
        text_add(&text, "\n", 1);
    }
    report_stack(text.data, text.len, 0, &stack);
    assert_true(stack.len < 16 * 100);
    assert_non_null(strstr(stack.data, "main.py:16:x"));
    assert_string_equal(stack.data + stack.len - 4, ",...");
    text_clear(&stack);
    report_stack(NULL, 0, 0, &stack);
    assert_string_equal(stack.data, "unknown");
    text_clear(&stack);
    text_clear(&text);
}

/*** Anything else ***/

static void
rubbish_is_no_report(void **state)
{
    static const struct span texts[] = {
        SPAN("\n"), SPAN("\n\n\n"), SPAN("\0"), SPAN("\0\n"), SPAN("\0\0\n\0"),
        SPAN("null\n"), SPAN("[]\n"), SPAN("[" QUIET "]\n"), SPAN("\"{}\"\n"),
        SPAN("\xff\xfe\n"), SPAN("\xef\xbb\xbf" QUIET), SPAN("{\0}\n"),
        SPAN("{}{}\n"), SPAN("{{}}\n"), SPAN("{\"result\n"),
        SPAN("{\"result\":null\0,\"error\":null,\"figure\":null,"
             "\"limit\":null,\"notes\":[]}\n"),
        SPAN("{\"result\":null,\"error\":null,\"figure\":null,"
             "\"limit\":null,\"notes\":[]}\0\n"),
        SPAN("{\"result\":null,\"error\":null,\"figure\":null,"
             "\"limit\":null,\"notes\":[]} x\n"),
        SPAN("{\"result\":null,\"error\":null,\"figure\":null,"
             "\"limit\":null,\"notes\":[],}\n"),
        SPAN(REPORT("\"a\0b\"", "null", "null", "null", "[]")),
        SPAN(REPORT("\"\xff\"", "null", "null", "null", "[]")),
        SPAN(REPORT("\"\\ud800\"", "null", "null", "null", "[]")),
        SPAN(REPORT("'a'", "null", "null", "null", "[]")),
        SPAN(REPORT("None", "null", "null", "null", "[]")),
        SPAN(REPORT("null", "null", "null", "null", "[\"a\" \"b\"]")),
        SPAN(REPORT("null", "null", "null", "null", "[\"a\",]")),
        SPAN(WITH_LINE("NaN")), SPAN(WITH_LINE("Infinity")),
        SPAN(WITH_LINE("01")), SPAN(WITH_LINE("0x1")),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        refuse(texts[i]);
}

static void
no_bytes_are_no_report(void **state)
{
    struct report report;

    (void)state;
    refuse(SPAN(""));
    memset(&report, 0xff, sizeof(report));
    report_parse(NULL, 0, &report);  /* as from a text that nothing came to */
    assert_nothing_said(&report);
    assert_int_equal(report.place, 0);
}

static void
deep_nesting_is_no_report(void **state)
{
    static char text[100001];

    (void)state;
    memset(text, '[', sizeof(text));
    memcpy(text, "{\"notes\":", 9);
    text[sizeof(text) - 1] = '\n';
    refuse((struct span){text, sizeof(text)});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_report_is_handed_on),
        cmocka_unit_test(a_missing_member_is_refused),
        cmocka_unit_test(an_extra_member_is_refused),
        cmocka_unit_test(a_duplicate_member_is_refused),
        cmocka_unit_test(a_null_does_not_stand_for_a_missing_member),
        cmocka_unit_test(a_null_does_not_stand_for_the_kind),
        cmocka_unit_test(a_member_of_the_wrong_type_is_refused),
        cmocka_unit_test(kinds_that_are_not_the_childs_are_refused),
        cmocka_unit_test(a_line_that_no_program_has_is_refused),
        cmocka_unit_test(a_line_is_handed_on_as_a_whole_number),
        cmocka_unit_test(the_last_whole_report_counts),
        cmocka_unit_test(a_line_without_an_end_is_not_read),
        cmocka_unit_test(the_innermost_line_of_the_program_is_its_place),
        cmocka_unit_test(a_huge_place_is_bounded),
        cmocka_unit_test(the_place_stands_beside_any_report),
        cmocka_unit_test(the_peak_stands_beside_any_report),
        cmocka_unit_test(a_new_stack_has_a_new_place),
        cmocka_unit_test(a_stack_is_words_of_known_letters),
        cmocka_unit_test(a_stack_is_bounded),
        cmocka_unit_test(rubbish_is_no_report),
        cmocka_unit_test(no_bytes_are_no_report),
        cmocka_unit_test(deep_nesting_is_no_report),
    };

    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}

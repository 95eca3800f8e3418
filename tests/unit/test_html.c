#include "html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPAN(text) ((struct span){(text), sizeof(text) - 1})
#define ERROR(line) "{\"kind\":\"exception\",\"type\":\"E<b>\"," \
    "\"message\":\"m&\\u0000\",\"traceback\":\"t\\n>\",\"line\":" line "}"
#define ID "id-1"

enum { OUTPUT_MAX = 64 };

/* A result with everything; its arrays are the test's own. */
static void
result_init(struct result *result)
{
    static struct found_file figure = {(char *)"f", (char *)"PNG", 3};
    static struct found_file file = {(char *)"a\"<.csv", (char *)"x", 1};
    static const struct market_call calls[] = {
        {.path = (char *)"quote<", .status = 200, .ms = 7, .is_cached = true},
        {.path = (char *)"x", .failure = "timeout"},
    };

    *result = (struct result){
        .ending = {.is_known = true, .seconds = 1.5, .peak_memory = 2500000},
        .collected = {.figures = &figure, .figure_count = 1, .files = &file,
                      .file_count = 1},
        .report = {.result = SPAN("\"re<sult\"")},
        .verdict = {.kind = "exception"},
        .calls = calls, .call_count = 2,
    };
    capture_init(&result->output, OUTPUT_MAX);
    capture_add(&result->output, "out<put", 7);
    text_print(&result->verdict.error, "%s", ERROR("2"));
    text_print(&result->verdict.notes, "\"one<\",\"two\"");
}

static void
forget(struct result *result)
{
    capture_clear(&result->output);
    verdict_clear(&result->verdict);
}

static const struct span code = {"\"a\\nb<c\\nd\"", 11};

static void
assert_has(const struct text *page, const char *part)
{
    if (strstr(page->data, part) == NULL)
        fail_msg("%s is not in %s", part, page->data);
}

static void
everything_is_there_and_escaped(void **state)
{
    static const char *const parts[] = {
        "<title>An exception ended the program",
        "<strong><bdi>E&lt;b&gt;</bdi></strong> <bdi>m&amp;\xe2\x90\x80</bdi>",
        "    1  a\n<mark>&gt;   2  b&lt;c</mark>\n    3  d\n</pre>",
        "<pre tabindex=\"0\">\nt\n&gt;</pre>", "\nout&lt;put</pre>",
        "\nre&lt;sult</pre>", "src=\"data:image/png;base64,UE5H\"",
        "download=\"a&quot;&lt;.csv\" href=\"data:application/octet-stream;"
        "base64,eA==\"",
        "<li><bdi>one&lt;</bdi></li>\n<li><bdi>two</bdi></li>",
        "<bdi>quote&lt;</bdi>: 200, 7 ms, kept from before", "<bdi>x</bdi>: 0,",
        "1.500 s", "memory 2.5 MB; exit code 0. Run " ID,
    };
    struct text page = {0};
    struct result result;

    (void)state;
    result_init(&result);
    assert_int_equal(html_reply(&result, code, ID, text_add, &page), 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        assert_has(&page, parts[i]);
    text_clear(&page);
    forget(&result);
}

/* A line at fault may be any: the first, the last, behind the last. */
static void
any_line_can_be_at_fault(void **state)
{
    static const struct {
        const char *error, *marked;
    } rows[] = {
        {ERROR("1"), "\n<mark>&gt;   1  a</mark>\n    2"},
        {ERROR("3"), "\n<mark>&gt;   3  d</mark>\n</pre>"},
        {ERROR("4"), "    3  d\n</pre>"},
        {ERROR("1000000000"), "<pre tabindex=\"0\">\n</pre>"},
        {ERROR("null"), "</bdi></p>\n<h3>Traceback"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct text page = {0};
        struct result result;

        result_init(&result);
        text_clear(&result.verdict.error);
        text_print(&result.verdict.error, "%s", rows[i].error);
        assert_int_equal(html_reply(&result, code, ID, text_add, &page), 0);
        assert_has(&page, rows[i].marked);
        text_clear(&page);
        forget(&result);
    }
}

static void
a_problem_is_escaped(void **state)
{
    struct problem problem = {400, "Bad Request", "no <b> & \"c\".", "b"};
    struct text page = {0};

    (void)state;
    assert_int_equal(html_problem(&problem, text_add, &page), 0);
    assert_has(&page, "<bdi>no &lt;b&gt; &amp; &quot;c&quot;.</bdi>");
    assert_has(&page, "<h1>Bad Request</h1>");
    text_clear(&page);
}

/* Takes so many bytes, and breaks then. */
struct reader {
    size_t room;
    bool is_broken;
};

static int
reader_write(void *context, const char *text, size_t len)
{
    struct reader *reader = context;

    (void)text;
    assert_false(reader->is_broken);
    reader->is_broken = len > reader->room;
    if (!reader->is_broken)
        reader->room -= len;
    return reader->is_broken ? -1 : 0;
}

static void
printing_stops_where_the_reader_leaves(void **state)
{
    struct text page = {0};
    struct result result;

    (void)state;
    result_init(&result);
    html_reply(&result, code, ID, text_add, &page);
    for (size_t room = 0; room <= page.len; room++) {
        struct reader reader = {.room = room};

        assert_int_equal(html_reply(&result, code, ID, reader_write, &reader),
                         room < page.len ? -1 : 0);
    }
    text_clear(&page);
    forget(&result);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_there_and_escaped),
        cmocka_unit_test(any_line_can_be_at_fault),
        cmocka_unit_test(a_problem_is_escaped),
        cmocka_unit_test(printing_stops_where_the_reader_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* One header, and whether it allows JSON, a page and an event stream. */
struct row {
    const char *accept;
    bool json, html, events;
};

/* From memory that ends where the header does. */
static bool
accepts(const char *accept, const char *type)
{
    char *exact = accept != NULL ? strdup(accept) : NULL;
    bool does = http_choose(exact, &type, 1) == 0;

    free(exact);
    return does;
}

static void
check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *accept = rows[i].accept;

        if (accepts(accept, "application/json") != rows[i].json)
            fail_msg("JSON: %s", accept);
        if (accepts(accept, "text/html") != rows[i].html)
            fail_msg("HTML: %s", accept);
        if (accepts(accept, "text/event-stream") != rows[i].events)
            fail_msg("events: %s", accept);
    }
}

static void
without_a_range_anything_goes(void **state)
{
    static const struct row rows[] = {
        {NULL, true, true, true}, {"", true, true, true},
        {" ", true, true, true}, {"\t", true, true, true},
        {",", true, true, true}, {" , ,\t,", true, true, true},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
a_range_allows_what_it_covers(void **state)
{
    static const struct row rows[] = {
        {"*/*", true, true, true},
        {"application/json", true, false, false},
        {"application/*", true, false, false},
        {"text/html", false, true, false},
        {"text/*", false, true, true},
        {"text/event-stream", false, false, true},
        {"image/png", false, false, false},
        {"image/*", false, false, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
several_ranges_allow_what_any_covers(void **state)
{
    static const struct row rows[] = {
        {"text/html, application/json", true, true, false},
        {"text/html,application/json", true, true, false},
        {"image/png,text/html;q=0.9,*/*;q=0.8", true, true, true},
        {",text/html,,application/json,", true, true, false},
        {"text/html,application/xhtml+xml,application/xml;q=0.9,"
         "image/avif,image/webp,*/*;q=0.8", true, true, true},
        {"image/png, image/gif", false, false, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
a_quality_of_nothing_forbids(void **state)
{
    static const struct row rows[] = {
        {"*/*;q=0", false, false, false},
        {"*/*;q=0.0", false, false, false},
        {"*/*;q=0.000", false, false, false},
        {"*/*;q=0.001", true, true, true},
        {"*/*;q=1", true, true, true},
        {"*/*;q=1.000", true, true, true},
        {"text/html;q=0", false, false, false},
        {"text/html;q=0.001", false, true, false},
        {"text/html;q=0,application/json", true, false, false},
        {"text/html,application/json;q=0", false, true, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

/* RFC 9110, 12.5.1: whichever stands first, the closest range decides. */
static void
the_closest_range_decides(void **state)
{
    static const struct row rows[] = {
        {"*/*;q=0, application/json", true, false, false},
        {"application/json, */*;q=0", true, false, false},
        {"*/*, application/json;q=0", false, true, true},
        {"application/json;q=0, */*", false, true, true},
        {"text/*, text/html;q=0", false, false, true},
        {"text/html;q=0, text/*", false, false, true},
        {"text/*;q=0, text/html", false, true, false},
        {"text/html, text/*;q=0", false, true, false},
        {"text/*;q=0, */*", true, false, false},
        {"*/*, text/*;q=0", true, false, false},
        {"*/*;q=0, text/*, text/html;q=0", false, false, true},
        {"text/html;q=0, text/*, */*;q=0", false, false, true},
        {"text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, "
         "*/*;q=0.5", true, true, true},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
space_may_stand_around_the_parts(void **state)
{
    static const struct row rows[] = {
        {" application/json ", true, false, false},
        {"\tapplication/json\t", true, false, false},
        {"text/html ,\tapplication/json", true, true, false},
        {"*/* ; q=0", false, false, false},
        {"*/*; q=0", false, false, false},
        {"*/* ;q=0", false, false, false},
        {"*/*\t;\tq=0\t", false, false, false},
        {"*/*;q=0 , application/json ; q=0.5 ", true, false, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
case_does_not_matter(void **state)
{
    static const struct row rows[] = {
        {"APPLICATION/JSON", true, false, false},
        {"Text/Html", false, true, false},
        {"TEXT/*", false, true, true},
        {"text/HTML;Q=0, TEXT/*", false, false, true},
        {"*/*;Q=0.0", false, false, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
other_parameters_are_passed_over(void **state)
{
    static const struct row rows[] = {
        {"application/json;charset=utf-8", true, false, false},
        {"application/json; charset=utf-8; q=0", false, false, false},
        {"application/json;charset=utf-8;q=0.5", true, false, false},
        {"application/json;charset=\"utf-8\";q=0", false, false, false},
        {"application/json;charset=utf-8 ; q=0", false, false, false},
        {"application/json;q=0;charset=utf-8", false, false, false},
        {"application/json;iq=0", true, false, false},
        {"application/json;quality=0", true, false, false},
        {"application/json;", true, false, false},
        {"application/json;;q=0", false, false, false},
        {"application/json;,text/html", true, true, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

/* The type has no level, so that a range which asks for one is not its. */
static void
a_range_with_a_parameter_is_not_the_type_without(void **state)
{
    static const struct row rows[] = {
        {"text/html;level=1;q=0, text/html", false, true, false},
        {"text/html, text/html;level=1;q=0", false, true, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
the_quality_of_one_range_is_not_anothers(void **state)
{
    static const struct row rows[] = {
        {"application/json,text/html;q=0", true, false, false},
        {"application/json;,text/html;q=0", true, false, false},
        {"application/json;a=b,text/html;q=0", true, false, false},
        {"text/html;q=0.5,application/json;q=0", false, true, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
near_misses_cover_nothing(void **state)
{
    static const struct row rows[] = {
        {"*", false, false, false}, {"*/", false, false, false},
        {"/*", false, false, false}, {"/", false, false, false},
        {"**/*", false, false, false}, {"*/**", false, false, false},
        {"*/json", false, false, false}, {"*/html", false, false, false},
        {"application", false, false, false},
        {"application/", false, false, false},
        {"application*", false, false, false},
        {"application/js*", false, false, false},
        {"application/jso", false, false, false},
        {"application/jsonx", false, false, false},
        {"application/json+ld", false, false, false},
        {"applicationx/*", false, false, false},
        {"texts/*", false, false, false}, {"text/**", false, false, false},
        {"text /html", false, false, false},
        {"text/ html", false, false, false},
        {"application/jsontext/html", false, false, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
garbage_covers_nothing(void **state)
{
    static const struct row rows[] = {
        {";", false, false, false}, {";q=1", false, false, false},
        {"q=1", false, false, false}, {";;;,;;;", false, false, false},
        {"=", false, false, false}, {"\"", false, false, false},
        {"\xff\xfe", false, false, false}, {"\x01", false, false, false},
        {"text/html\x01", false, false, false},
        {"%s%n", false, false, false}, {"\\", false, false, false},
        {"*/*;q=", false, false, false}, {"*/*;q=x", false, false, false},
        {"*/*;q=-1", false, false, false}, {"*/*;q=,", false, false, false},
        {"*/*;q=nan", false, false, false},
        {"; , application/json", true, false, false},
        {"garbage, application/json", true, false, false},
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void
a_long_header_is_read_to_its_end(void **state)
{
    enum { RANGES = 20000 };
    static const char range[] = "image/png;q=0,";
    size_t len = RANGES * (sizeof(range) - 1);
    char *accept = malloc(len + 32);

    (void)state;
    assert_non_null(accept);
    for (size_t i = 0; i < RANGES; i++)
        memcpy(accept + i * (sizeof(range) - 1), range, sizeof(range) - 1);
    accept[len] = '\0';
    assert_false(accepts(accept, "application/json"));
    strcpy(accept + len, "application/json");
    assert_true(accepts(accept, "application/json"));
    free(accept);
}

/*** Which of several ***/

static void
the_most_wanted_type_is_chosen(void **state)
{
    static const char *const types[] = {
        "application/json", "text/html", "text/event-stream",
    };
    static const struct {
        const char *accept;
        int chosen;
    } rows[] = {
        {NULL, 0}, {"", 0}, {"*/*", 0}, {"*/*;q=0.1", 0},
        {"text/html", 1}, {"text/event-stream", 2}, {"text/*", 1},
        {"text/html;q=0.5, application/json;q=0.4", 1},
        {"text/html;q=0.4, application/json;q=0.5", 0},
        {"text/event-stream;q=0.9, text/html;q=0.8, */*;q=0.7", 2},
        /* Among equals the one that is named, then the first. */
        {"text/html, application/json", 0},
        {"text/event-stream, text/html", 1},
        {"text/html, */*", 1}, {"*/*, text/event-stream", 2},
        {"application/*, text/event-stream", 2},
        {"application/*, text/*", 0},
        {"text/*, text/html;q=0", 2}, {"*/*, application/json;q=0.9", 1},
        {"image/png", -1}, {"*/*;q=0", -1},
        {"application/json;q=0, text/*;q=0", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (http_choose(rows[i].accept, types, COUNT(types)) !=
            rows[i].chosen)
            fail_msg("%s", rows[i].accept);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_range_anything_goes),
        cmocka_unit_test(a_range_allows_what_it_covers),
        cmocka_unit_test(several_ranges_allow_what_any_covers),
        cmocka_unit_test(a_quality_of_nothing_forbids),
        cmocka_unit_test(the_closest_range_decides),
        cmocka_unit_test(space_may_stand_around_the_parts),
        cmocka_unit_test(case_does_not_matter),
        cmocka_unit_test(other_parameters_are_passed_over),
        cmocka_unit_test(a_range_with_a_parameter_is_not_the_type_without),
        cmocka_unit_test(the_quality_of_one_range_is_not_anothers),
        cmocka_unit_test(near_misses_cover_nothing),
        cmocka_unit_test(garbage_covers_nothing),
        cmocka_unit_test(a_long_header_is_read_to_its_end),
        cmocka_unit_test(the_most_wanted_type_is_chosen),
    };

    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}

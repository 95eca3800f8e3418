#include "status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
expect_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("%s is not in %s", part, text);
}

static void
health_is_told_with_a_reason_or_without(void **state)
{
    struct text text = {0};

    (void)state;
    status_health(true, "not asked for", &text);
    assert_string_equal(text.data, "{\"status\":\"ok\"}\n");
    text_clear(&text);
    status_health(false, "no \"child\"\n", &text);
    assert_string_equal(text.data, "{\"status\":\"unavailable\","
                        "\"reason\":\"no \\\"child\\\"\\n\"}\n");
    text_clear(&text);
}

static void
status_counts_seats_and_ends(void **state)
{
    struct scoreboard *scoreboard = scoreboard_new(4);
    const struct config config = {
        .max_runs = 3, .zygote = true, .isolation = "reduced:ipc",
    };
    struct text text = {0};

    (void)state;
    assert_non_null(scoreboard);
    scoreboard->is_warm = true;
    scoreboard_set(scoreboard->layers, " user root");
    scoreboard->seats[0] = SEAT_RUNNING;
    scoreboard->seats[1] = SEAT_WAITING;
    scoreboard->seats[2] = SEAT_BUSY;
    scoreboard_count(scoreboard, "timeout");
    scoreboard_count(scoreboard, "timeout");
    scoreboard_count(scoreboard, KIND_REFUSED);
    scoreboard_count(scoreboard, "no such kind");
    scoreboard->worker_restarts = 7;

    status_print(scoreboard, &config, 2, &text);

    expect_in(text.data, "\"reason\":null");
    expect_in(text.data, "\"workers\":{\"idle\":1,\"busy\":3}");
    expect_in(text.data, "\"runs\":{\"running\":1,\"waiting\":1,"
                         "\"ready\":2,\"max\":3}");
    expect_in(text.data, "\"totals\":{\"ok\":0,\"exception\":0,\"exit\":0,"
                         "\"timeout\":2,");
    expect_in(text.data, "\"refused\":1,\"unavailable\":0");
    expect_in(text.data, "\"restarts\":{\"zygote\":0,\"worker\":7}");
    expect_in(text.data, "\"isolation\":{\"configured\":\"reduced:ipc\","
                         "\"layers\":[\"user\",\"root\"]}");
    text_clear(&text);
}

static void
status_says_why_nothing_runs(void **state)
{
    struct scoreboard *scoreboard = scoreboard_new(1);
    const struct config config = {.zygote = true, .isolation = "strict"};
    struct text text = {0};
    char long_reason[2 * SCOREBOARD_TEXT];

    (void)state;
    memset(long_reason, 'x', sizeof(long_reason) - 1);
    long_reason[sizeof(long_reason) - 1] = '\0';
    scoreboard->is_warm = true;
    scoreboard->is_failing = true;
    scoreboard_set(scoreboard->reason, long_reason);
    status_print(scoreboard, &config, 0, &text);
    expect_in(text.data, "\"reason\":\"xxx");
    assert_int_equal(strlen(scoreboard->reason), SCOREBOARD_TEXT - 1);
    text_clear(&text);
    scoreboard->is_failing = false;
    scoreboard->is_warm = false;
    scoreboard_set(scoreboard->reason, "Python is starting.");
    status_print(scoreboard, &config, 0, &text);
    expect_in(text.data, "\"reason\":\"Python is starting.\"");
    text_clear(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_is_told_with_a_reason_or_without),
        cmocka_unit_test(status_counts_seats_and_ends),
        cmocka_unit_test(status_says_why_nothing_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

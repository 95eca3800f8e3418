#include "metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct config config = {.max_runs = 3, .zygote = true};

static void
expect_in(const struct text *text, const char *part)
{
    if (strstr(text->data, part) == NULL)
        fail_msg("%s is not in %s", part, text->data);
}

static void
each_measurement_is_in_one_bucket(void **state)
{
    static const char *const parts[] = {
        "run_seconds_bucket{le=\"0.005\"} 5\n",
        "run_seconds_bucket{le=\"0.01\"} 6\n",
        "run_seconds_bucket{le=\"100\"} 7\n",
        "run_seconds_bucket{le=\"+Inf\"} 8\n",
        "run_seconds_sum 1100.012\n", "run_seconds_count 8\n",
        "reply_bytes_bucket{le=\"67108864\"} 1\n",
        "reply_bytes_bucket{le=\"+Inf\"} 2\n",
        "reply_bytes_sum 5368709121\n",
        "run_peak_memory_bytes_bucket{le=\"4294967296\"} 1\n",
        "run_peak_memory_bytes_bucket{le=\"+Inf\"} 1\n",
    };
    static const double seconds[] = {
        0, 0.005, NAN, -1, INFINITY, 0.007, 100, 1000,
    };
    struct scoreboard *scoreboard = scoreboard_new(1);
    struct text text = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
        scoreboard_measure(scoreboard, MEASURE_RUN, seconds[i]);
    scoreboard_measure(scoreboard, MEASURE_REPLY, 1);
    scoreboard_measure(scoreboard, MEASURE_REPLY, 5.0 * (1 << 30));
    scoreboard_measure(scoreboard, MEASURE_MEMORY, 4.0 * (1 << 30));
    metrics_print(scoreboard, &config, 0, &text);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        expect_in(&text, parts[i]);
    text_clear(&text);
}

static void
calls_are_counted_by_class(void **state)
{
    struct scoreboard *scoreboard = scoreboard_new(1);
    struct text text = {0};

    (void)state;
    scoreboard_market(scoreboard, 200, true);
    scoreboard_market(scoreboard, 299, false);
    scoreboard_market(scoreboard, 0, false);
    scoreboard_market(scoreboard, -7, false);
    scoreboard_market(scoreboard, 600, false);
    scoreboard_market(scoreboard, 599, false);
    metrics_print(scoreboard, &config, 0, &text);
    expect_in(&text, "calls_total{status=\"2xx\",cached=\"true\"} 1\n");
    expect_in(&text, "calls_total{status=\"2xx\",cached=\"false\"} 1\n");
    expect_in(&text, "calls_total{status=\"none\",cached=\"false\"} 3\n");
    expect_in(&text, "calls_total{status=\"5xx\",cached=\"false\"} 1\n");
    text_clear(&text);
}

static void
labels_are_escaped(void **state)
{
    struct scoreboard *scoreboard = scoreboard_new(1);
    struct text text = {0};

    (void)state;
    scoreboard_set(scoreboard->layers, " one t\"w\\o\n");
    strcpy(scoreboard->about, "{\"python\":\"3\\n\\\"\",\"libraries\":"
           "[{\"name\":\"n\",\"alias\":\"a\",\"version\":null}]}");
    metrics_print(scoreboard, &config, 7, &text);
    expect_in(&text, "{layer=\"one\"} 1\n");
    expect_in(&text, "{layer=\"t\\\"w\\\\o\\n\"} 1\n");
    expect_in(&text, ",python=\"3\\n\\\"\"} 1\n");
    expect_in(&text, "{name=\"a\",version=\"\"} 1\n");
    expect_in(&text, "_ready_children 7\n");
    expect_in(&text, "_up 0\n");
    text_clear(&text);
    scoreboard->is_warm = true;
    strcpy(scoreboard->about, "no JSON");
    metrics_print(scoreboard, &config, 7, &text);
    expect_in(&text, ",python=\"\"} 1\n");
    expect_in(&text, "_up 1\n");
    text_clear(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_measurement_is_in_one_bucket),
        cmocka_unit_test(calls_are_counted_by_class),
        cmocka_unit_test(labels_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "metrics.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* Of all names but those that Prometheus knows from everybody. */
#define PREFIX "sandbox_fcgi_"

const char metrics_type[] = "text/plain; version=0.0.4; charset=utf-8";

static void
begin(struct text *text, const char *name, const char *type, const char *help)
{
    text_print(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A metric that is one number. */
static void
put_gauge(struct text *text, const char *name, const char *help, double value)
{
    begin(text, name, "gauge", help);
    text_print(text, "%s %.15g\n", name, value);
}

/* The value of a label, in quotes; NULL as nothing. */
static void
put_label(struct text *text, const char *value)
{
    text_print(text, "\"");
    for (; value != NULL && *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            text_print(text, "\\");
        text_print(text, *value == '\n' ? "\\n" : "%c", *value);
    }
    text_print(text, "\"");
}

/*** What it is ***/

static void
put_about(struct text *text, const struct scoreboard *scoreboard)
{
    static const char library[] = PREFIX "library_info";
    cJSON *about = cJSON_Parse(scoreboard->about);
    const cJSON *one;

    begin(text, PREFIX "build_info", "gauge", "Versions of the service and of "
          "Python, which is empty until one is warm.");
    text_print(text, PREFIX "build_info{version=\"%s\",python=", VERSION);
    put_label(text, cJSON_GetStringValue(cJSON_GetObjectItem(about,
                                                             "python")));
    text_print(text, "} 1\n");
    begin(text, library, "gauge", "Versions of what programs find.");
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(about, "libraries")) {
        text_print(text, "%s{name=", library);
        put_label(text, cJSON_GetStringValue(cJSON_GetObjectItem(one,
                                                                 "alias")));
        text_print(text, ",version=");
        put_label(text, cJSON_GetStringValue(cJSON_GetObjectItem(one,
                                                                 "version")));
        text_print(text, "} 1\n");
    }
    cJSON_Delete(about);
}

static void
put_layers(struct text *text, const struct scoreboard *scoreboard)
{
    char layers[SCOREBOARD_TEXT], *next = layers, *name;

    memcpy(layers, scoreboard->layers, sizeof(layers));
    begin(text, PREFIX "isolation_layer", "gauge",
          "Layers of the isolation that are in force.");
    while ((name = strsep(&next, " ")) != NULL) {
        if (*name == '\0')
            continue;
        text_print(text, PREFIX "isolation_layer{layer=");
        put_label(text, name);
        text_print(text, "} 1\n");
    }
}

/*** What it is at ***/

static void
put_seats(struct text *text, const struct scoreboard *scoreboard)
{
    int seats[SEAT_STATES];

    scoreboard_count_seats(scoreboard, seats);
    begin(text, PREFIX "workers", "gauge", "Workers by what they are at: "
          "waiting for a child, running a program, busy with a request.");
    for (int i = 0; i < SEAT_EMPTY; i++)
        text_print(text, PREFIX "workers{state=\"%s\"} %d\n",
                   scoreboard_seats[i], seats[i]);
}

/*** What came of it ***/

static void
put_totals(struct text *text, const struct scoreboard *scoreboard)
{
    begin(text, PREFIX "runs_total", "counter", "Runs by how they ended.");
    for (int i = 0; i < SCOREBOARD_NO_RUN; i++)
        text_print(text, PREFIX "runs_total{kind=\"%s\"} %lu\n",
                   scoreboard_kinds[i], scoreboard->totals[i]);
    begin(text, PREFIX "requests_failed_total", "counter", "Requests without "
          "the reply of a run: refused (4xx), unavailable (503), abandoned by "
          "their client.");
    for (int i = SCOREBOARD_NO_RUN; i < SCOREBOARD_KINDS; i++)
        text_print(text, PREFIX "requests_failed_total{reason=\"%s\"} %lu\n",
                   scoreboard_kinds[i], scoreboard->totals[i]);
}

static void
put_market(struct text *text, const struct scoreboard *scoreboard)
{
    static const char *const cached[] = {"false", "true"};
    static const char name[] = PREFIX "market_calls_total";

    begin(text, name, "counter", "Calls for market data by the class of their "
          "status, and whether an answer was kept from before.");
    for (int i = 0; i < MARKET_CLASSES; i++)
        for (int j = 0; j < 2; j++)
            text_print(text, "%s{status=\"%s\",cached=\"%s\"} %lu\n", name,
                       scoreboard_classes[i], cached[j],
                       scoreboard->market_calls[i][j]);
}

static void
put_restarts(struct text *text, const struct scoreboard *scoreboard)
{
    begin(text, PREFIX "restarts_total", "counter",
          "Processes that were replaced.");
    text_print(text, PREFIX "restarts_total{process=\"zygote\"} %u\n"
               PREFIX "restarts_total{process=\"worker\"} %u\n",
               scoreboard->zygote_restarts, scoreboard->worker_restarts);
}

/* The count is what the buckets add up to, whatever is counted meanwhile. */
static void
put_histogram(struct text *text, const struct histogram *histogram,
              const struct measure_kind *kind)
{
    unsigned long count = 0;
    char name[64];
    int i;

    snprintf(name, sizeof(name), PREFIX "%s", kind->name);
    begin(text, name, "histogram", kind->help);
    for (i = 0; i < BUCKETS_MAX && kind->bounds[i] > 0; i++) {
        count += histogram->counts[i];
        text_print(text, "%s_bucket{le=\"%.15g\"} %lu\n", name,
                   kind->bounds[i], count);
    }
    count += histogram->counts[i];
    text_print(text, "%s_bucket{le=\"+Inf\"} %lu\n%s_sum %.15g\n"
               "%s_count %lu\n", name, count, name,
               (double)histogram->sum / kind->scale, name, count);
}

void
metrics_print(const struct scoreboard *scoreboard,
              const struct config *config, int ready, struct text *text)
{
    put_about(text, scoreboard);
    put_layers(text, scoreboard);
    put_gauge(text, "process_start_time_seconds",
              "When the service was started, in Unix time.",
              (double)scoreboard->started_at);
    put_gauge(text, PREFIX "up", "Whether programs can be run (1).",
              !config->zygote || scoreboard_is_well(scoreboard));
    put_gauge(text, PREFIX "max_runs", "Programs that may run at a time.",
              config->max_runs);
    put_gauge(text, PREFIX "ready_children",
              "Processes that wait for a program.", ready);
    put_seats(text, scoreboard);
    put_totals(text, scoreboard);
    put_market(text, scoreboard);
    put_restarts(text, scoreboard);
    for (int i = 0; i < MEASURES; i++)
        put_histogram(text, &scoreboard->histograms[i], &measure_kinds[i]);
}

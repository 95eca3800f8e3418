#include "status.h"

#include "clock.h"
#include "reply.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

void
status_health(bool is_well, const char *reason, struct text *text)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "status", is_well ? "ok" : "unavailable");
    if (!is_well)
        cJSON_AddStringToObject(object, "reason", reason);
    reply_object(object, text);
}

static void
add_seats(cJSON *object, const struct scoreboard *scoreboard,
          const struct config *config, int ready)
{
    int seats[SEAT_STATES];
    cJSON *workers, *runs;

    scoreboard_count_seats(scoreboard, seats);
    workers = cJSON_AddObjectToObject(object, "workers");
    cJSON_AddNumberToObject(workers, "idle", seats[SEAT_IDLE]);
    cJSON_AddNumberToObject(workers, "busy",
                            scoreboard->seat_count - seats[SEAT_IDLE] -
                                seats[SEAT_EMPTY]);
    runs = cJSON_AddObjectToObject(object, "runs");
    cJSON_AddNumberToObject(runs, "running", seats[SEAT_RUNNING]);
    cJSON_AddNumberToObject(runs, "waiting", seats[SEAT_WAITING]);
    cJSON_AddNumberToObject(runs, "ready", ready);
    cJSON_AddNumberToObject(runs, "max", config->max_runs);
}

static void
add_market(cJSON *object, const struct scoreboard *scoreboard)
{
    cJSON *part = cJSON_AddObjectToObject(object, "market_calls");
    unsigned long cached = 0;

    for (int i = 0; i < MARKET_CLASSES; i++) {
        cached += scoreboard->market_calls[i][1];
        cJSON_AddNumberToObject(part, scoreboard_classes[i],
                                (double)scoreboard->market_calls[i][0]);
    }
    cJSON_AddNumberToObject(part, "cached", (double)cached);
}

/* How many fit into each bucket, and no smaller one. */
static void
add_histogram(cJSON *object, const struct histogram *histogram,
              const struct measure_kind *kind)
{
    cJSON *part = cJSON_AddObjectToObject(object, kind->name), *up_to;
    double count = 0;

    cJSON_AddNumberToObject(part, "sum",
                            (double)histogram->sum / kind->scale);
    up_to = cJSON_AddObjectToObject(part, "up_to");
    for (int i = 0, last = 0; !last; i++) {
        char bound[32] = "more";

        last = i == BUCKETS_MAX || kind->bounds[i] == 0;
        if (!last)
            snprintf(bound, sizeof(bound), "%.15g", kind->bounds[i]);
        count += (double)histogram->counts[i];
        cJSON_AddNumberToObject(up_to, bound, (double)histogram->counts[i]);
    }
    cJSON_AddNumberToObject(part, "count", count);
}

cJSON *
status_layers(const struct scoreboard *scoreboard)
{
    cJSON *layers = cJSON_CreateArray();
    char text[SCOREBOARD_TEXT], *next = text, *name;

    memcpy(text, scoreboard->layers, sizeof(text));
    while ((name = strsep(&next, " ")) != NULL)
        if (*name != '\0')
            cJSON_AddItemToArray(layers, cJSON_CreateString(name));
    return layers;
}

cJSON *
status_object(const struct scoreboard *scoreboard, const struct config *config,
              int ready)
{
    bool is_well = !config->zygote || scoreboard_is_well(scoreboard);
    cJSON *object = cJSON_CreateObject(), *part;

    cJSON_AddStringToObject(object, "version", VERSION);
    cJSON_AddNumberToObject(object, "uptime",
        (double)(now_ms() - scoreboard->started_ms) / 1000);
    cJSON_AddItemToObject(object, "reason", is_well
                              ? cJSON_CreateNull()
                              : cJSON_CreateString(scoreboard->reason));
    add_seats(object, scoreboard, config, ready);
    part = cJSON_AddObjectToObject(object, "totals");
    for (int i = 0; i < SCOREBOARD_KINDS; i++)
        cJSON_AddNumberToObject(part, scoreboard_kinds[i],
                                (double)scoreboard->totals[i]);
    part = cJSON_AddObjectToObject(object, "restarts");
    cJSON_AddNumberToObject(part, "zygote", scoreboard->zygote_restarts);
    cJSON_AddNumberToObject(part, "worker", scoreboard->worker_restarts);
    add_market(object, scoreboard);
    part = cJSON_AddObjectToObject(object, "isolation");
    cJSON_AddStringToObject(part, "configured", config->isolation);
    cJSON_AddItemToObject(part, "layers", status_layers(scoreboard));
    part = cJSON_AddObjectToObject(object, "histograms");
    for (int i = 0; i < MEASURES; i++)
        add_histogram(part, &scoreboard->histograms[i], &measure_kinds[i]);
    return object;
}

void
status_print(const struct scoreboard *scoreboard, const struct config *config,
             int ready, struct text *text)
{
    reply_object(status_object(scoreboard, config, ready), text);
}

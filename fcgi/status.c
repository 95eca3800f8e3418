#include "status.h"

#include "clock.h"
#include "reply.h"

#include <cjson/cJSON.h>
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
    int seats[SEAT_STATES] = {0};
    cJSON *workers, *runs;

    for (int i = 0; i < scoreboard->seat_count; i++)
        seats[scoreboard->seats[i] % SEAT_STATES]++;
    workers = cJSON_AddObjectToObject(object, "workers");
    cJSON_AddNumberToObject(workers, "idle", seats[SEAT_IDLE]);
    cJSON_AddNumberToObject(workers, "busy",
                            scoreboard->seat_count - seats[SEAT_IDLE]);
    runs = cJSON_AddObjectToObject(object, "runs");
    cJSON_AddNumberToObject(runs, "running", seats[SEAT_RUNNING]);
    cJSON_AddNumberToObject(runs, "waiting", seats[SEAT_WAITING]);
    cJSON_AddNumberToObject(runs, "ready", ready);
    cJSON_AddNumberToObject(runs, "max", config->max_runs);
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

void
status_print(const struct scoreboard *scoreboard, const struct config *config,
             int ready, struct text *text)
{
    bool is_well = scoreboard->is_warm && !scoreboard->is_failing;
    cJSON *object = cJSON_CreateObject(), *part;

    cJSON_AddStringToObject(object, "version", VERSION);
    cJSON_AddNumberToObject(object, "uptime",
        (double)(now_ms() - scoreboard->started_ms) / 1000);
    cJSON_AddItemToObject(object, "reason", is_well || !config->zygote
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
    part = cJSON_AddObjectToObject(object, "isolation");
    cJSON_AddStringToObject(part, "configured", config->isolation);
    cJSON_AddItemToObject(part, "layers", status_layers(scoreboard));
    reply_object(object, text);
}

#include "about.h"

#include "reply.h"
#include "status.h"

#include <cjson/cJSON.h>
#include <string.h>

static const char openapi_json[] =
#include "openapi.json.inc"
    ;

static const char tool_json[] =
#include "tool.json.inc"
    ;

/* What a caller can run into; the keys of the configuration. */
struct limit {
    const char *name;
    double value;
    enum { COUNT, SECONDS, BYTES } unit;
};

enum { LIMITS = 16 };

static void
find_limits(const struct config *config, struct limit limits[static LIMITS])
{
    const struct limit all[LIMITS] = {
        {"timeout", config->timeout / 1000.0, SECONDS},
        {"grace", config->grace / 1000.0, SECONDS},
        {"queue_wait", config->queue_wait / 1000.0, SECONDS},
        {"memory", (double)config->memory, BYTES},
        {"processes", config->processes, COUNT},
        {"work_size", (double)config->work_size, BYTES},
        {"work_inodes", config->work_inodes, COUNT},
        {"max_body", (double)config->max_body, BYTES},
        {"max_code", (double)config->max_code, BYTES},
        {"max_output", (double)config->max_output, BYTES},
        {"max_figures", config->max_figures, COUNT},
        {"max_figure_pixels", config->max_figure_pixels, COUNT},
        {"max_figure_bytes", (double)config->max_figure_bytes, BYTES},
        {"max_files", config->max_files, COUNT},
        {"max_file_bytes", (double)config->max_file_bytes, BYTES},
        {"fmp_calls", config->fmp_calls, COUNT},
    };

    memcpy(limits, all, sizeof(all));
}

/*** Templates ***/

static void
say_limit(const struct limit *limit, struct text *text)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    double value = limit->value;
    size_t unit = 0;

    while (limit->unit == BYTES && unit < 3 && value >= 1024 &&
           value / 1024 == (double)(size_t)(value / 1024)) {
        value /= 1024;
        unit++;
    }
    text_print(text, "%.15g%s%s", value, limit->unit == COUNT ? "" : " ",
               limit->unit == BYTES     ? units[unit]
               : limit->unit == SECONDS ? "seconds"
                                        : "");
}

/* Append the template with each name between two @ replaced. Templates are our
 * own: no other @ is in them, and no other name. */
static void
fill(const char *template, const struct config *config, struct text *text)
{
    struct limit limits[LIMITS];
    const char *at, *end;

    find_limits(config, limits);
    while ((at = strchr(template, '@')) != NULL &&
           (end = strchr(at + 1, '@')) != NULL) {
        bool is_number = at[-1] == '"' && end[1] == '"';
        const struct limit *limit = limits;

        while (strncmp(limit->name, at + 1, (size_t)(end - at - 1)) != 0 ||
               limit->name[end - at - 1] != '\0')
            limit++;
        text_add(text, template, (size_t)(at - template) - is_number);
        if (is_number)
            text_print(text, "%.15g", limit->value);
        else
            say_limit(limit, text);
        template = end + 1 + is_number;
    }
    text_print(text, "%s", template);
}

void
about_openapi(const struct config *config, struct text *text)
{
    fill(openapi_json, config, text);
}

/* Take the member out of an object; the caller's to delete. */
static cJSON *
take(cJSON *object, const char *name)
{
    return cJSON_DetachItemFromObjectCaseSensitive(object, name);
}

static cJSON *
parse(const char *template, const struct config *config)
{
    struct text text = {0};
    cJSON *object;

    fill(template, config, &text);
    object = cJSON_Parse(text.data);
    text_clear(&text);
    return object;
}

void
about_tool(const struct config *config, struct text *text)
{
    cJSON *tool = parse(tool_json, config);
    cJSON *openapi = parse(openapi_json, config);
    cJSON *schemas = cJSON_GetObjectItem(cJSON_GetObjectItem(
        openapi, "components"), "schemas");
    cJSON *job = take(schemas, "Job");

    cJSON_DeleteItemFromObject(cJSON_GetObjectItem(job, "properties"), "key");
    cJSON_AddItemToObject(tool, "parameters", job);
    cJSON_Delete(openapi);
    reply_object(tool, text);
}

/*** /about ***/

void
about_print(const struct scoreboard *scoreboard, const struct config *config,
            struct text *text)
{
    static const char *const told[] = {"python", "libraries", "helpers"};
    cJSON *object = cJSON_CreateObject(), *part;
    cJSON *python = cJSON_Parse(scoreboard->about);
    struct limit limits[LIMITS];

    cJSON_AddStringToObject(object, "version", VERSION);
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        part = take(python, told[i]);
        cJSON_AddItemToObject(object, told[i],
                              part != NULL ? part : cJSON_CreateNull());
    }
    cJSON_Delete(python);
    find_limits(config, limits);
    part = cJSON_AddObjectToObject(object, "limits");
    for (size_t i = 0; i < LIMITS; i++)
        cJSON_AddNumberToObject(part, limits[i].name, limits[i].value);
    cJSON_AddItemToObject(object, "isolation", status_layers(scoreboard));
    reply_object(object, text);
}

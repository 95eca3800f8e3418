#include "market_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyz" \
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* The packet, and the parameters in it. */
enum { MAX_DEPTH = 2 };

enum member { CALL, PATH, PARAMETERS, REFRESH, MEMBER_COUNT };

static const struct {
    const char *name;
    enum json_kind kind;
} members[MEMBER_COUNT] = {
    [CALL] = {"call", JSON_NUMBER},
    [PATH] = {"path", JSON_STRING},
    [PARAMETERS] = {"parameters", JSON_OBJECT},
    [REFRESH] = {"refresh", JSON_BOOLEAN},
};

/* One reading, and where to say why it failed. */
struct parse {
    struct market_request *request;
    char *why;
    size_t why_size;
};

/* Returns -1, for the caller to return. */
__attribute__((format(printf, 2, 3)))
static int
refuse(struct parse *parse, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(parse->why, parse->why_size, format, arguments);
    va_end(arguments);
    return -1;
}

/*** The packet ***/

static int
keep_member(struct parse *parse, struct span name, struct span value,
            struct span *values)
{
    int i = 0;

    while (i < MEMBER_COUNT && !json_string_equals(name, members[i].name))
        i++;
    if (i == MEMBER_COUNT)
        return refuse(parse, "A call has the members \"call\", \"path\", "
                      "\"parameters\" and \"refresh\", and no others.");
    if (values[i].at != NULL)
        return refuse(parse, "\"%s\" is there twice; send it once.",
                      members[i].name);
    if (json_kind(value) != members[i].kind)
        return refuse(parse, "\"%s\" must be %s, not %s.", members[i].name,
                      json_kind_name(members[i].kind),
                      json_kind_name(json_kind(value)));
    values[i] = value;
    return 0;
}

static int
read_members(struct parse *parse, struct span packet, struct span *values)
{
    struct json_reader reader;
    struct span name, value;
    int rc;

    json_reader_init(&reader, packet, MAX_DEPTH);
    while ((rc = json_member(&reader, &name, &value)) == 1)
        if (keep_member(parse, name, value, values) == -1)
            return -1;
    if (rc == -1)
        return refuse(parse, "The packet must be one JSON object: there is %s "
                      "at byte %zu.", reader.why, reader.at);
    for (int i = 0; i < MEMBER_COUNT; i++)
        if (values[i].at == NULL)
            return refuse(parse, "\"%s\" is missing; it must be %s.",
                          members[i].name, json_kind_name(members[i].kind));
    return 0;
}

/*** Its members ***/

/* Digits alone: what Python writes for an integer that is not negative. */
static bool
parse_call(struct span raw, uint32_t *call)
{
    uint64_t number = 0;

    if (raw.at == NULL || raw.len > 10)
        return false;
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.at[i] < '0' || raw.at[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(raw.at[i] - '0');
    }
    if (number > UINT32_MAX)
        return false;
    *call = (uint32_t)number;
    return true;
}

/* Decode a string. NULL when it is too long, or has a NUL in it. */
static char *
decode(struct span raw, size_t max)
{
    size_t len;
    char *text;

    if (json_string_length(raw) > max)
        return NULL;
    text = json_string(raw, &len);
    if (text != NULL && strlen(text) == len)
        return text;
    free(text);
    return NULL;
}

/* Segments of letters, digits and '-', with one '/' between two of them. */
static bool
is_path(const char *path)
{
    for (;;) {
        size_t len = strspn(path, ALPHANUMERIC "-");

        if (len == 0)
            return false;
        path += len;
        if (*path == '\0')
            return true;
        if (*path++ != '/')
            return false;
    }
}

static int
read_path(struct parse *parse, struct span raw)
{
    char *path = decode(raw, MARKET_PATH_MAX);

    parse->request->path = path;
    if (path == NULL || !is_path(path))
        return refuse(parse, "\"path\" must be names of letters, digits and "
                      "\"-\" with \"/\" between them, at most %d bytes, such "
                      "as historical-price-eod/full.", MARKET_PATH_MAX);
    return 0;
}

/* Would it be taken for the key, which is not the program's to choose? */
static bool
is_key(const char *name)
{
    static const char *const names[] = {
        "apikey", "api_key", "api-key", "key", "token", "access_token",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static int
read_name(struct parse *parse, struct span raw,
          struct market_parameter *parameter)
{
    const char *name = parameter->name = decode(raw, MARKET_NAME_MAX);

    if (name == NULL || *name == '\0' ||
        name[strspn(name, ALPHANUMERIC "_-")] != '\0')
        return refuse(parse, "\"parameters\" must have names of letters, "
                      "digits, \"_\" and \"-\", at most %d bytes each.",
                      MARKET_NAME_MAX);
    if (is_key(name))
        return refuse(parse, "\"parameters\" must not have \"%s\": the key is "
                      "the service's own affair.", name);
    return 0;
}

static bool
has_control_character(const char *text)
{
    size_t len = strlen(text), size;

    for (size_t at = 0; at < len; at += size) {
        int32_t code;

        size = utf8_step(text + at, len - at, &code);
        if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            return true;
    }
    return false;
}

static int
read_value(struct parse *parse, struct span raw,
           struct market_parameter *parameter)
{
    if (json_kind(raw) != JSON_STRING)
        return refuse(parse, "\"parameters\" must hold strings; \"%s\" is %s.",
                      parameter->name, json_kind_name(json_kind(raw)));
    parameter->value = decode(raw, MARKET_VALUE_MAX);
    if (parameter->value == NULL || has_control_character(parameter->value))
        return refuse(parse, "\"parameters\" must hold text without control "
                      "characters of at most %d bytes; \"%s\" does not.",
                      MARKET_VALUE_MAX, parameter->name);
    return 0;
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(((const struct market_parameter *)a)->name,
                  ((const struct market_parameter *)b)->name);
}

static int
sort_parameters(struct parse *parse)
{
    struct market_parameter *parameters = parse->request->parameters;
    size_t count = parse->request->parameter_count;

    qsort(parameters, count, sizeof(parameters[0]), compare_names);
    for (size_t i = 1; i < count; i++)
        if (compare_names(&parameters[i - 1], &parameters[i]) == 0)
            return refuse(parse, "\"parameters\" has \"%s\" twice; send it "
                          "once.", parameters[i].name);
    return 0;
}

static int
read_parameters(struct parse *parse, struct span raw)
{
    struct market_request *request = parse->request;
    struct json_reader reader;
    struct span name, value;

    request->parameters = must_alloc(MARKET_PARAMETERS_MAX *
                                     sizeof(request->parameters[0]));
    json_reader_init(&reader, raw, 1);
    while (json_member(&reader, &name, &value) == 1) {
        struct market_parameter *parameter =
            &request->parameters[request->parameter_count];

        if (request->parameter_count == MARKET_PARAMETERS_MAX)
            return refuse(parse, "\"parameters\" may have at most %d members.",
                          MARKET_PARAMETERS_MAX);
        request->parameter_count++;
        if (read_name(parse, name, parameter) == -1 ||
            read_value(parse, value, parameter) == -1)
            return -1;
    }
    return sort_parameters(parse);
}

/*** The whole ***/

int
market_request_parse(const char *packet, size_t len,
                     struct market_request *request, char *why,
                     size_t why_size)
{
    struct parse parse = {request, why, why_size};
    struct span values[MEMBER_COUNT] = {{NULL, 0}};
    int rc;

    *request = (struct market_request){0};
    rc = read_members(&parse, (struct span){packet, len}, values);
    /* Whatever else is wrong: it is told to whom it may concern. */
    if (!parse_call(values[CALL], &request->call) && rc == 0)
        rc = refuse(&parse, "\"call\" must be a whole number from 0 to %u.",
                    UINT32_MAX);
    if (rc == 0) {
        /* All are there, or rc would not be 0.
         * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        request->refresh = values[REFRESH].at[0] == 't';
        rc = read_path(&parse, values[PATH]);
    }
    if (rc == 0)
        rc = read_parameters(&parse, values[PARAMETERS]);
    if (rc == -1)
        market_request_clear(request);
    return rc;
}

const char *
market_request_value(const struct market_request *request, const char *name)
{
    for (size_t i = 0; i < request->parameter_count; i++)
        if (strcmp(request->parameters[i].name, name) == 0)
            return request->parameters[i].value;
    return NULL;
}

/* No part has a line break in it, and no name a '='. */
void
market_request_print(const struct market_request *request, struct text *text)
{
    text_print(text, "%s", request->path);
    for (size_t i = 0; i < request->parameter_count; i++)
        text_print(text, "\n%s=%s", request->parameters[i].name,
                   request->parameters[i].value);
}

void
market_request_clear(struct market_request *request)
{
    for (size_t i = 0; i < request->parameter_count; i++) {
        free(request->parameters[i].name);
        free(request->parameters[i].value);
    }
    free(request->parameters);
    free(request->path);
    *request = (struct market_request){.call = request->call};
}

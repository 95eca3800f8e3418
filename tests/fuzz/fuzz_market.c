/*
 * Any bytes as a packet on the market descriptor. What is accepted must keep
 * to the grammar of market_request.h, as a plain loop over its characters sees
 * it; what is refused must be fit to be sent. Behind the last NUL stands what
 * the server may have answered: whatever it is, no trace of the key is left.
 */

#include "market_answer.h"
#include "market_policy.h"
#include "market_request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char key[] = "kEy/7";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
    if (!holds)
        abort();
}

/*** Requests ***/

static void
check_path(const char *path)
{
    size_t len = strlen(path);

    must(len > 0 && len <= MARKET_PATH_MAX);
    must(path[0] != '/' && path[len - 1] != '/' && !strstr(path, "//"));
    for (size_t i = 0; i < len; i++)
        must(isalnum((unsigned char)path[i]) || path[i] == '-' ||
             path[i] == '/');
}

static void
check_name(const char *name)
{
    static const char *const keys[] = {
        "apikey", "api_key", "api-key", "key", "token", "access_token",
    };
    size_t len = strlen(name);

    must(len > 0 && len <= MARKET_NAME_MAX);
    for (size_t i = 0; i < len; i++)
        must(isalnum((unsigned char)name[i]) || name[i] == '-' ||
             name[i] == '_');
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        must(strcasecmp(name, keys[i]) != 0);
}

static void
check_text(const char *text, size_t max)
{
    size_t len = strlen(text), size;

    must(len <= max);
    for (size_t at = 0; at < len; at += size) {
        int32_t code;

        size = utf8_step(text + at, len - at, &code);
        must(code >= 0x20 && !(code >= 0x7f && code < 0xa0));
    }
}

static void
check_request(const struct market_request *request)
{
    struct text text = {0};

    check_path(request->path);
    must(request->parameter_count <= MARKET_PARAMETERS_MAX);
    for (size_t i = 0; i < request->parameter_count; i++) {
        const struct market_parameter *parameter = &request->parameters[i];

        check_name(parameter->name);
        check_text(parameter->value, MARKET_VALUE_MAX);
        must(i == 0 || strcmp(parameter[-1].name, parameter->name) < 0);
        must(market_request_value(request, parameter->name) ==
             parameter->value);
    }
    market_request_print(request, &text);
    must(strncmp(text.data, request->path, strlen(request->path)) == 0);
    text_clear(&text);
}

/*** Answers ***/

static void
check_answer(const struct market_request *request, const char *data,
             size_t len)
{
    struct market_answer answer;
    struct text head = {0};
    struct json_reader reader;
    struct span value;

    market_answer_init(&answer);
    answer.status = len % 2 == 0 ? 200 : 404;
    text_add(&answer.body, data, len);
    memcpy(answer.type, data, len < sizeof(answer.type) - 1
                                  ? len : sizeof(answer.type) - 1);
    market_answer_redact(&answer, key);
    must(answer.body.len <= len);
    must(memmem(answer.body.data, answer.body.len, key, strlen(key)) == NULL);
    must(strstr(answer.type, key) == NULL);
    must(market_policy_pause(&answer, 0, (unsigned int)len) >= -1);
    if (request->path != NULL)
        must(market_policy_lifetime(request, &answer, 0) >= 0);
    market_answer_print(&answer, 1, 2, &head);
    json_reader_init(&reader, (struct span){head.data, head.len}, 1);
    must(json_value(&reader, &value) == 0 && json_end(&reader) == 0);
    text_clear(&head);
    market_answer_clear(&answer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *packet = (const char *)data;
    const char *nul = size > 0 ? memrchr(packet, '\0', size) : NULL;
    size_t len = nul != NULL ? (size_t)(nul - packet) : size;
    struct market_request request;
    char why[200] = "";

    if (market_request_parse(packet, len, &request, why, sizeof(why)) == 0) {
        check_request(&request);
    } else {
        must(request.path == NULL && request.parameters == NULL &&
             request.parameter_count == 0);
        check_text(why, sizeof(why) - 1);
        must(why[0] != '\0');
    }
    if (nul != NULL)
        check_answer(&request, nul + 1, size - len - 1);
    market_request_clear(&request);
    market_request_clear(&request);
    return 0;
}

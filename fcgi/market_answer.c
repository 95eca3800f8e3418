#include "market_answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *
market_failure_name(enum market_failure failure)
{
    static const char *const names[] = {
        [MARKET_NO_KEY] = "no_key",   [MARKET_REFUSED] = "refused",
        [MARKET_CALLS] = "calls",     [MARKET_TIMEOUT] = "timeout",
        [MARKET_NETWORK] = "network", [MARKET_SIZE] = "size",
        [MARKET_REDIRECT] = "redirect",
    };

    return names[failure];
}

void
market_answer_init(struct market_answer *answer)
{
    *answer = (struct market_answer){.retry_after = MARKET_NO_RETRY_AFTER};
}

void
market_answer_fail(struct market_answer *answer, enum market_failure failure,
                   const char *format, ...)
{
    va_list arguments;

    market_answer_clear(answer);
    answer->failure = failure;
    va_start(arguments, format);
    vsnprintf(answer->message, sizeof(answer->message), format, arguments);
    va_end(arguments);
}

void
market_answer_clear(struct market_answer *answer)
{
    text_clear(&answer->body);
    market_answer_init(answer);
}

/*** The key's traces ***/

/* The number that count hexadecimal digits make, or -1. */
static int
hex_number(const char *text, size_t count)
{
    int number = 0;

    for (size_t i = 0; i < count; i++) {
        int digit = hex_digit(text[i]);

        if (digit == -1)
            return -1;
        number = number << 4 | digit;
    }
    return number;
}

/* Bytes of text in which letter stands, escaped or not; 0 when it does not. */
static size_t
letter_length(const char *text, size_t len, char letter)
{
    if (len >= 3 && text[0] == '%' && hex_number(text + 1, 2) == letter)
        return 3;
    if (len >= 6 && text[0] == '\\' && text[1] == 'u' &&
        hex_number(text + 2, 4) == letter)
        return 6;
    if (len >= 2 && text[0] == '\\' && text[1] == letter &&
        strchr("\"\\/", letter) != NULL)
        return 2;
    return len >= 1 && text[0] == letter ? 1 : 0;
}

/*
 * Bytes of text that are the key, in whatever form; 0 when they are not. As it
 * is comes first: it may itself look like something escaped.
 */
static size_t
trace_length(const char *text, size_t len, const char *key)
{
    size_t used = 0, key_len = strlen(key);

    if (len >= key_len && memcmp(text, key, key_len) == 0)
        return key_len;
    for (; *key != '\0'; key++) {
        size_t more = letter_length(text + used, len - used, *key);

        if (more == 0)
            return 0;
        used += more;
    }
    return used;
}

/* Redact in place. Returns the length that is left. */
static size_t
redact(char *text, size_t len, const char *key)
{
    size_t kept = 0, at = 0, trace;

    while (at < len) {
        bool may_begin = text[at] == *key || text[at] == '%' ||
                         text[at] == '\\';

        trace = may_begin ? trace_length(text + at, len - at, key) : 0;
        if (trace == 0) {
            text[kept++] = text[at++];
            continue;
        }
        at += trace;
        for (size_t i = 0; i < 3 && i < trace; i++)
            text[kept++] = '*';
    }
    return kept;
}

void
market_redact(char *string, const char *key)
{
    string[redact(string, strlen(string), key)] = '\0';
}

void
market_answer_redact(struct market_answer *answer, const char *key)
{
    struct text *body = &answer->body;

    market_redact(answer->type, key);
    if (body->len > 0) {
        body->len = redact(body->data, body->len, key);
        body->data[body->len] = '\0';
    }
}

/*** The packet ***/

static const char *
word(bool is_true)
{
    return is_true ? "true" : "false";
}

void
market_answer_print(const struct market_answer *answer, uint32_t call,
                    int64_t ms, struct text *text)
{
    text_print(text, "{\"call\":%" PRIu32 ",\"status\":%d,\"type\":", call,
               answer->status);
    text_quote(text, answer->type, strlen(answer->type));
    text_print(text, ",\"size\":%zu,\"cached\":%s,\"stale\":%s,\"ms\":%" PRId64
               ",\"retry_after\":", answer->body.len, word(answer->is_cached),
               word(answer->is_stale), ms);
    if (answer->retry_after == MARKET_NO_RETRY_AFTER)
        text_print(text, "null");
    else
        text_print(text, "%d", answer->retry_after);
    if (answer->failure == MARKET_ANSWERED) {
        text_print(text, ",\"failure\":null,\"message\":null}");
        return;
    }
    text_print(text, ",\"failure\":\"%s\",\"message\":",
               market_failure_name(answer->failure));
    text_quote(text, answer->message, strlen(answer->message));
    text_print(text, "}");
}

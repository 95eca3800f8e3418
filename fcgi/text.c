#include "text.h"

#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
must_alloc(size_t size)
{
    void *memory = calloc(1, size + 1);

    if (memory == NULL) {
        log_error("out of memory");
        _Exit(111);
    }
    return memory;
}

char *
must_copy(const char *string)
{
    return strcpy(must_alloc(strlen(string)), string);
}

static void
reserve(struct text *text, size_t more)
{
    size_t need = text->len + more + 1;

    if (need <= text->size)
        return;
    text->size = need < 128 ? 256 : need * 2;
    text->data = realloc(text->data, text->size);
    if (text->data == NULL) {
        log_error("out of memory");
        _Exit(111);
    }
}

int
text_add(void *context, const char *data, size_t len)
{
    struct text *text = context;

    reserve(text, len);
    if (len > 0)  /* else data may be NULL */
        memcpy(text->data + text->len, data, len);
    text->len += len;
    text->data[text->len] = '\0';
    return 0;
}

void
text_print(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    int len;

    va_start(arguments, format);
    va_copy(again, arguments);
    len = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    reserve(text, (size_t)len);
    vsnprintf(text->data + text->len, (size_t)len + 1, format, again);
    va_end(again);
    text->len += (size_t)len;
}

void
text_quote(struct text *text, const char *data, size_t len)
{
    json_quote(data, len, text_add, text);
}

void
text_raw(struct text *text, struct span raw)
{
    text_add(text, raw.at, raw.len);
}

void
text_clear(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

int
hex_digit(char byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : -1;
}

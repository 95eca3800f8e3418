#include "sink.h"

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Base64 is made in pieces of this many bytes, a multiple of 3. */
enum { PIECE = 48 * 1024 };

void
sink_bytes(struct sink *sink, const char *data, size_t len)
{
    if (sink->rc == 0 && len > 0)
        sink->rc = sink->write(sink->context, data, len);
}

void
sink_string(struct sink *sink, const char *string)
{
    sink_bytes(sink, string, strlen(string));
}

void
sink_print(struct sink *sink, const char *format, ...)
{
    char text[512];  /* for numbers, and words of our own */
    va_list arguments;
    int len;

    va_start(arguments, format);
    len = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    sink_bytes(sink, text, (size_t)len < sizeof(text) ? (size_t)len
                                                      : sizeof(text) - 1);
}

void
sink_quote(struct sink *sink, const char *data, size_t len)
{
    if (sink->rc == 0)
        sink->rc = json_quote(data, len, sink->write, sink->context);
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789+/";

/* Two letters for 12 bits at a time are half as many steps. */
struct pair {
    char letters[2];
};

static const struct pair *
letter_pairs(void)
{
    static struct pair pairs[1 << 12];

    if (pairs[0].letters[0] == '\0')
        for (unsigned int bits = 0; bits < 1 << 12; bits++)
            pairs[bits] = (struct pair){{letters[bits >> 6],
                                         letters[bits & 63]}};
    return pairs;
}

static size_t
encode_base64(const unsigned char *data, size_t size, char *to)
{
    const struct pair *pairs = letter_pairs();
    char *start = to;

    for (; size >= 3; size -= 3, data += 3, to += 4) {
        unsigned int bits = (unsigned int)(data[0] << 16 | data[1] << 8 |
                                           data[2]);

        memcpy(to, &pairs[bits >> 12], 2);
        memcpy(to + 2, &pairs[bits & 0xfff], 2);
    }
    if (size > 0) {
        unsigned char second = size == 2 ? data[1] : 0;

        *to++ = letters[data[0] >> 2];
        *to++ = letters[(data[0] & 3) << 4 | second >> 4];
        *to++ = size == 2 ? letters[(second & 15) << 2] : '=';
        *to++ = '=';
    }
    return (size_t)(to - start);
}

void
sink_base64(struct sink *sink, const char *data, size_t size)
{
    char *piece = must_alloc(PIECE / 3 * 4);

    while (size > 0 && sink->rc == 0) {
        size_t step = size < PIECE ? size : PIECE;

        sink_bytes(sink, piece, encode_base64((const unsigned char *)data,
                                              step, piece));
        data += step;
        size -= step;
    }
    free(piece);
}

/* What stands for a character that must not stand for itself; or NULL. */
static const char *
html_escape(int32_t code, char picture[static 4])
{
    switch (code) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\t': case '\n': case '\r': return NULL;
    }
    if (code >= 0x80 && code < 0xa0)
        code = -1;
    if (code == -1)
        return "\xef\xbf\xbd";
    if (code >= 0x20 && code != 0x7f)
        return NULL;
    /* Unicode has a picture of each control, from U+2400 on. */
    memcpy(picture, "\xe2\x90\x80", 4);
    picture[2] = (char)(0x80 + (code == 0x7f ? 0x21 : code));
    return picture;
}

void
sink_html(struct sink *sink, const char *data, size_t len)
{
    size_t start = 0, at = 0;

    while (at < len && sink->rc == 0) {
        char picture[4];
        int32_t code;
        size_t size = utf8_step(data + at, len - at, &code);
        const char *escape = html_escape(code, picture);

        if (escape != NULL) {
            sink_bytes(sink, data + start, at - start);
            sink_string(sink, escape);
            start = at + size;
        }
        at += size;
    }
    sink_bytes(sink, data + start, at - start);
}

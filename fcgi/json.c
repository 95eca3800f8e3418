#include "json.h"

#include <endian.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*** Characters ***/

size_t
utf8_step(const char *text, size_t len, int32_t *code)
{
    unsigned char lead = (unsigned char)text[0];
    size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2
                  : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    /* Some leads narrow the second byte: no overlong form, no surrogate,
       nothing above U+10FFFF. */
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    int32_t value = size < 2 ? lead : lead & (0x7f >> size);

    *code = -1;
    if (size == 0)
        return 1;
    for (size_t i = 1; i < size; i++) {
        unsigned char byte = i < len ? (unsigned char)text[i] : 0;

        if (byte < low || byte > high)
            return i;
        value = value << 6 | (byte & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    *code = value;
    return size;
}

/* Write a character as UTF-8 and return its size; out may be NULL. */
static size_t
utf8_encode(int32_t code, char *out)
{
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};

    if (out == NULL)
        return size;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(leads[size] | code);
    return size;
}

static bool
is_plain(char byte)
{
    return byte >= 0x20 && (unsigned char)byte < 0x80 && byte != '"' &&
           byte != '\\';
}

/*
 * How many bytes from text on are ASCII that stands for itself in a string.
 * Eight at a time: nearly all of a large body is such bytes.
 */
static size_t
plain_length(const char *text, size_t len)
{
    const uint64_t each = 0x0101010101010101;
    size_t i = 0;

    for (; len - i >= 8; i += 8) {
        uint64_t bytes;
        uint64_t odd;

        /* The lowest top bit set in odd is that of the first byte above
           0x7f, below 0x20, a quote or a backslash: a borrow can only come
           from such a byte, and goes up. */
        memcpy(&bytes, text + i, 8);
        bytes = le64toh(bytes);
        odd = bytes | (bytes - each * 0x20) |
              ((bytes ^ each * '"') - each) | ((bytes ^ each * '\\') - each);
        odd &= each * 0x80;
        if (odd != 0)
            return i + (size_t)__builtin_ctzll(odd) / 8;
    }
    while (i < len && is_plain(text[i]))
        i++;
    return i;
}

/* What unescape() returns instead of a character. */
enum { ESCAPE_BAD = -1, ESCAPE_LONE_SURROGATE = -2 };

/* The UTF-16 unit of a \uXXXX that begins at text, or -1. */
static int32_t
escaped_unit(const char *text, size_t len)
{
    int32_t unit = 0;

    if (len < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        char byte = text[i];
        int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                    : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                 : -1;

        if (digit == -1)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* The character that the escape at text stands for, its bytes in *size. */
static int32_t
unescape(const char *text, size_t len, size_t *size)
{
    static const char meant[256] = {
        ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
        ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
    };
    char short_escape = len < 2 ? '\0' : meant[(unsigned char)text[1]];
    int32_t unit;
    int32_t low;

    *size = 2;
    if (short_escape != '\0')
        return short_escape;

    *size = 6;
    unit = escaped_unit(text, len);
    if (unit < 0xd800 || unit > 0xdfff)
        return unit == -1 ? ESCAPE_BAD : unit;

    *size = 12;
    low = escaped_unit(text + 6, len - 6);
    if (unit > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return ESCAPE_LONE_SURROGATE;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

/*** Reading ***/

void
json_reader_init(struct json_reader *reader, struct span text, int max_depth)
{
    *reader = (struct json_reader){.text = text, .max_depth = max_depth};
}

/* The next byte, or -1 at the end. */
static int
peek(const struct json_reader *reader)
{
    return reader->at < reader->text.len
               ? (unsigned char)reader->text.at[reader->at]
               : -1;
}

__attribute__((format(printf, 2, 3)))
static int
fault(struct json_reader *reader, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reader->why, sizeof(reader->why), format, arguments);
    va_end(arguments);
    return -1;
}

static void
skip_space(struct json_reader *reader)
{
    int byte = peek(reader);

    while (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
        reader->at++;
        byte = peek(reader);
    }
}

static int
scan_escape(struct json_reader *reader)
{
    size_t size;
    int32_t code = unescape(reader->text.at + reader->at,
                            reader->text.len - reader->at, &size);

    if (code == ESCAPE_BAD)
        return fault(reader, "an unknown escape");
    if (code == ESCAPE_LONE_SURROGATE)
        return fault(reader, "a lone surrogate");
    reader->at += size;
    return 0;
}

static int
scan_utf8(struct json_reader *reader)
{
    int32_t code;
    size_t size = utf8_step(reader->text.at + reader->at,
                            reader->text.len - reader->at, &code);

    if (code == -1)
        return fault(reader, "invalid UTF-8");
    reader->at += size;
    return 0;
}

static int
scan_string(struct json_reader *reader)
{
    int rc = 0;

    reader->at++;
    while (rc == 0) {
        int byte;

        reader->at += plain_length(reader->text.at + reader->at,
                                   reader->text.len - reader->at);
        byte = peek(reader);
        if (byte == '"') {
            reader->at++;
            return 0;
        }
        if (byte == -1)
            rc = fault(reader, "a string without an end");
        else if (byte == '\\')
            rc = scan_escape(reader);
        else if (byte >= 0x80)
            rc = scan_utf8(reader);
        else
            rc = fault(reader, "a control character in a string");
    }
    return rc;
}

static int
scan_digits(struct json_reader *reader)
{
    size_t start = reader->at;

    while (peek(reader) >= '0' && peek(reader) <= '9')
        reader->at++;
    return reader->at > start ? 0 : fault(reader, "a digit missing");
}

static int
scan_number(struct json_reader *reader)
{
    size_t start;

    if (peek(reader) == '-')
        reader->at++;
    if (peek(reader) == 'I')
        return fault(reader, "Infinity, which JSON does not have,");

    start = reader->at;
    if (scan_digits(reader) == -1)
        return -1;
    if (reader->text.at[start] == '0' && reader->at > start + 1) {
        reader->at = start;
        return fault(reader, "a number with a leading zero");
    }
    if (peek(reader) == '.') {
        reader->at++;
        if (scan_digits(reader) == -1)
            return -1;
    }
    if (peek(reader) == 'e' || peek(reader) == 'E') {
        reader->at++;
        if (peek(reader) == '+' || peek(reader) == '-')
            reader->at++;
        return scan_digits(reader);
    }
    return 0;
}

static int
scan_word(struct json_reader *reader, const char *word)
{
    size_t len = strlen(word);

    if (reader->text.len - reader->at < len ||
        memcmp(reader->text.at + reader->at, word, len) != 0)
        return fault(reader, "no value");
    reader->at += len;
    return 0;
}

static int
open_container(struct json_reader *reader)
{
    if (reader->depth == reader->max_depth)
        return fault(reader, "nesting deeper than %d", reader->max_depth);
    reader->at++;
    reader->depth++;
    reader->first = true;
    return 0;
}

/* Stand before the next item: 1, or 0 behind the closing bracket. */
static int
next_item(struct json_reader *reader, int closing)
{
    bool first = reader->first;

    reader->first = false;
    skip_space(reader);
    if (peek(reader) == closing) {
        reader->at++;
        reader->depth--;
        return 0;
    }
    if (first)
        return 1;
    if (peek(reader) != ',')
        return fault(reader, "no comma or %c", closing);
    reader->at++;
    return 1;
}

/* Handing out a value is scanning it; within one, nobody asks for items. */
static int
next_element(struct json_reader *reader, struct span *value)
{
    int rc = next_item(reader, ']');

    return rc == 1 && json_value(reader, value) == -1 ? -1 : rc;
}

static int
next_member(struct json_reader *reader, struct span *name, struct span *value)
{
    int rc = next_item(reader, '}');
    size_t start;

    if (rc != 1)
        return rc;
    skip_space(reader);
    start = reader->at;
    if (peek(reader) != '"')
        return fault(reader, "no member name in double quotes");
    if (scan_string(reader) == -1)
        return -1;
    *name = (struct span){reader->text.at + start, reader->at - start};
    skip_space(reader);
    if (peek(reader) != ':')
        return fault(reader, "no colon");
    reader->at++;
    return json_value(reader, value) == -1 ? -1 : 1;
}

/* Recursive through json_value(), by at most max_depth. */
static int
scan_container(struct json_reader *reader)
{
    bool is_object = peek(reader) == '{';
    struct span name;
    struct span value;
    int rc = open_container(reader) == -1 ? -1 : 1;

    while (rc == 1)
        rc = is_object ? next_member(reader, &name, &value)
                       : next_element(reader, &value);
    return rc;
}

static int
scan(struct json_reader *reader)
{
    switch (peek(reader)) {
    case '{':
    case '[':
        return scan_container(reader);
    case '"':
        return scan_string(reader);
    case 't':
        return scan_word(reader, "true");
    case 'f':
        return scan_word(reader, "false");
    case 'n':
        return scan_word(reader, "null");
    case 'N':
        return fault(reader, "NaN, which JSON does not have,");
    case '-': case 'I':
    case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9':
        return scan_number(reader);
    default:
        return fault(reader, "no value");
    }
}

int
json_value(struct json_reader *reader, struct span *value)
{
    size_t start;

    skip_space(reader);
    start = reader->at;
    if (scan(reader) == -1)
        return -1;
    *value = (struct span){reader->text.at + start, reader->at - start};
    return 0;
}

int
json_end(struct json_reader *reader)
{
    skip_space(reader);
    return peek(reader) == -1 ? 0 : fault(reader, "text after the end");
}

/* Over the opening bracket when the text's container is not yet open. */
static int
begin(struct json_reader *reader, int opening)
{
    if (reader->depth > 0)
        return 0;
    skip_space(reader);
    return peek(reader) == opening ? open_container(reader)
                                   : fault(reader, "no %c", opening);
}

int
json_member(struct json_reader *reader, struct span *name, struct span *value)
{
    int rc = begin(reader, '{');

    if (rc == 0)
        rc = next_member(reader, name, value);
    return rc == 0 ? json_end(reader) : rc;
}

int
json_element(struct json_reader *reader, struct span *value)
{
    int rc = begin(reader, '[');

    if (rc == 0)
        rc = next_element(reader, value);
    return rc == 0 ? json_end(reader) : rc;
}

/*** Values ***/

enum json_kind
json_kind(struct span raw)
{
    switch (raw.at[0]) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOLEAN;
    case 'n':
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}

const char *
json_kind_name(enum json_kind kind)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",       [JSON_BOOLEAN] = "a boolean",
        [JSON_NUMBER] = "a number", [JSON_STRING] = "a string",
        [JSON_ARRAY] = "an array",  [JSON_OBJECT] = "an object",
    };

    return names[kind];
}

double
json_number(struct span raw)
{
    /* A copy, for the text need not end behind the number. */
    char *text = strndup(raw.at, raw.len);
    double number = text == NULL ? HUGE_VAL : strtod(text, NULL);

    free(text);
    return number;
}

/* What stands between the quotes. */
static struct span
inside(struct span raw)
{
    return (struct span){raw.at + 1, raw.len - 2};
}

/* Take the first character, escaped or not, off what is left of a string. */
static int32_t
next_character(struct span *rest)
{
    size_t size;
    int32_t code;

    if (rest->at[0] == '\\')
        code = unescape(rest->at, rest->len, &size);
    else
        size = utf8_step(rest->at, rest->len, &code);
    rest->at += size;
    rest->len -= size;
    return code;
}

/* Decode to out and return the length; out may be NULL. */
static size_t
decode(struct span raw, char *out)
{
    struct span rest = inside(raw);
    size_t len = 0;

    while (rest.len > 0) {
        const char *escape = memchr(rest.at, '\\', rest.len);
        size_t run = escape == NULL ? rest.len : (size_t)(escape - rest.at);

        if (out != NULL)
            memcpy(out + len, rest.at, run);
        len += run;
        rest.at += run;
        rest.len -= run;
        if (rest.len > 0)
            len += utf8_encode(next_character(&rest),
                               out == NULL ? NULL : out + len);
    }
    return len;
}

size_t
json_string_length(struct span raw)
{
    return decode(raw, NULL);
}

char *
json_string(struct span raw, size_t *len)
{
    /* No escape is shorter than what it stands for; the quotes leave room
       for the NUL. */
    char *text = malloc(raw.len);

    if (text == NULL)
        return NULL;
    *len = decode(raw, text);
    text[*len] = '\0';
    return text;
}

/* Take text off the beginning of what is left of a string. */
static bool
take(struct span *rest, const char *text)
{
    while (*text != '\0') {
        char bytes[4];
        size_t size;

        if (rest->len == 0)
            return false;
        size = utf8_encode(next_character(rest), bytes);
        if (strncmp(text, bytes, size) != 0)
            return false;
        text += size;
    }
    return true;
}

bool
json_string_equals(struct span raw, const char *text)
{
    struct span rest = inside(raw);

    return take(&rest, text) && rest.len == 0;
}

bool
json_string_starts(struct span raw, const char *text)
{
    struct span rest = inside(raw);

    return take(&rest, text);
}

int
json_string_compare(struct span a, struct span b)
{
    struct span left = inside(a);
    struct span right = inside(b);

    while (left.len > 0 && right.len > 0) {
        int difference;

        /* UTF-8 sorts as its characters do: bytes will do where nothing is
           escaped. */
        if (left.at[0] != '\\' && right.at[0] != '\\') {
            difference = (unsigned char)*left.at++ -
                         (unsigned char)*right.at++;
            left.len--;
            right.len--;
        } else {
            difference = next_character(&left) - next_character(&right);
        }
        if (difference != 0)
            return difference;
    }
    return (left.len > 0) - (right.len > 0);
}

/*** Writing ***/

/* What stands for a character that cannot stand for itself. */
static int
write_escape(int32_t code, json_write *write, void *context)
{
    static const char digits[] = "0123456789abcdef";
    static const char short_names[] = {
        ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
    };

    if (code == -1)
        return write(context, "\xef\xbf\xbd", 3);
    if (short_names[code] != '\0')
        return write(context, (char[]){'\\', short_names[code]}, 2);
    return write(context, (char[]){'\\', 'u', '0', '0', digits[code >> 4],
                                   digits[code & 15]}, 6);
}

int
json_quote(const char *text, size_t len, json_write *write, void *context)
{
    size_t start = 0;
    size_t at = 0;

    if (write(context, "\"", 1) == -1)
        return -1;
    while ((at += plain_length(text + at, len - at)) < len) {
        int32_t code;
        size_t size = utf8_step(text + at, len - at, &code);

        if (code < 0x80) {
            if (at > start && write(context, text + start, at - start) == -1)
                return -1;
            if (write_escape(code, write, context) == -1)
                return -1;
            start = at + size;
        }
        at += size;
    }
    if (at > start && write(context, text + start, at - start) == -1)
        return -1;
    return write(context, "\"", 1);
}

bool
utf8_is_unprintable(int32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
           code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/*
 * GMime reads the headers of a part and undoes its transfer encoding. The
 * parts are found here, for three reasons that were tried: its parser takes
 * 150 times a hostile body's size in memory before the parts can be counted;
 * it parses files that are mails or web archives, whose bytes it does not
 * keep; and it leaves a CR at the end of the last file when nothing follows
 * the closing boundary.
 */

#include "form.h"

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <gmime/gmime.h>

/* Of a part, and in the header above all: GMime copies some to the stack. */
enum { MAX_HEADERS = 4096 };

/* Returns -1, for the caller to return. */
__attribute__((format(printf, 2, 3)))
static int
fault(struct form *form, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(form->why, sizeof(form->why), format, arguments);
    va_end(arguments);
    return -1;
}

static void
clear_part(struct form_part *part)
{
    if (part->data != NULL)
        explicit_bzero(part->data, part->size);
    free(part->data);
    free((char *)part->name.at);
    free(part->filename);
    *part = (struct form_part){.data = NULL};
}

void
form_close(struct form *form)
{
    clear_part(&form->part);
}

/*** application/x-www-form-urlencoded ***/

void
form_open_urlencoded(struct form *form, struct span body)
{
    *form = (struct form){.body = body};
}

/* The byte that the %XX at text stands for, or -1. */
static int
escaped_byte(const char *text, const char *end)
{
    int high = end - text < 3 ? -1 : hex_digit(text[1]);
    int low = end - text < 3 ? -1 : hex_digit(text[2]);

    return high == -1 || low == -1 ? -1 : high << 4 | low;
}

/* Decode a name or a value to out, which has room for it and a NUL. */
static int
unescape(struct form *form, struct span raw, char *out, size_t *len)
{
    const char *end = raw.at + raw.len;

    *len = 0;
    for (const char *in = raw.at; in < end; in++) {
        int byte = *in == '%' ? escaped_byte(in, end) : *in;

        if (*in == '+')
            byte = ' ';
        if (*in == '%' && byte == -1)
            return fault(form, "The body has a \"%%\" at byte %zu that two "
                         "hexadecimal digits do not follow; encode what a "
                         "field holds (--data-urlencode with curl).",
                         (size_t)(in - form->body.at));
        if (*in == '%')
            in += 2;
        out[(*len)++] = (char)byte;
    }
    out[*len] = '\0';
    return 0;
}

static int
next_pair(struct form *form)
{
    struct form_part *part = &form->part;
    const char *end = form->body.at + form->body.len;
    const char *start = form->body.at + form->at;
    struct span name, value = {"", 0};
    char *decoded;

    while (start < end && *start == '&')
        start++;
    if (start == end)
        return 0;

    name = (struct span){start, (size_t)(end - start)};
    end = memchr(start, '&', name.len);
    if (end != NULL)
        name.len = (size_t)(end - start);
    form->at = (size_t)(start + name.len - form->body.at);
    end = memchr(start, '=', name.len);
    if (end != NULL) {
        value = (struct span){end + 1, name.len - (size_t)(end + 1 - start)};
        name.len = (size_t)(end - start);
    }

    decoded = must_alloc(name.len);
    part->name.at = decoded;
    part->data = must_alloc(value.len);
    if (unescape(form, name, decoded, &part->name.len) == -1 ||
        unescape(form, value, part->data, &part->size) == -1)
        return -1;
    return 1;
}

/*** multipart/form-data: where parts begin and end ***/

/*
 * Whether a delimiter's line goes on at `at`, behind the boundary: -- closes
 * the form. Then `*next` is where the next part begins.
 */
static bool
ends_line(struct form *form, size_t at, size_t *next)
{
    const char *body = form->body.at;
    size_t len = form->body.len;
    bool is_closing = len - at >= 2 && memcmp(body + at, "--", 2) == 0;

    if (is_closing)
        at += 2;
    while (at < len && (body[at] == ' ' || body[at] == '\t'))
        at++;
    if (is_closing ? at < len && body[at] != '\r'
                   : len - at < 2 || memcmp(body + at, "\r\n", 2) != 0)
        return false;
    form->is_closed = is_closing;
    *next = is_closing ? len : at + 2;
    return true;
}

/* Take what stands before the next delimiter. */
static int
take_content(struct form *form, struct span *content)
{
    const char *start = form->body.at + form->at;
    const char *end = form->body.at + form->body.len;
    size_t len = strlen(form->delimiter);
    const char *found = start;

    while ((found = memchr(found, '\r', (size_t)(end - found))) != NULL &&
           (size_t)(end - found) >= len) {
        if (memcmp(found, form->delimiter, len) == 0 &&
            ends_line(form, (size_t)(found - form->body.at) + len, &form->at)) {
            *content = (struct span){start, (size_t)(found - start)};
            return 0;
        }
        found++;
    }
    return form->count == 0
        ? fault(form, "The body has no line that is \"--\" and the boundary "
                "of the Content-Type; each must end in CRLF.")
        : fault(form, "Part %zu of the form has no end: no line that is \"--\" "
                "and the boundary follows it.", form->count);
}

int
form_open_multipart(struct form *form, const char *content_type,
                    struct span body)
{
    GMimeContentType *type;
    const char *boundary;
    struct span before;
    size_t len;

    g_mime_init();
    *form = (struct form){.body = body};
    if (strlen(content_type) > MAX_HEADERS)
        return fault(form, "The Content-Type has more than %d bytes.",
                     MAX_HEADERS);
    type = g_mime_content_type_parse(NULL, content_type);
    boundary = g_mime_content_type_get_parameter(type, "boundary");
    len = boundary == NULL ? 0 : strlen(boundary);
    if (len > 0 && len <= FORM_MAX_BOUNDARY)
        sprintf(form->delimiter, "\r\n--%s", boundary);
    g_object_unref(type);
    if (form->delimiter[0] == '\0')
        return fault(form, "The Content-Type must have a boundary of 1 to %d "
                     "bytes; let the client write this header.",
                     FORM_MAX_BOUNDARY);

    /* The first delimiter may be the body's first line. */
    if (body.len >= len + 2 &&
        memcmp(body.at, form->delimiter + 2, len + 2) == 0 &&
        ends_line(form, len + 2, &form->at))
        return 0;
    return take_content(form, &before);
}

/*** multipart/form-data: what a part says of itself ***/

/* The length of the headers at the beginning of a part; -1 with why set. */
static int
headers_length(struct form *form, struct span content, size_t *len)
{
    size_t most = content.len < MAX_HEADERS ? content.len : MAX_HEADERS;
    /* A part that was found is of the body, even where it is empty.
     * NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
    const char *end = memmem(content.at, most, "\r\n\r\n", 4);
    size_t size;

    if (end == NULL)
        return fault(form, "Part %zu of the form has no empty line behind its "
                     "headers in its first %d bytes.", form->count,
                     MAX_HEADERS);
    *len = (size_t)(end + 4 - content.at);
    for (size_t at = 0; at < *len; at += size) {
        int32_t code;

        size = utf8_step(content.at + at, *len - at, &code);
        if (code <= 0 || (code == '\\' && content.at[at + 1] != '"' &&
                          content.at[at + 1] != '\\'))
            return fault(form, "The headers of part %zu of the form must be "
                         "UTF-8 without NUL, and names without backslashes.",
                         form->count);
        if (code == '\\')
            size = 2;
    }
    return 0;
}

/* New, or NULL when they are none. */
static GMimeObject *
parse_headers(const char *headers, size_t len)
{
    GMimeStream *stream = g_mime_stream_mem_new_with_buffer(headers, len);
    GMimeParser *parser = g_mime_parser_new_with_stream(stream);
    GMimeObject *object = g_mime_parser_construct_part(parser, NULL);

    g_object_unref(parser);
    g_object_unref(stream);
    return object;
}

/* Browsers escape these three, and no others, in names. */
static void
unescape_filename(char *name)
{
    char *out = name;

    for (const char *in = name; *in != '\0'; in++) {
        int byte = *in == '%' ? escaped_byte(in, in + strnlen(in, 3)) : -1;

        if (byte == '"' || byte == '\r' || byte == '\n')
            in += 2;
        *out++ = byte == '"' || byte == '\r' || byte == '\n' ? (char)byte : *in;
    }
    *out = '\0';
}

/* Owned by the caller, or NULL. A name with a charset of its own goes first. */
static char *
find_filename(GMimeContentDisposition *disposition)
{
    GMimeParamList *list =
        g_mime_content_disposition_get_parameters(disposition);
    GMimeParam *best = g_mime_param_list_get_parameter(list, "filename");
    char *name;

    if (best == NULL)
        return NULL;
    for (int i = 0; i < g_mime_param_list_length(list); i++) {
        GMimeParam *param = g_mime_param_list_get_parameter_at(list, i);

        if (strcasecmp(g_mime_param_get_name(param), "filename") == 0 &&
            g_mime_param_get_encoding_method(param) ==
                GMIME_PARAM_ENCODING_METHOD_RFC2231)
            best = param;
    }
    name = must_copy(g_mime_param_get_value(best));
    if (g_mime_param_get_encoding_method(best) !=
        GMIME_PARAM_ENCODING_METHOD_RFC2231)
        unescape_filename(name);
    return name;
}

/* Take a part's names from its headers. */
static int
read_names(struct form *form, GMimeObject *object)
{
    GMimeContentDisposition *disposition =
        g_mime_object_get_content_disposition(object);
    const char *name;

    if (disposition == NULL)
        return fault(form, "Part %zu of the form has no Content-Disposition.",
                     form->count);
    name = g_mime_content_disposition_get_parameter(disposition, "name");
    form->part.filename = find_filename(disposition);
    if (name == NULL && form->part.filename == NULL)
        return fault(form, "Part %zu of the form has no name.", form->count);
    if (name == NULL)
        name = "";
    form->part.name = (struct span){must_copy(name), strlen(name)};
    return 0;
}

/* Undo the transfer encoding, which browsers do not use. */
static int
decode(struct form *form, GMimeObject *object, struct span content)
{
    const char *name =
        g_mime_object_get_header(object, "Content-Transfer-Encoding");
    GMimeContentEncoding kind = name == NULL
        ? GMIME_CONTENT_ENCODING_BINARY
        : g_mime_content_encoding_from_string(name);
    GMimeEncoding encoding;

    if (kind == GMIME_CONTENT_ENCODING_DEFAULT ||
        kind == GMIME_CONTENT_ENCODING_UUENCODE)
        return fault(form, "The Content-Transfer-Encoding of part %zu of the "
                     "form must be binary, 8bit, 7bit, quoted-printable or "
                     "base64.", form->count);
    g_mime_encoding_init_decode(&encoding, kind);
    form->part.data =
        must_alloc(g_mime_encoding_outlen(&encoding, content.len));
    form->part.size = g_mime_encoding_flush(&encoding, content.at, content.len,
                                            form->part.data);
    form->part.data[form->part.size] = '\0';
    return 0;
}

/* Make a field UTF-8 that says it is ISO-8859-1, Java's default. */
static void
recode_latin1(struct form_part *part)
{
    char *text = must_alloc(2 * part->size);
    size_t len = 0;

    for (size_t i = 0; i < part->size; i++) {
        unsigned char byte = (unsigned char)part->data[i];

        if (byte >= 0x80)
            text[len++] = (char)(0xc0 | byte >> 6);
        text[len++] = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
    }
    explicit_bzero(part->data, part->size);
    free(part->data);
    part->data = text;
    part->size = len;
}

/* A field is text, and its part may say which. */
static int
read_text(struct form *form, GMimeObject *object)
{
    GMimeContentType *type = g_mime_object_get_content_type(object);
    const char *charset = g_mime_content_type_get_parameter(type, "charset");

    if (g_mime_content_type_is_type(type, "multipart", "*"))
        return fault(form, "Part %zu of the form is itself multipart; send "
                     "each file as a part of its own.", form->count);
    if (charset == NULL || strcasecmp(charset, "utf-8") == 0 ||
        strcasecmp(charset, "us-ascii") == 0)
        return 0;
    if (strcasecmp(charset, "iso-8859-1") != 0)
        return fault(form, "The charset of part %zu of the form must be UTF-8.",
                     form->count);
    recode_latin1(&form->part);
    return 0;
}

static int
next_part(struct form *form)
{
    GMimeObject *object;
    struct span content = {NULL, 0};
    size_t len = 0;
    int rc;

    if (form->is_closed)
        return 0;
    form->count++;
    if (take_content(form, &content) == -1 ||
        headers_length(form, content, &len) == -1)
        return -1;
    object = parse_headers(content.at, len);
    if (object == NULL)
        return fault(form, "The headers of part %zu of the form cannot be "
                     "read.", form->count);
    content.at += len;
    content.len -= len;
    rc = read_names(form, object);
    if (rc == 0)
        rc = decode(form, object, content);
    if (rc == 0 && form->part.filename == NULL)
        rc = read_text(form, object);
    g_object_unref(object);
    return rc == 0 ? 1 : -1;
}

int
form_next(struct form *form)
{
    clear_part(&form->part);
    return form->delimiter[0] == '\0' ? next_pair(form) : next_part(form);
}

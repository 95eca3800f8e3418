#include "request.h"

#include "form.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_KEY = 256,
    MAX_NAME = 1024,       /* bytes of an input file's name */
    MAX_NAME_PART = 255,   /* what a directory entry holds */
    MAX_NAME_PARTS = 16,
    MAX_FIELDS = 8,
    MAX_FORM_FIELDS = 16,   /* of a form, besides its files */
};

/* What one reading is about. */
struct parse {
    const struct request_limits *limits;
    struct job *job;
    struct problem *problem;
    char where[32];     /* before a member's name in a sentence: "files[2]." */
    size_t file_bytes;  /* so far */
};

/* A member of an object. Null is as good as absent where it is allowed. */
struct field {
    const char *name;
    unsigned int kinds;    /* bits 1 << JSON_... */
    const char *expected;  /* the same in words */
    bool is_required;
    int (*read)(struct parse *parse, struct span value);
};

/* What an object may hold: at most MAX_FIELDS names of at most 15 letters. */
struct shape {
    const char *noun;
    const struct field *fields;
    size_t count;
};

/*** Sentences ***/

static const char *
title_of(int status)
{
    switch (status) {
    case 413:
        return "Content Too Large";
    case 415:
        return "Unsupported Media Type";
    case 503:
        return "Service Unavailable";
    default:
        return "Bad Request";
    }
}

/* Fill the problem. Returns -1, for the caller to return. */
__attribute__((format(printf, 3, 4)))
static int
refuse(struct parse *parse, int status, const char *format, ...)
{
    struct problem *problem = parse->problem;
    va_list arguments;

    *problem = (struct problem){.status = status};
    snprintf(problem->title, sizeof(problem->title), "%s", title_of(status));
    va_start(arguments, format);
    vsnprintf(problem->detail, sizeof(problem->detail), format, arguments);
    va_end(arguments);
    return -1;
}

/* The same for a member of what is being read; its name begins the sentence. */
__attribute__((format(printf, 3, 4)))
static int
refuse_member(struct parse *parse, const char *name, const char *format, ...)
{
    char rest[sizeof(parse->problem->detail) - 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(rest, sizeof(rest), format, arguments);
    va_end(arguments);
    refuse(parse, 400, "\"%s%s\" %s", parse->where, name, rest);
    snprintf(parse->problem->member, sizeof(parse->problem->member), "%s",
             parse->where[0] == '\0' ? name : "files");
    return -1;
}

static int
refuse_memory(struct parse *parse)
{
    return refuse(parse, 503, "No memory is left to read this job.");
}

struct shown {
    char text[56];
};

/* What a user named, shortened and made fit for a sentence. */
static struct shown
show(struct span name)
{
    static const char dots[] = "...";
    struct shown shown = {""};
    size_t used = 0;
    size_t size;

    for (size_t at = 0; at < name.len; at += size) {
        const char *character = name.at + at;
        size_t width;
        int32_t code;

        size = utf8_step(character, name.len - at, &code);
        width = size;
        if (utf8_is_unprintable(code)) {
            character = "\xef\xbf\xbd";
            width = 3;
        }
        if (used + width + sizeof(dots) > sizeof(shown.text)) {
            memcpy(shown.text + used, dots, sizeof(dots));
            break;
        }
        memcpy(shown.text + used, character, width);
        used += width;
    }
    return shown;
}

/* A string as it was sent: JSON has escaped it already. */
static struct shown
show_string(struct span raw)
{
    return show((struct span){raw.at + 1, raw.len - 2});
}

/*** Objects ***/

/* Edits from a to b, a member's name, case aside (Levenshtein's, one row). */
static size_t
edit_distance(const char *a, const char *b)
{
    size_t row[16];
    size_t len = strlen(b);

    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= len; j++) {
            size_t above = row[j];
            int letter = tolower((unsigned char)a[i - 1]);
            size_t best = corner + (letter != b[j - 1]);

            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            corner = above;
        }
    }
    return row[len];
}

static int
refuse_unknown(struct parse *parse, const struct shape *shape, const char *name)
{
    char hint[64] = "";
    char list[128] = "";
    size_t used = 0;
    size_t nearest = 3;

    for (size_t i = 0; i < shape->count; i++) {
        const char *known = shape->fields[i].name;
        size_t distance = edit_distance(name, known);

        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                 i == 0 ? "" : ", ", known);
        if (distance < nearest && distance <= (strlen(known) + 1) / 3) {
            nearest = distance;
            snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", known);
        }
    }
    return refuse_member(parse, name, "is no member of %s%s Its members are "
                         "%s.", shape->noun, hint[0] == '\0' ? "." : hint,
                         list);
}

/* Name the member whose value is at fault, if the fault is in one. */
static int
refuse_syntax(struct parse *parse, const struct json_reader *reader,
              struct span member)
{
    if (member.at == NULL)
        return refuse(parse, 400, "The body cannot be read as JSON: %s at "
                      "byte %zu.", reader->why, reader->at);
    return refuse_member(parse, show_string(member).text, "cannot be read as "
                         "JSON: %s at byte %zu of the body.", reader->why,
                         reader->at);
}

/* Check one member and keep its value where its field stands in the shape. */
static int
keep_member(struct parse *parse, const struct shape *shape, struct span name,
            struct span value, struct span *values)
{
    const struct field *field = shape->fields;
    const struct field *end = field + shape->count;
    enum json_kind kind = json_kind(value);

    while (field < end && !json_string_equals(name, field->name))
        field++;
    if (field == end)
        return refuse_unknown(parse, shape, show_string(name).text);
    if (values[field - shape->fields].at != NULL)
        return refuse_member(parse, field->name,
                             "is there twice; send it once.");
    if ((field->kinds & (1u << kind)) == 0)
        return refuse_member(parse, field->name, "must be %s, not %s.",
                             field->expected, json_kind_name(kind));
    values[field - shape->fields] = value;
    return 0;
}

/* Take what the members say into the job, in the shape's order. */
static int
read_values(struct parse *parse, const struct shape *shape,
            const struct span *values)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct field *field = &shape->fields[i];

        if (values[i].at == NULL && field->is_required)
            return refuse_member(parse, field->name,
                                 "is required in %s and must be %s.",
                                 shape->noun, field->expected);
        if (values[i].at != NULL && json_kind(values[i]) != JSON_NULL &&
            field->read(parse, values[i]) == -1)
            return -1;
    }
    return 0;
}

static int
read_object(struct parse *parse, const struct shape *shape, struct span text)
{
    struct span values[MAX_FIELDS] = {{NULL, 0}};
    struct span name = {NULL, 0};
    struct span value;
    struct json_reader reader;
    int rc;

    json_reader_init(&reader, text, parse->limits->max_depth);
    while ((rc = json_member(&reader, &name, &value)) == 1) {
        if (keep_member(parse, shape, name, value, values) == -1)
            return -1;
        name.at = NULL;
    }
    if (rc == -1)
        return refuse_syntax(parse, &reader, name);
    return read_values(parse, shape, values);
}

/*** Members of a file, which is the job's last ***/

static struct input_file *
last_file(const struct parse *parse)
{
    return &parse->job->files[parse->job->file_count - 1];
}

static int
check_characters(struct parse *parse, const char *name, size_t len)
{
    size_t size;

    if (len > MAX_NAME)
        return refuse_member(parse, "name", "must have at most %d bytes.",
                             MAX_NAME);
    for (size_t at = 0; at < len; at += size) {
        int32_t code;

        size = utf8_step(name + at, len - at, &code);
        if (utf8_is_unprintable(code) || code == '\\')
            return refuse_member(parse, "name", "must be UTF-8 without "
                                 "backslashes, control and bidirectional "
                                 "characters.");
    }
    return 0;
}

static int
check_parts(struct parse *parse, const char *name)
{
    for (int parts = 1;; parts++) {
        size_t len = strcspn(name, "/");

        if (len == 0)
            return refuse_member(parse, "name", "must be a relative path "
                                 "without an empty part.");
        if (len <= 2 && strncmp(name, "..", len) == 0)
            return refuse_member(parse, "name", "must have no part \".\" or "
                                 "\"..\".");
        if (len > MAX_NAME_PART)
            return refuse_member(parse, "name", "must have at most %d bytes "
                                 "in each part.", MAX_NAME_PART);
        if (parts > MAX_NAME_PARTS)
            return refuse_member(parse, "name", "must have at most %d parts.",
                                 MAX_NAME_PARTS);
        if (name[len] == '\0')
            return 0;
        name += len + 1;
    }
}

static int
check_name(struct parse *parse, const char *name, size_t len)
{
    if (check_characters(parse, name, len) == -1)
        return -1;
    return check_parts(parse, name);
}

static int
read_name(struct parse *parse, struct span value)
{
    struct input_file *file = last_file(parse);
    size_t len;

    file->name = json_string(value, &len);
    if (file->name == NULL)
        return refuse_memory(parse);
    return check_name(parse, file->name, len);
}

/*
 * Decode base64 in place: padded, no white space, no bits left over. Returns
 * 0, or -1 with the text spoilt.
 */
static int
decode_base64(char *text, size_t *len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "abcdefghijklmnopqrstuvwxyz0123456789+/";
    signed char digits[256];
    unsigned int bits = 0;
    size_t padding = 0;
    size_t out = 0;

    memset(digits, -1, sizeof(digits));
    for (int i = 0; i < 64; i++)
        digits[(unsigned char)alphabet[i]] = (signed char)i;

    if (*len % 4 != 0)
        return -1;
    while (padding < 2 && padding < *len && text[*len - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < *len - padding; i++) {
        /* NOLINTNEXTLINE(bugprone-signed-char-misuse): -1 is to stay -1. */
        int digit = digits[(unsigned char)text[i]];

        if (digit == -1)
            return -1;
        bits = bits << 6 | (unsigned int)digit;
        if (i % 4 != 0)
            text[out++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    *len = out;
    return (bits & ((1u << 2 * padding) - 1)) == 0 ? 0 : -1;
}

static int
check_size(struct parse *parse, size_t size)
{
    parse->file_bytes += size;
    if (parse->file_bytes > parse->limits->max_file_bytes)
        return refuse_member(parse, "data", "is too large: all files together "
                             "may have at most %zu bytes.",
                             parse->limits->max_file_bytes);
    return 0;
}

static int
read_data(struct parse *parse, struct span value)
{
    struct input_file *file = last_file(parse);

    file->data = json_string(value, &file->size);
    if (file->data == NULL)
        return refuse_memory(parse);
    if (decode_base64(file->data, &file->size) == -1)
        return refuse_member(parse, "data", "must be base64 with its padding "
                             "and nothing else, not even white space.");
    return check_size(parse, file->size);
}

static const struct field file_fields[] = {
    {"name", 1u << JSON_STRING, "a string", true, read_name},
    {"data", 1u << JSON_STRING, "a string of base64", true, read_data},
};

static const struct shape file_shape = {
    "a file", file_fields, sizeof(file_fields) / sizeof(file_fields[0]),
};

/*** Members of a job ***/

static int
check_code(struct parse *parse, size_t len)
{
    if (len > parse->limits->max_code)
        return refuse_member(parse, "code", "has %zu bytes; it may have at "
                             "most %zu.", len, parse->limits->max_code);
    return 0;
}

static int
read_code(struct parse *parse, struct span value)
{
    parse->job->code = value;
    return check_code(parse, json_string_length(value));
}

static int
compare_spans(const void *a, const void *b)
{
    return json_string_compare(*(const struct span *)a,
                               *(const struct span *)b);
}

/* Sorts names. */
static int
refuse_repeated(struct parse *parse, struct span *names, size_t count)
{
    qsort(names, count, sizeof(names[0]), compare_spans);
    for (size_t i = 1; i < count; i++) {
        if (compare_spans(&names[i - 1], &names[i]) == 0)
            return refuse_member(parse, "context", "has the name \"%s\" twice.",
                                 show_string(names[i]).text);
    }
    return 0;
}

static int
read_context(struct parse *parse, struct span value)
{
    /* A member takes at least five bytes: "":0, */
    struct span *names = calloc(value.len / 5 + 1, sizeof(names[0]));
    struct span member;
    struct json_reader reader;
    size_t count = 0;
    int rc = 0;

    if (names == NULL)
        return refuse_memory(parse);
    json_reader_init(&reader, value, parse->limits->max_depth);
    while (rc == 0 && json_member(&reader, &names[count], &member) == 1) {
        if (json_string_starts(names[count], "__"))
            rc = refuse_member(parse, "context", "has the name \"%s\"; names "
                               "must not begin with \"__\".",
                               show_string(names[count]).text);
        count++;
    }
    if (rc == 0)
        rc = refuse_repeated(parse, names, count);
    free(names);
    parse->job->context = value;
    return rc;
}

static int
read_key(struct parse *parse, struct span value)
{
    char *key;
    size_t len;
    size_t good = 0;

    if (json_string_length(value) > MAX_KEY)
        return refuse_member(parse, "key", "may have at most %d characters.",
                             MAX_KEY);
    key = json_string(value, &len);
    if (key == NULL)
        return refuse_memory(parse);
    while (good < len && key[good] > ' ' && key[good] <= '~')
        good++;
    if (good > 0 && good == len) {
        parse->job->key = key;
        return 0;
    }

    explicit_bzero(key, len);
    free(key);
    return len == 0 ? 0
                    : refuse_member(parse, "key", "must be printable ASCII "
                                    "without spaces.");
}

/* Parts before whole names: "a" stands right before "a/b", "a-b" after. */
static int
compare_files(const void *a, const void *b)
{
    const unsigned char *left =
        (const unsigned char *)((const struct input_file *)a)->name;
    const unsigned char *right =
        (const unsigned char *)((const struct input_file *)b)->name;

    while (*left != '\0' && *left == *right) {
        left++;
        right++;
    }
    /* No name holds a byte 1, so '/' can take its place. */
    return (*left == '/' ? 1 : *left) - (*right == '/' ? 1 : *right);
}

/* Sorts the files, so that names in each other's way are neighbours. */
static int
check_clashes(struct parse *parse)
{
    struct input_file *files = parse->job->files;

    if (parse->job->file_count > 0)
        qsort(files, parse->job->file_count, sizeof(files[0]), compare_files);
    for (size_t i = 1; i < parse->job->file_count; i++) {
        const char *name = files[i - 1].name;
        size_t len = strlen(name);
        char after = strncmp(name, files[i].name, len) == 0
                         ? files[i].name[len] : 'x';

        if (after == '\0' || after == '/')
            return refuse_member(parse, "files", "has \"%s\" %s.",
                                 show((struct span){name, len}).text,
                                 after == '\0' ? "twice"
                                               : "as a file and a directory");
    }
    return 0;
}

/* Make room for one more; what is wrong from here on is wrong with it. */
static int
add_file(struct parse *parse)
{
    struct job *job = parse->job;
    struct input_file *files;

    if (job->file_count == parse->limits->max_files)
        return refuse_member(parse, "files", "may hold at most %zu files.",
                             parse->limits->max_files);
    files = reallocarray(job->files, job->file_count + 1, sizeof(files[0]));
    if (files == NULL)
        return refuse_memory(parse);
    job->files = files;
    files[job->file_count] = (struct input_file){NULL, NULL, 0};
    snprintf(parse->where, sizeof(parse->where), "files[%zu].",
             job->file_count++);
    return 0;
}

static int
read_file(struct parse *parse, struct span value)
{
    if (json_kind(value) != JSON_OBJECT)
        return refuse_member(parse, "files", "must hold objects of name and "
                             "data, not %s.", json_kind_name(json_kind(value)));
    if (add_file(parse) == -1 ||
        read_object(parse, &file_shape, value) == -1)
        return -1;
    parse->where[0] = '\0';
    return 0;
}

static int
read_files(struct parse *parse, struct span value)
{
    struct span entry;
    struct json_reader reader;

    json_reader_init(&reader, value, parse->limits->max_depth);
    while (json_element(&reader, &entry) == 1) {
        if (read_file(parse, entry) == -1)
            return -1;
    }
    return check_clashes(parse);
}

static int
read_timeout(struct parse *parse, struct span value)
{
    double timeout = json_number(value);

    if (!(timeout > 0 && timeout <= parse->limits->timeout))
        return refuse_member(parse, "timeout", "must be more than 0 and at "
                             "most %g seconds, not %s.",
                             parse->limits->timeout, show(value).text);
    parse->job->timeout = timeout;
    return 0;
}

static const struct field job_fields[] = {
    {"code", 1u << JSON_STRING, "a string", true, read_code},
    {"context", 1u << JSON_OBJECT | 1u << JSON_NULL, "an object or null",
     false, read_context},
    {"key", 1u << JSON_STRING | 1u << JSON_NULL, "a string or null", false,
     read_key},
    {"files", 1u << JSON_ARRAY | 1u << JSON_NULL, "an array or null", false,
     read_files},
    {"timeout", 1u << JSON_NUMBER | 1u << JSON_NULL, "a number or null", false,
     read_timeout},
};

static const struct shape job_shape = {
    "a job", job_fields, sizeof(job_fields) / sizeof(job_fields[0]),
};

/*** Bodies ***/

static int
read_json(struct parse *parse, const char *content_type, struct span body)
{
    struct json_reader reader;
    struct span value;

    (void)content_type;
    if (body.len >= 3 && memcmp(body.at, "\xef\xbb\xbf", 3) == 0)
        return refuse(parse, 400, "The body begins with a byte order mark; "
                      "JSON must begin without.");

    json_reader_init(&reader, body, parse->limits->max_depth);
    if (json_end(&reader) == 0)
        return refuse(parse, 400, "The body is empty; it must be a JSON object "
                      "with at least the member \"code\".");
    if (body.at[reader.at] == '{')
        return read_object(parse, &job_shape, body);

    if (json_value(&reader, &value) == -1 || json_end(&reader) == -1)
        return refuse_syntax(parse, &reader, (struct span){NULL, 0});
    return refuse(parse, 400, "The body must be a JSON object with at least "
                  "the member \"code\", not %s.",
                  json_kind_name(json_kind(value)));
}

/*** Forms: their fields become a JSON object, read as any other ***/

/* What a field says when it says nothing, as an empty input of a page does. */
static bool
is_blank(const struct form_part *part)
{
    struct json_reader reader;

    json_reader_init(&reader, (struct span){part->data, part->size}, 0);
    return json_end(&reader) == 0;
}

static bool
is_named(const struct form_part *part, const char *name)
{
    return part->name.len == strlen(name) &&
           memcmp(part->name.at, name, part->name.len) == 0;
}

/* Browsers send every line's end as CRLF: make it what was typed. */
static void
normalise_lines(struct form_part *part)
{
    size_t len = 0;

    for (size_t i = 0; i < part->size; i++) {
        char byte = part->data[i];

        if (byte == '\r' && i + 1 < part->size && part->data[i + 1] == '\n')
            continue;
        part->data[len++] = byte == '\r' ? '\n' : byte;
    }
    part->size = len;
}

static int
check_utf8(struct parse *parse, const struct form_part *part)
{
    size_t size;

    for (size_t at = 0; at < part->size; at += size) {
        int32_t code;

        size = utf8_step(part->data + at, part->size - at, &code);
        if (code == -1)
            return refuse_member(parse, "code", "has invalid UTF-8 at byte "
                                 "%zu.", at);
    }
    return 0;
}

/*
 * Add to the job's own text. There is room: no value is longer than it was in
 * the body but for escapes of at most six bytes. A json_write.
 */
static int
write_text(void *context, const char *text, size_t len)
{
    struct job *job = context;

    memcpy(job->text + job->text_len, text, len);
    job->text_len += len;
    return 0;
}

static int
write_string(struct parse *parse, struct form_part *part)
{
    return json_quote(part->data, part->size, write_text, parse->job);
}

static int
write_code(struct parse *parse, struct form_part *part)
{
    normalise_lines(part);
    if (check_code(parse, part->size) == -1 || check_utf8(parse, part) == -1)
        return -1;
    return write_string(parse, part);
}

/* Copy a field's one JSON value as it is; of which kind, is seen later. */
static int
write_context(struct parse *parse, struct form_part *part)
{
    struct json_reader reader;
    struct span value;

    json_reader_init(&reader, (struct span){part->data, part->size},
                     parse->limits->max_depth);
    reader.depth = 1;  /* in the job */
    if (json_value(&reader, &value) == -1 || json_end(&reader) == -1)
        return refuse_member(parse, "context", "cannot be read as JSON: %s at "
                             "byte %zu of the field.", reader.why, reader.at);
    return write_text(parse->job, value.at, value.len);
}

static int
write_timeout(struct parse *parse, struct form_part *part)
{
    struct json_reader reader;
    struct span value;

    json_reader_init(&reader, (struct span){part->data, part->size}, 0);
    if (json_value(&reader, &value) == -1 || json_end(&reader) == -1 ||
        json_kind(value) != JSON_NUMBER)
        return refuse_member(parse, "timeout", "must be a number like 10 or "
                             "0.5, not \"%s\".",
                             show((struct span){part->data, part->size}).text);
    return write_text(parse->job, value.at, value.len);
}

static int
refuse_text(struct parse *parse, struct form_part *part)
{
    (void)part;
    return refuse_member(parse, "files", "must be sent as files, in a form of "
                         "multipart/form-data.");
}

/* How each field becomes a member. */
static const struct {
    const char *name;
    int (*write)(struct parse *parse, struct form_part *part);
} form_fields[] = {
    {"code", write_code},
    {"context", write_context},
    {"key", write_string},
    {"timeout", write_timeout},
    {"files", refuse_text},
};
enum { FORM_FIELD_COUNT = sizeof(form_fields) / sizeof(form_fields[0]) };

/* The field of that part's name, or FORM_FIELD_COUNT. */
static size_t
find_field(const struct form_part *part)
{
    size_t i = 0;

    while (i < FORM_FIELD_COUNT && !is_named(part, form_fields[i].name))
        i++;
    return i;
}

/* What browsers fill in when a form has this field (HTML, 4.10.22.4). */
static int
check_charset(struct parse *parse, const struct form_part *part)
{
    if (is_blank(part) || (part->size == 5 &&
                           strncasecmp(part->data, "utf-8", 5) == 0))
        return 0;
    return refuse_member(parse, "_charset_", "must be UTF-8.");
}

/* Add a member to the text, null for a blank one: as good as absent. */
static int
read_field(struct parse *parse, struct form_part *part)
{
    size_t field = find_field(part);

    if (is_named(part, "_charset_"))
        return check_charset(parse, part);
    if (field == FORM_FIELD_COUNT)
        return refuse_unknown(parse, &job_shape, show(part->name).text);
    if (parse->job->text_len > 1)
        write_text(parse->job, ",", 1);
    json_quote(part->name.at, part->name.len, write_text, parse->job);
    write_text(parse->job, ":", 1);
    if (is_blank(part) && form_fields[field].write != write_code)
        return write_text(parse->job, "null", 4);
    return form_fields[field].write(parse, part);
}

/* Some clients (PHP's) send a path on their own machine (RFC 7578, 4.2). */
static void
strip_root(char *name)
{
    if (name[0] == '/') {
        const char *last = strrchr(name, '/') + 1;

        memmove(name, last, strlen(last) + 1);
    }
}

/* Take a file over, unless a page's input was left without one. */
static int
read_upload(struct parse *parse, struct form_part *part)
{
    size_t field = find_field(part);
    struct input_file *file;

    if (part->filename[0] == '\0' && part->size == 0)
        return 0;
    /* A key sent as a file would be the program's to read. */
    if (field != FORM_FIELD_COUNT && strcmp(form_fields[field].name,
                                            "files") != 0)
        return refuse_member(parse, form_fields[field].name, "must be a field, "
                             "not a file: send it without a file name (with "
                             "curl, \"<\" before the file, not \"@\").");
    if (add_file(parse) == -1)
        return -1;
    file = last_file(parse);
    file->name = part->filename;
    part->filename = NULL;
    strip_root(file->name);
    file->data = part->data;
    part->data = NULL;
    file->size = part->size;
    if (check_name(parse, file->name, strlen(file->name)) == -1 ||
        check_size(parse, file->size) == -1)
        return -1;
    parse->where[0] = '\0';
    return 0;
}

static int
read_parts(struct parse *parse, struct form *form)
{
    size_t left = parse->limits->max_files + MAX_FORM_FIELDS;
    int rc;

    while ((rc = form_next(form)) == 1) {
        if (left-- == 0)
            return refuse(parse, 400, "A form may have at most %zu fields and "
                          "files.", parse->limits->max_files + MAX_FORM_FIELDS);
        if ((form->part.filename != NULL ? read_upload : read_field)(
                parse, &form->part) == -1)
            return -1;
    }
    return rc == -1 ? refuse(parse, 400, "%s", form->why) : 0;
}

/* Read a form, and close it. */
static int
read_form(struct parse *parse, struct form *form)
{
    struct job *job = parse->job;
    int rc;

    job->text = malloc(6 * form->body.len + 128);
    if (job->text == NULL)
        return refuse_memory(parse);
    write_text(job, "{", 1);
    rc = read_parts(parse, form);
    form_close(form);
    if (rc == -1)
        return -1;
    write_text(job, "}", 1);
    if (read_object(parse, &job_shape,
                    (struct span){job->text, job->text_len}) == -1)
        return -1;
    return check_clashes(parse);
}

static int
read_urlencoded(struct parse *parse, const char *content_type,
                struct span body)
{
    struct form form;

    (void)content_type;
    form_open_urlencoded(&form, body);
    return read_form(parse, &form);
}

static int
read_multipart(struct parse *parse, const char *content_type,
               struct span body)
{
    struct form form;

    if (form_open_multipart(&form, content_type, body) == -1)
        return refuse(parse, 400, "%s", form.why);
    return read_form(parse, &form);
}

/*** The choice ***/

/* Take what stands before the next semicolon, white space around it off. */
static struct span
next_piece(const char **header)
{
    const char *start = *header + strspn(*header, " \t");
    size_t len = strcspn(start, ";");

    *header = start + len + (start[len] == ';');
    while (len > 0 && (start[len - 1] == ' ' || start[len - 1] == '\t'))
        len--;
    return (struct span){start, len};
}

static bool
is_word(struct span piece, const char *word)
{
    return piece.len == strlen(word) &&
           strncasecmp(piece.at, word, piece.len) == 0;
}

/* Whether a header's parameters leave the charset at UTF-8. */
static bool
is_utf8(const char *parameters)
{
    while (*parameters != '\0') {
        struct span piece = next_piece(&parameters);

        if (piece.len >= 8 && strncasecmp(piece.at, "charset=", 8) == 0 &&
            !is_word(piece, "charset=utf-8") &&
            !is_word(piece, "charset=\"utf-8\""))
            return false;
    }
    return true;
}

/* The ways a job can be carried. */
static const struct format {
    const char *type;
    int (*read)(struct parse *parse, const char *content_type,
                struct span body);
} formats[] = {
    {"application/json", read_json},
    {"application/x-www-form-urlencoded", read_urlencoded},
    {"multipart/form-data", read_multipart},
};

/* Choose by the header, then read. */
static int
read_body(struct parse *parse, const char *content_type, struct span body)
{
    static const char accepted[] = "send application/json, "
        "application/x-www-form-urlencoded or multipart/form-data in UTF-8";
    const char *parameters = content_type;
    struct span type;

    if (content_type == NULL || content_type[0] == '\0')
        return refuse(parse, 415, "The request has no Content-Type; %s.",
                      accepted);
    type = next_piece(&parameters);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (!is_word(type, formats[i].type))
            continue;
        if (!is_utf8(parameters))
            return refuse(parse, 415, "The charset is not UTF-8; %s.",
                          accepted);
        return formats[i].read(parse, content_type, body);
    }
    return refuse(parse, 415, "The Content-Type \"%s\" is not accepted; %s.",
                  show(type).text, accepted);
}

int
request_parse(const char *content_type, const char *body, size_t len,
              const struct request_limits *limits, struct job *job,
              struct problem *problem)
{
    struct job parsed = {.timeout = limits->timeout};
    struct parse parse = {
        .limits = limits, .job = &parsed, .problem = problem,
    };

    if (len > limits->max_body)
        return refuse(&parse, 413, "The body has %zu bytes; it may have at "
                      "most %zu.", len, limits->max_body);
    if (read_body(&parse, content_type, (struct span){body, len}) == -1) {
        job_clear(&parsed);
        return -1;
    }
    *job = parsed;
    return 0;
}

void
job_clear(struct job *job)
{
    for (size_t i = 0; i < job->file_count; i++) {
        free(job->files[i].name);
        free(job->files[i].data);
    }
    free(job->files);
    if (job->key != NULL)
        explicit_bzero(job->key, strlen(job->key));
    free(job->key);
    if (job->text != NULL)
        explicit_bzero(job->text, job->text_len);
    free(job->text);
    *job = (struct job){.timeout = 0};
}

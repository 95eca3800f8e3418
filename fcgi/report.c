#include "report.h"

#include "handover.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 4,
    FRAMES_MAX = 16,     /* of a stack in the log */
    NAME_MAX_BYTES = 64
};

struct member {
    const char *name;
    enum json_kind kind;  /* what it must be, when it is not null */
    bool may_be_null;
    struct span *value;   /* at NULL when null */
};

/*
 * Read an object that has exactly the members of table, in any order. Returns
 * whether it is one; fills each value.
 */
static bool
read_object(struct span raw, const struct member *table, size_t count)
{
    struct json_reader reader;
    struct span name, value;
    unsigned int found = 0;  /* a bit a member: a null leaves its span empty */
    int more;

    json_reader_init(&reader, raw, MAX_DEPTH);
    while ((more = json_member(&reader, &name, &value)) == 1) {
        size_t i = 0;

        while (i < count && !json_string_equals(name, table[i].name))
            i++;
        if (i == count || (found & 1u << i) != 0)
            return false;
        found |= 1u << i;
        if (json_kind(value) == table[i].kind)
            *table[i].value = value;
        else if (json_kind(value) != JSON_NULL || !table[i].may_be_null)
            return false;
    }
    return more == 0 && found == (1u << count) - 1;
}

static bool
all_strings(struct span raw)
{
    struct json_reader reader;
    struct span value;
    int more;

    json_reader_init(&reader, raw, MAX_DEPTH);
    while ((more = json_element(&reader, &value)) == 1)
        if (json_kind(value) != JSON_STRING)
            return false;
    return more == 0;
}

/* The kinds that a child can know of; the others are the worker's to say. */
static bool
is_childs_kind(struct span kind)
{
    static const char *const kinds[] = {
        "exception", "exit", "timeout", "memory",
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (json_string_equals(kind, kinds[i]))
            return true;
    return false;
}

static bool
read_error(struct span raw, struct report *report)
{
    struct span line = {NULL, 0};
    const struct member members[] = {
        {"kind", JSON_STRING, false, &report->error_kind},
        {"type", JSON_STRING, false, &report->error_type},
        {"message", JSON_STRING, false, &report->error_message},
        {"traceback", JSON_STRING, false, &report->error_traceback},
        {"line", JSON_NUMBER, true, &line},
    };

    if (!read_object(raw, members, sizeof(members) / sizeof(members[0])) ||
        !is_childs_kind(report->error_kind))
        return false;
    if (line.at != NULL) {
        double number = json_number(line);

        if (!(number >= 1 && number <= 1e9))
            return false;
        report->error_line = (long)number;
    }
    report->has_error = true;
    return true;
}

static bool
read_figure(struct span raw, struct report *report)
{
    const struct member members[] = {
        {"type", JSON_STRING, false, &report->figure_type},
        {"message", JSON_STRING, false, &report->figure_message},
    };

    return read_object(raw, members, sizeof(members) / sizeof(members[0]));
}

static bool
read_report(struct span line, struct report *report)
{
    struct span error = {NULL, 0}, figure = {NULL, 0};
    const struct member members[] = {
        {"result", JSON_STRING, true, &report->result},
        {"error", JSON_OBJECT, true, &error},
        {"figure", JSON_OBJECT, true, &figure},
        {"limit", JSON_STRING, true, &report->limit},
        {"notes", JSON_ARRAY, false, &report->notes},
    };

    return read_object(line, members, sizeof(members) / sizeof(members[0])) &&
           all_strings(report->notes) &&
           (error.at == NULL || read_error(error, report)) &&
           (figure.at == NULL || read_figure(figure, report));
}

/* How faulthandler begins to tell of a stack, of which the innermost frame
 * comes first. */
static bool
is_stack(struct span line)
{
    static const char start[] = "Stack (most recent call first):";

    return line.len == sizeof(start) - 1 &&
           memcmp(line.at, start, line.len) == 0;
}

/* Whether the line begins so; then it goes on behind that. */
static bool
skip(struct span *line, const char *start)
{
    size_t len = strlen(start);

    if (line->len < len || memcmp(line->at, start, len) != 0)
        return false;
    *line = (struct span){line->at + len, line->len - len};
    return true;
}

/* Take a number, with an end to its size; 0 where there is none. */
static long
skip_number(struct span *line)
{
    long number = 0;

    for (; line->len > 0 && *line->at >= '0' && *line->at <= '9';
         line->at++, line->len--)
        if (number < 100000000)
            number = number * 10 + (*line->at - '0');
    return number;
}

/* `  File "/tmp/main.py", line 12 in name` gives 12, and name; other lines
 * give 0. */
static long
read_place(struct span line, struct span *name)
{
    long number = skip(&line, "  File \"/tmp/main.py\", line ")
                      ? skip_number(&line) : 0;

    *name = skip(&line, " in ") ? line : (struct span){line.at, 0};
    return number;
}

/* Take the next whole line. Returns false at the end; a line that a kill has
 * cut off is none. */
static bool
next_line(const char **text, const char *end, struct span *line)
{
    const char *newline =
        *text < end ? memchr(*text, '\n', (size_t)(end - *text)) : NULL;

    if (newline == NULL)
        return false;
    *line = (struct span){*text, (size_t)(newline - *text)};
    *text = newline + 1;
    return true;
}

void
report_parse(const char *text, size_t len, struct report *report)
{
    const char *end = len > 0 ? text + len : text;  /* NULL + 0 is undefined */
    struct span line, name;
    long place = 0, peak_kib = 0;

    memset(report, 0, sizeof(*report));
    while (next_line(&text, end, &line)) {
        if (line.len > 0 && line.at[0] == '{') {
            memset(report, 0, sizeof(*report));
            report->is_valid = read_report(line, report);
        } else if (skip(&line, REPORT_PEAK)) {
            peak_kib = skip_number(&line);
        } else if (is_stack(line)) {
            place = 0;  /* the one before was asked for the log */
        } else if (place == 0) {
            place = read_place(line, &name);
        }
    }
    if (!report->is_valid)
        memset(report, 0, sizeof(*report));
    report->place = place;
    report->peak_kib = peak_kib;
}

/* Nothing but what names in Python look like, nor more of it. */
static void
put_name(struct text *stack, struct span name)
{
    static const char fit[] = "abcdefghijklmnopqrstuvwxyz_<>"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    for (size_t i = 0; i < name.len && i < NAME_MAX_BYTES; i++)
        text_add(stack, strchr(fit, name.at[i]) != NULL &&
                        name.at[i] != '\0' ? name.at + i : "?", 1);
}

void
report_stack(const char *text, size_t len, size_t from, struct text *stack)
{
    const char *end = len > 0 ? text + len : text;
    struct span line, name;
    int stacks = 0, frames = 0;

    text = len > 0 ? text + from : text;
    while (stacks < 2 && frames <= FRAMES_MAX && next_line(&text, end, &line)) {
        long place = read_place(line, &name);

        stacks += is_stack(line);
        if (place == 0 || stacks != 1)
            continue;
        if (++frames > FRAMES_MAX) {
            text_print(stack, ",...");
            continue;
        }
        text_print(stack, "%smain.py:%ld:", frames > 1 ? "," : "", place);
        put_name(stack, name);
    }
    if (frames == 0)
        text_print(stack, "unknown");
}

/*
 * json.h - strict JSON (RFC 8259): read in place, and strings written.
 *
 * Reading keeps values as they came: a span is borrowed text and lives as
 * long as the text does. Nothing needs to end in NUL. Pure: no descriptors,
 * no logging; total on any bytes.
 */

#ifndef SANDBOX_JSON_H
#define SANDBOX_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    const char *at;  /* borrowed */
    size_t len;
};

/* In the order of the words in json_kind_name(). */
enum json_kind {
    JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT,
};

/* Reads one text. Where it stands and what is wrong there is for all to see. */
struct json_reader {
    struct span text;
    size_t at;      /* offset of the next byte, or of the faulty one */
    int depth;      /* containers open */
    int max_depth;
    bool first;     /* the byte before was an opening bracket */
    char why[64];   /* what is wrong, for a sentence; empty while all is well */
};

/* Stand before text, whose values may nest max_depth containers deep. */
void json_reader_init(struct json_reader *reader, struct span text,
                      int max_depth);

/*
 * Read the next value: its extent in *value, white space around it left out.
 * Returns 0, or -1 with reader->why set and *value untouched. Every byte of a
 * value has been checked when it is handed out: grammar, UTF-8, escapes,
 * depth.
 */
int json_value(struct json_reader *reader, struct span *value);

/* Nothing but white space is left: 0, or -1 with reader->why set. */
int json_end(struct json_reader *reader);

/*
 * Read a text that is one object, a member a call: its name, a raw string,
 * and its value. Returns 1; 0 behind the last, once nothing but white space
 * follows the object; -1 with reader->why set. *name is set as soon as it is
 * read, so that it can be told whose value is at fault. Not to be called
 * again after 0 or -1, nor mixed with the other ways to read.
 */
int json_member(struct json_reader *reader, struct span *name,
                struct span *value);

/* The same for a text that is one array, an element a call. */
int json_element(struct json_reader *reader, struct span *value);

/*** Values: each raw span must have been handed out by a reader ***/

enum json_kind json_kind(struct span raw);

/* "an array" and so on, for sentences. */
const char *json_kind_name(enum json_kind kind);

/* HUGE_VAL when too large, or without memory. Needs the C locale. */
double json_number(struct span raw);

/* Bytes of the string when decoded. */
size_t json_string_length(struct span raw);

/*
 * Decode a string: owned by the caller, *len bytes and a NUL behind them; the
 * string may itself hold NULs. NULL without memory.
 */
char *json_string(struct span raw, size_t *len);

/* Compare the decoded string, or its beginning, with text. */
bool json_string_equals(struct span raw, const char *text);
bool json_string_starts(struct span raw, const char *text);

/* Order two strings by their decoded characters, as strcmp() does bytes. */
int json_string_compare(struct span a, struct span b);

/*** Writing, and UTF-8 for whoever handles text of others ***/

/* Takes text that is borrowed for the call. Returns 0, or -1 to stop. */
typedef int json_write(void *context, const char *text, size_t len);

/*
 * Write any bytes as a JSON string, quotes included. Each maximal subpart of
 * invalid UTF-8 becomes one U+FFFD, as the Unicode standard recommends.
 * Returns 0, or -1 as soon as write does.
 */
int json_quote(const char *text, size_t len, json_write *write, void *context);

/*
 * Take one character off text, of which len > 0 bytes are left: *code and its
 * bytes, or -1 and the bytes of the maximal subpart that is no UTF-8.
 */
size_t utf8_step(const char *text, size_t len, int32_t *code);

/* A character that does not show, or makes others show elsewhere; or -1. */
bool utf8_is_unprintable(int32_t code);

#endif

#include "form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define TYPE "multipart/form-data; boundary=xyz"
#define FIELD "Content-Disposition: form-data; name="
#define END "\r\n--xyz--\r\n"

/* What a form holds, a line for each part: name, file name, data. */
struct told {
    char text[4096];
    char why[256];
};

static void
tell(struct told *told, const char *content_type, const char *body, size_t len)
{
    char *copy = malloc(len);
    struct form form;
    int rc = 0;

    assert_non_null(copy);
    memcpy(copy, body, len);
    *told = (struct told){.why = ""};
    if (content_type != NULL)
        rc = form_open_multipart(&form, content_type, (struct span){copy, len});
    else
        form_open_urlencoded(&form, (struct span){copy, len});
    while (rc == 0 && (rc = form_next(&form)) == 1) {
        size_t used = strlen(told->text);

        assert_int_equal(form.part.data[form.part.size], '\0');
        snprintf(told->text + used, sizeof(told->text) - used, "%.*s|%s|%.*s\n",
                 (int)form.part.name.len, form.part.name.at,
                 form.part.filename != NULL ? form.part.filename : "-",
                 (int)form.part.size, form.part.data);
        rc = 0;
    }
    if (rc == -1) {
        assert_true(form.why[0] != '\0' && strlen(form.why) < 255);
        strcpy(told->why, form.why);
    } else {
        assert_string_equal(form.why, "");
    }
    form_close(&form);
    form_close(&form);
    free(copy);
}

static void
holds_bytes(const char *content_type, const char *body, size_t len,
            const char *text)
{
    struct told told;

    tell(&told, content_type, body, len);
    if (told.why[0] != '\0')
        fail_msg("%.200s: %s", body, told.why);
    assert_string_equal(told.text, text);
}

static void
holds(const char *content_type, const char *body, const char *text)
{
    holds_bytes(content_type, body, strlen(body), text);
}

static void
fails(const char *content_type, const char *body, const char *text)
{
    struct told told;

    tell(&told, content_type, body, strlen(body));
    if (strstr(told.why, text) == NULL || told.why[0] == '\0')
        fail_msg("%.200s: \"%s\"", body, told.why);
}

/* A part with these headers, CRLF added, and "x" in it. */
static void
part_holds(const char *headers, const char *text)
{
    char body[1024];

    snprintf(body, sizeof(body), "--xyz\r\n%s\r\n\r\nx" END, headers);
    holds(TYPE, body, text);
}

static void
part_fails(const char *headers, const char *text)
{
    char body[1024];

    snprintf(body, sizeof(body), "--xyz\r\n%s\r\n\r\nx" END, headers);
    fails(TYPE, body, text);
}

static void
pairs_are_decoded(void **state)
{
    (void)state;
    holds(NULL, "", "");
    holds(NULL, "&&", "");
    holds(NULL, "a=b", "a|-|b\n");
    holds(NULL, "a=b&c=d", "a|-|b\nc|-|d\n");
    holds(NULL, "&a=b&&c=d&", "a|-|b\nc|-|d\n");
    holds(NULL, "a", "a|-|\n");
    holds(NULL, "a=", "a|-|\n");
    holds(NULL, "=a", "|-|a\n");
    holds(NULL, "a==b=c", "a|-|=b=c\n");
    holds(NULL, "a=1+%2B+1%26%3d%c3%A9", "a|-|1 + 1&=\xc3\xa9\n");
    holds(NULL, "%61+b=%0d%0A", "a b|-|\r\n\n");
    holds(NULL, "a=%25%32%35", "a|-|%25\n");
    holds(NULL, "a=;b=c", "a|-|;b=c\n");
}

static void
a_lone_percent_sign_is_told(void **state)
{
    static const char *const bodies[] = {
        "code=5%", "code=5%2", "code=5%&b=1", "code=5%2&b=1", "code=5%2g",
        "code=5%g2", "code=5%%20", "co%dg=5", "code=5%-1",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++)
        fails(NULL, bodies[i], "\"%\" at byte ");
    fails(NULL, "a=b&c=5%2)", "at byte 7");
}

static void
parts_are_found(void **state)
{
    (void)state;
    holds(TYPE, "--xyz--", "");
    holds(TYPE, "--xyz--\r\n", "");
    holds(TYPE, "--xyz\r\n" FIELD "\"a\"\r\n\r\n1" END, "a|-|1\n");
    holds(TYPE, "--xyz\r\n" FIELD "\"a\"\r\n\r\n" END, "a|-|\n");
    holds(TYPE, "--xyz\r\n" FIELD "\"a\"\r\n\r\n1\r\n--xyz\r\n"
          FIELD "b\r\n\r\n2" END, "a|-|1\nb|-|2\n");
    /* Without an end of line, a preamble, an epilogue, padding. */
    holds(TYPE, "--xyz\r\n" FIELD "\"a\"\r\n\r\n1\r\n--xyz--", "a|-|1\n");
    holds(TYPE, "hello\r\n--xyz\r\n" FIELD "a\r\n\r\n1\r\n--xyz--\r\n--xyz\r\n",
          "a|-|1\n");
    holds(TYPE, "\r\n--xyz \t\r\n" FIELD "a\r\n\r\n1\r\n--xyz-- \t\r\nbye",
          "a|-|1\n");
    /* What stands in a part like a delimiter, and is none. */
    holds(TYPE, "--xyz\r\n" FIELD "a\r\n\r\n--xyza\r\n--xy\n--xyz--\n"
          "\r\n--xyz-\r\n--xyz--a\r\n--xyz \n\r\n\r\n" END,
          "a|-|--xyza\r\n--xy\n--xyz--\n\r\n--xyz-\r\n--xyz--a\r\n"
          "--xyz \n\r\n\r\n\n");
}

static void
bytes_arrive_as_they_are(void **state)
{
    static const char types[][64] = {
        "application/octet-stream", "text/plain; charset=latin1",
        "message/rfc822", "multipart/related; boundary=xyz", "multipart/mixed",
        "no type",
    };
    char bytes[256 + 6];

    (void)state;
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    memcpy(bytes + 256, "\r\n\r\n\n\r", 6);
    for (size_t i = 0; i < COUNT(types); i++) {
        char body[1024];
        char *end = body + sprintf(body, "--xyz\r\n" FIELD "f; filename=f\r\n"
                                   "Content-Type: %s\r\n\r\n", types[i]);
        struct form form;

        end = mempcpy(end, bytes, sizeof(bytes));
        end = mempcpy(end, END, strlen(END));
        assert_int_equal(form_open_multipart(
            &form, TYPE, (struct span){body, (size_t)(end - body)}), 0);
        assert_int_equal(form_next(&form), 1);
        assert_int_equal(form.part.size, sizeof(bytes));
        assert_memory_equal(form.part.data, bytes, sizeof(bytes));
        free(form.part.data);
        form.part.data = NULL;  /* taken */
        assert_int_equal(form_next(&form), 0);
        form_close(&form);
    }
}

static void
names_are_read(void **state)
{
    (void)state;
    part_holds(FIELD "\"a\"", "a|-|x\n");
    part_holds("content-DISPOSITION : form-data ; NAME = a", "a|-|x\n");
    part_holds("Content-Disposition:\r\n form-data;\r\n\tname=\"a b\"",
               "a b|-|x\n");
    part_holds("X: y\r\n" FIELD "a\r\nZ: z", "a|-|x\n");
    part_holds(FIELD "f; filename=\"\"", "f||x\n");
    part_holds(FIELD "f; filename=\"a b.csv\"", "f|a b.csv|x\n");
    part_holds("Content-Disposition: form-data; filename=a", "|a|x\n");
    part_holds(FIELD "f; filename=\"\xc3\xa9;.csv\"", "f|\xc3\xa9;.csv|x\n");
    part_holds(FIELD "f; filename=\"d/a.csv\"", "f|d/a.csv|x\n");
    /* Browsers' way, others' way, RFC 2231's way. */
    part_holds(FIELD "f; filename=\"a%22b\"", "f|a\"b|x\n");
    part_holds(FIELD "f; filename=\"%0D%0a%41%2\"", "f|\r\n%41%2|x\n");
    part_holds(FIELD "f; filename=\"a\\\"b\"", "f|a\"b|x\n");
    part_holds(FIELD "f; filename=\"a\\\\b\"", "f|a\\b|x\n");
    part_holds(FIELD "f; filename*=utf-8''%c3%a9%22", "f|\xc3\xa9\"|x\n");
    part_holds(FIELD "f; filename*=utf-8''%2522", "f|%22|x\n");
    part_holds(FIELD "f; filename*=iso-8859-1''%e9", "f|\xc3\xa9|x\n");
    part_holds(FIELD "f; filename=\"e\"; filename*=utf-8''%c3%a9",
               "f|\xc3\xa9|x\n");
    part_holds(FIELD "f; filename*=utf-8''%c3%a9; filename=e",
               "f|\xc3\xa9|x\n");
}

static void
bad_headers_are_told(void **state)
{
    (void)state;
    part_fails("X: y", "Part 1 of the form has no Content-Disposition.");
    part_fails("nothing", "The headers of part 1 of the form cannot be read.");
    part_fails("Content-Disposition: form-data", "Part 1 of the form has no "
               "name.");
    part_fails(FIELD "f; filename=\"C:\\fakepath\\a.csv\"", "backslashes");
    part_fails(FIELD "f; filename=\"\xe9\"", "UTF-8");
    part_fails(FIELD "a\r\nContent-Type: multipart/mixed; boundary=b",
               "is itself multipart");
    part_fails(FIELD "a\r\nContent-Transfer-Encoding: x-uuencode", "base64");
    part_fails(FIELD "a\r\nContent-Transfer-Encoding: y", "base64");
    part_fails(FIELD "a\r\nContent-Type: text/plain; charset=utf-16", "UTF-8");
    fails(TYPE, "--xyz\r\n" FIELD "a\r\n1" END, "Part 1 of the form has no "
          "empty line");
    fails(TYPE, "--xyz\r\n" FIELD "a\r\n\r\n1\r\n--xyz\r\n" END, "Part 2");
    fails(TYPE, "--xyz\r\n\r\n\r\n1" END, "no Content-Disposition");
}

static void
encodings_are_undone(void **state)
{
    static const char part[] = "--xyz\r\n" FIELD "a%s\r\n\r\n%s" END;
    static const struct {
        const char *headers;
        const char *data;
        const char *text;
    } table[] = {
        {"\r\nContent-Transfer-Encoding: base64", "cHJpbnQo\r\nMSk=\r\n",
         "a|-|print(1)\n"},
        {"\r\nContent-Transfer-Encoding: Quoted-Printable", "x=3D1=\r\n+2",
         "a|-|x=1+2\n"},
        {"\r\nContent-Transfer-Encoding: 8bit", "\xc3\xa9", "a|-|\xc3\xa9\n"},
        {"\r\nContent-Transfer-Encoding: binary", "=3D", "a|-|=3D\n"},
        {"; filename=b\r\nContent-Transfer-Encoding: base64", "QUI=",
         "a|b|AB\n"},
        {"\r\nContent-Type: text/plain; charset=UTF-8", "\xc3\xa9",
         "a|-|\xc3\xa9\n"},
        {"\r\nContent-Type: text/plain; charset=US-ASCII", "e", "a|-|e\n"},
        {"\r\nContent-Type: text/plain; charset=\"ISO-8859-1\"", "1\xe9\xff",
         "a|-|1\xc3\xa9\xc3\xbf\n"},
        {"; filename=b\r\nContent-Type: text/csv; charset=ISO-8859-1", "\xe9",
         "a|b|\xe9\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char body[512];

        snprintf(body, sizeof(body), part, table[i].headers, table[i].data);
        holds(TYPE, body, table[i].text);
    }
}

static void
a_broken_form_is_told(void **state)
{
    static const char whole[] = "--xyz\r\n" FIELD "a\r\n\r\n1\r\n--xyz--";

    (void)state;
    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        struct told told;

        tell(&told, TYPE, whole, len);
        assert_true(told.why[0] != '\0');
        assert_string_equal(told.text, "");
    }
    fails(TYPE, "", "The body has no line");
    fails(TYPE, "--xyz\n" FIELD "a\n\n1\n--xyz--\n", "each must end in CRLF");
    fails(TYPE, "--other\r\n" FIELD "a\r\n\r\n1\r\n--other--\r\n",
          "The body has no line");
    fails(TYPE, "--xyz\r\n" FIELD "a\r\n\r\n1\r\n", "Part 1 of the form has no "
          "end");
}

static void
the_boundary_is_checked(void **state)
{
    char type[200] = "multipart/form-data; boundary=";
    char body[200] = "--";

    (void)state;
    fails("multipart/form-data", "--xyz--", "1 to 70 bytes");
    fails("multipart/form-data; boundary=", "--xyz--", "1 to 70 bytes");
    fails("multipart/form-data; boundary=\"\"", "----", "1 to 70 bytes");
    fails("multipart/form-data; bound=xyz", "--xyz--", "1 to 70 bytes");
    holds("multipart/form-data; boundary=\"xyz\"", "--xyz--", "");
    holds("multipart/form-data; boundary=\"a b\"; x=y", "--a b--", "");
    holds("Multipart/Form-Data;charset=utf-8;BOUNDARY=x-y_z", "--x-y_z--", "");
    holds("multipart/form-data; boundary=--", "------", "");

    memset(type + strlen(type), 'b', 70);
    memset(body + 2, 'b', 70);
    strcat(body, "--");
    holds(type, body, "");
    strcat(type, "b");
    fails(type, body, "1 to 70 bytes");
}

/* Text, count copies of a piece, text; to be freed. */
static char *
filled(const char *before, size_t count, const char *piece, const char *after)
{
    char *text = malloc(strlen(before) + count * strlen(piece) +
                        strlen(after) + 1);
    char *end = text;

    assert_non_null(text);
    end = stpcpy(end, before);
    while (count-- > 0)
        end = stpcpy(end, piece);
    strcpy(end, after);
    return text;
}

static void
headers_are_bounded(void **state)
{
    static const char before[] = "--xyz\r\n" FIELD "a\r\nX:";
    size_t room = 4096 - (sizeof(before) - 1 - 7) - 4;
    char *body = filled(before, room, "x", "\r\n\r\n1" END);

    (void)state;
    holds(TYPE, body, "a|-|1\n");
    free(body);
    body = filled(before, room + 1, "x", "\r\n\r\n1" END);
    fails(TYPE, body, "first 4096 bytes");
    free(body);
    body = filled("multipart/form-data; x=", 4096, "x", "; boundary=xyz");
    fails(body, "--xyz--", "more than 4096 bytes");
    free(body);
}

/* Each ends within a test's patience only when it is not quadratic. */
static void
hostile_bodies_take_no_time(void **state)
{
    enum { SIZE = 16 << 20 };
    static const char part[] = "--xyz\r\n" FIELD "a\r\n\r\n";
    static const struct {
        const char *before;
        const char *piece;
        const char *after;
        const char *why;
    } table[] = {
        {part, "\r\n--xyz.", END, ""},
        {part, "\r\n--xy", END, ""},
        {part, "\r\n--xyz--.", "", "has no end"},
        {part, "\r\n", END, ""},
        {part, "-", END, ""},
        {"--xyz", " ", "\r\n", "has no end"},
        {"\r\n--xyz", "\t", "", "has no line"},
        {"--xyz\r\n" FIELD, "a", "\r\n\r\n" END, "4096"},
        {"--xyz\r\n", "A:\r\n", "\r\n" END, "4096"},
        {"--xyz\r\nContent-Disposition: form-data", ";a=b", END, "4096"},
        {"--xyz\r\n", "Content-Type: a/b\r\n", "\r\n" END, "4096"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char *body = filled(table[i].before, SIZE / strlen(table[i].piece),
                            table[i].piece, table[i].after);
        struct told told;

        tell(&told, TYPE, body, strlen(body));
        assert_non_null(strstr(told.why, table[i].why));
        assert_true((told.why[0] == '\0') == (table[i].why[0] == '\0'));
        free(body);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_decoded),
        cmocka_unit_test(a_lone_percent_sign_is_told),
        cmocka_unit_test(parts_are_found),
        cmocka_unit_test(bytes_arrive_as_they_are),
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(bad_headers_are_told),
        cmocka_unit_test(encodings_are_undone),
        cmocka_unit_test(a_broken_form_is_told),
        cmocka_unit_test(the_boundary_is_checked),
        cmocka_unit_test(headers_are_bounded),
        cmocka_unit_test(hostile_bodies_take_no_time),
    };

    return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}

#include "capture.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { ROOM = 4096 };

/* Divisible by four or not; 16 has a tail of one character of the longest. */
static const size_t maxes[] = {16, 17, 18, 19, 20, 61, 64, 1000, 1023};

static unsigned int seed;

/* The same numbers in every run. */
static size_t
below(size_t bound)
{
    return (size_t)rand_r(&seed) % bound;
}

/*** What is to come out ***/

static bool
is_within_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static void
print_line(struct text *text, uint64_t dropped)
{
    text_print(text, "\n[... %" PRIu64 " bytes left out ...]\n", dropped);
}

/* What capture_print() does, from a whole copy of valid UTF-8. */
static uint64_t
model_print(const char *data, size_t len, size_t max, struct text *text)
{
    size_t head = max - max / 4;
    size_t tail = len - max / 4;

    if (len <= max) {
        text_add(text, data, len);
        return 0;
    }
    while (is_within_character(data[head]))
        head--;
    while (tail < len && is_within_character(data[tail]))
        tail++;
    text_add(text, data, head);
    print_line(text, tail - head);
    text_add(text, data + tail, len - tail);
    return tail - head;
}

/*** What comes out ***/

/* Feed data in chunks of at most max_chunk bytes, random ones. */
static void
feed(struct capture *capture, const char *data, size_t len, size_t max_chunk)
{
    while (len > 0) {
        size_t step = 1 + below(max_chunk);

        step = step < len ? step : len;
        capture_add(capture, data, step);
        data += step;
        len -= step;
    }
}

static uint64_t
print(const char *data, size_t len, size_t max, size_t max_chunk,
      struct text *text)
{
    struct capture capture;
    uint64_t dropped;

    capture_init(&capture, max);
    feed(&capture, data, len, max_chunk);
    assert_int_equal(capture.total, len);
    dropped = capture_print(&capture, text);
    capture_clear(&capture);
    assert_null(capture.kept.data);
    return dropped;
}

/* data is valid UTF-8. */
static void
assert_as_model(const char *data, size_t len, size_t max, size_t max_chunk)
{
    struct text expected = {0};
    struct text text = {0};

    assert_int_equal(print(data, len, max, max_chunk, &text),
                     model_print(data, len, max, &expected));
    assert_int_equal(text.len, expected.len);
    assert_memory_equal(text.data, expected.data, text.len);
    text_clear(&text);
    text_clear(&expected);
}

static void
fill_letters(char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        data[i] = (char)('a' + i % 26);
}

/* Whole characters of one to four bytes each. */
static void
fill_utf8(char *data, size_t len)
{
    static const char *const characters[] = {
        "a", "\n", "\xc3\xa9", "\xdf\xbf", "\xe2\x82\xac", "\xef\xbf\xbd",
        "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf",
    };

    while (len > 0) {
        const char *character = characters[below(COUNT(characters))];
        size_t size = strlen(character);

        if (size > len)
            continue;
        memcpy(data, character, size);
        data += size;
        len -= size;
    }
}

/*** Tests ***/

static void
each_total_around_max_is_as_the_model_says(void **state)
{
    static char data[2 * ROOM];

    (void)state;
    fill_letters(data, sizeof(data));
    for (size_t i = 0; i < COUNT(maxes); i++) {
        size_t max = maxes[i];
        const size_t totals[] = {
            0, 1, max - max / 4, max - 1, max, max + 1, max + max / 4,
            2 * max - 1, 2 * max, 2 * max + 1, 5 * max,
        };

        for (size_t j = 0; j < COUNT(totals); j++) {
            assert_as_model(data, totals[j], max, totals[j] + 1);
            assert_as_model(data, totals[j], max, 1);
        }
    }
}

static void
up_to_max_nothing_is_left_out(void **state)
{
    struct text text = {0};

    (void)state;
    assert_int_equal(print("0123456789abcdef", 16, 16, 16, &text), 0);
    assert_string_equal(text.data, "0123456789abcdef");
    text_clear(&text);
    assert_int_equal(print("", 0, 16, 1, &text), 0);
    assert_int_equal(text.len, 0);
    text_clear(&text);
}

static void
head_and_tail_stand_around_the_line(void **state)
{
    struct text text = {0};

    (void)state;
    assert_int_equal(print("0123456789abcdefghij", 20, 16, 3, &text), 4);
    assert_string_equal(text.data, "0123456789ab"
                        "\n[... 4 bytes left out ...]\nghij");
    text_clear(&text);
}

static void
printing_appends_and_changes_nothing(void **state)
{
    struct capture capture;
    struct text text = {0};
    size_t len;

    (void)state;
    capture_init(&capture, 16);
    capture_add(&capture, "0123456789abcdefghij", 20);
    text_print(&text, "before");
    assert_int_equal(capture_print(&capture, &text), 4);
    len = text.len - 6;
    assert_int_equal(capture_print(&capture, &text), 4);
    assert_int_equal(text.len, 6 + 2 * len);
    assert_memory_equal(text.data, "before0123", 10);
    assert_memory_equal(text.data + 6, text.data + 6 + len, len);
    text_clear(&text);
    capture_clear(&capture);
}

static void
adding_goes_on_after_printing(void **state)
{
    struct capture capture;
    struct text text = {0};

    (void)state;
    capture_init(&capture, 16);
    capture_add(&capture, "0123456789abcdefghij", 20);
    capture_print(&capture, &text);
    text_clear(&text);
    capture_add(&capture, "klm", 3);
    assert_int_equal(capture_print(&capture, &text), 7);
    assert_string_equal(text.data, "0123456789ab"
                        "\n[... 7 bytes left out ...]\njklm");
    text_clear(&text);
    capture_clear(&capture);
}

static void
adding_nothing_adds_nothing(void **state)
{
    struct capture capture;
    struct text text = {0};

    (void)state;
    capture_init(&capture, 16);
    capture_add(&capture, "", 0);
    capture_add(&capture, NULL, 0);
    assert_int_equal(capture.total, 0);
    assert_int_equal(capture_print(&capture, &text), 0);
    assert_int_equal(text.len, 0);
    text_clear(&text);
    capture_clear(&capture);
}

/*
 * Characters of one size, moved by one byte at a time over both cuts, which
 * meet each of their bytes so.
 */
static void
no_character_is_cut(void **state)
{
    static const char *const characters[] = {
        "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
    };
    char data[128];

    (void)state;
    for (size_t i = 0; i < COUNT(characters); i++) {
        size_t size = strlen(characters[i]);

        for (size_t shift = 0; shift < 12; shift++) {
            size_t len = shift;

            memset(data, '.', shift);
            for (; len + size <= sizeof(data); len += size)
                memcpy(data + len, characters[i], size);
            for (size_t max = 16; max < 24; max++)
                for (size_t less = 0; less < 4; less++)
                    assert_as_model(data, len - less * size, max, 7);
        }
    }
}

static void
a_character_over_both_cuts_is_left_out_whole(void **state)
{
    struct text text = {0};

    (void)state;
    /* 17 bytes at most 16: the byte left out is the second of three. */
    assert_int_equal(print("0123456789a\xe2\x82\xac""def", 17, 16, 5, &text),
                     3);
    assert_string_equal(text.data, "0123456789a"
                        "\n[... 3 bytes left out ...]\ndef");
    text_clear(&text);
}

static void
random_text_is_as_the_model_says(void **state)
{
    (void)state;
    seed = 1;
    for (int i = 0; i < 20000; i++) {
        size_t max = 16 + below(100);
        size_t len = below(4 * max);
        char *data = malloc(len + 1);

        assert_non_null(data);
        fill_utf8(data, len);
        assert_as_model(data, len, max, 1 + below(2 * max));
        free(data);
    }
}

/*
 * Where the text is neither head nor tail of the data there is the line, and
 * no more than three bytes beside it are missing on either side.
 */
static void
assert_accounted(const char *data, size_t len, size_t max,
                 const struct text *text, uint64_t dropped)
{
    size_t most = max - max / 4;
    size_t head = most - (most < 3 ? most : 3);
    size_t tail;
    struct text line = {0};

    print_line(&line, dropped);
    assert_true(text->len >= line.len);
    assert_int_equal(text->len - line.len + dropped, len);
    while (head < most && memcmp(text->data + head, line.data, line.len) != 0)
        head++;
    assert_memory_equal(text->data + head, line.data, line.len);
    assert_memory_equal(text->data, data, head);
    tail = text->len - head - line.len;
    assert_true(tail <= max / 4 && tail + 3 >= max / 4);
    assert_memory_equal(text->data + text->len - tail, data + len - tail,
                        tail);
    text_clear(&line);
}

/* Bytes that are mostly no UTF-8, many of them parts of characters. */
static void
fill_rubbish(char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        data[i] = (char)(below(2) == 0 ? 0x80 + below(128) : below(256));
}

static void
rubbish_is_accounted_for(void **state)
{
    (void)state;
    seed = 2;
    for (int i = 0; i < 20000; i++) {
        size_t max = 16 + below(50);
        size_t len = max + 1 + below(3 * max);
        char *data = malloc(len);
        struct text text = {0};
        uint64_t dropped;

        assert_non_null(data);
        fill_rubbish(data, len);
        dropped = print(data, len, max, 1 + below(max), &text);
        assert_accounted(data, len, max, &text, dropped);
        text_clear(&text);
        free(data);
    }
}

static void
nuls_are_bytes_as_any(void **state)
{
    static const char data[40] = "a";
    struct text text = {0};

    (void)state;
    assert_int_equal(print(data, 40, 16, 9, &text), 24);
    assert_accounted(data, 40, 16, &text, 24);
    text_clear(&text);
}

static void
a_long_output_is_counted(void **state)
{
    static char data[1 << 16];
    struct capture capture;
    struct text text = {0};

    (void)state;
    fill_letters(data, sizeof(data));
    capture_init(&capture, 1000);
    for (int i = 0; i < 70000; i++)
        capture_add(&capture, data, sizeof(data));
    assert_true(capture.total == (uint64_t)70000 << 16);
    assert_true(capture_print(&capture, &text) == capture.total - 1000);
    assert_non_null(strstr(text.data, "\n[... 4587519000 bytes left out"));
    assert_memory_equal(text.data + text.len - 250,
                        data + sizeof(data) - 250, 250);
    text_clear(&text);
    capture_clear(&capture);
}

/* A tail shorter than a character is all of it or nothing. */
static void
a_tiny_max_is_kept_to(void **state)
{
    (void)state;
    seed = 3;
    for (int i = 0; i < 20000; i++) {
        size_t max = 4 + below(12);
        size_t len = below(4 * max);
        char *data = malloc(len + 1);

        assert_non_null(data);
        fill_utf8(data, len);
        assert_as_model(data, len, max, 1 + below(max));
        free(data);
    }
}

/*** Told while more is to come ***/

/* Append a string's inside as json_quote() has it. */
static void
quote_inside(const char *data, size_t len, struct text *text)
{
    struct text quoted = {0};

    json_quote(len > 0 ? data : "", len, text_add, &quoted);
    text_add(text, quoted.data + 1, quoted.len - 2);
    text_clear(&quoted);
}

/*
 * Tell what is whole after each piece that comes, and in the end the rest of
 * what is printed: it is the same as all at once.
 */
static void
assert_told_as_printed(const char *data, size_t len, size_t max)
{
    struct text told = {0}, all = {0}, kept = {0};
    struct capture capture;
    size_t at = 0;

    capture_init(&capture, max);
    for (size_t step; len > 0; data += step, len -= step) {
        size_t most = 8 + below(16), whole;

        step = 1 + below(len < 7 ? len : 7);
        capture_add(&capture, data, step);
        whole = capture_whole(&capture, at, most);
        assert_true(whole <= most);
        quote_inside(capture.kept.data + at, whole, &told);
        at += whole;
    }
    capture_print(&capture, &kept);
    assert_true(at <= kept.len);
    quote_inside(kept.data + at, kept.len - at, &told);
    quote_inside(kept.data, kept.len, &all);
    assert_int_equal(told.len, all.len);
    assert_memory_equal(told.data, all.data, all.len);
    capture_clear(&capture);
    text_clear(&told);
    text_clear(&all);
    text_clear(&kept);
}

static void
what_is_told_early_is_what_is_printed(void **state)
{
    static const unsigned char bytes[] = {
        'a', 0, 0x80, 0xbf, 0xc3, 0xa9, 0xe2, 0x82, 0xf0, 0x9f, 0xff,
    };
    char data[ROOM];

    (void)state;
    seed = 11;
    for (size_t i = 0; i < COUNT(maxes); i++) {
        for (int round = 0; round < 200; round++) {
            size_t len = 1 + below(3 * maxes[i]);

            fill_utf8(data, len);
            assert_told_as_printed(data, len, maxes[i]);
            for (size_t byte = 0; byte < len; byte++)
                data[byte] = (char)bytes[below(sizeof(bytes))];
            assert_told_as_printed(data, len, maxes[i]);
        }
    }
}

static void
all_of_the_head_can_be_told_at_once(void **state)
{
    struct capture capture;

    (void)state;
    capture_init(&capture, 16);
    assert_int_equal(capture_whole(&capture, 0, 100), 0);
    capture_add(&capture, "abc\xc3", 4);
    assert_int_equal(capture_whole(&capture, 0, 100), 3);
    assert_int_equal(capture_whole(&capture, 3, 100), 0);
    capture_add(&capture, "\xa9wxyz", 5);
    assert_int_equal(capture_whole(&capture, 3, 100), 6);
    capture_add(&capture, "12345678", 8);  /* 12 of them are the head */
    assert_int_equal(capture_whole(&capture, 9, 100), 3);
    assert_int_equal(capture_whole(&capture, 12, 100), 0);
    capture_clear(&capture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_total_around_max_is_as_the_model_says),
        cmocka_unit_test(up_to_max_nothing_is_left_out),
        cmocka_unit_test(head_and_tail_stand_around_the_line),
        cmocka_unit_test(printing_appends_and_changes_nothing),
        cmocka_unit_test(adding_goes_on_after_printing),
        cmocka_unit_test(adding_nothing_adds_nothing),
        cmocka_unit_test(no_character_is_cut),
        cmocka_unit_test(a_character_over_both_cuts_is_left_out_whole),
        cmocka_unit_test(random_text_is_as_the_model_says),
        cmocka_unit_test(rubbish_is_accounted_for),
        cmocka_unit_test(nuls_are_bytes_as_any),
        cmocka_unit_test(a_long_output_is_counted),
        cmocka_unit_test(a_tiny_max_is_kept_to),
        cmocka_unit_test(what_is_told_early_is_what_is_printed),
        cmocka_unit_test(all_of_the_head_can_be_told_at_once),
    };

    return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}

/*
 * Files that may hold the server's key, and files that may not.
 */
#include "market_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static char directory[] = "/tmp/test_market_key.XXXXXX";
static char why[300];

static int
setup(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL ? -1 : chdir(directory);
}

static int
teardown(void **state)
{
    (void)state;
    unlink("key");
    unlink("fifo");
    unlink("link");
    return rmdir(directory);
}

static void
write_key(const char *text, size_t len, mode_t mode)
{
    FILE *file;

    unlink("key");
    file = fopen("key", "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    fclose(file);
    assert_int_equal(chmod("key", mode), 0);
}

static void
assert_refused(const char *path, const char *words)
{
    char *key;

    assert_int_equal(market_key_check(path, why, sizeof(why)), -1);
    assert_non_null(strstr(why, words));
    assert_non_null(strstr(why, path));
    why[0] = '\0';
    assert_int_equal(market_key_read(path, &key, why, sizeof(why)), -1);
    assert_null(key);
    assert_non_null(strstr(why, words));
}

static void
a_key_stands_alone_in_its_file(void **state)
{
    static const struct {
        const char *text;
        const char *key;
    } cases[] = {
        {"abc", "abc"}, {"abc\n", "abc"}, {" \t abc \r\n\n", "abc"},
        {"~!/%\\\"", "~!/%\\\""}, {"", NULL}, {"\n", NULL}, {"a b", NULL},
        {"a\nb", NULL}, {"\xc3\xa9", NULL}, {"a\x7f", NULL}, {"a\x01", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *key;
        int rc;

        write_key(cases[i].text, strlen(cases[i].text), 0600);
        assert_int_equal(market_key_check("key", why, sizeof(why)), 0);
        rc = market_key_read("key", &key, why, sizeof(why));
        assert_int_equal(rc, cases[i].key != NULL ? 0 : -1);
        if (cases[i].key != NULL)
            assert_string_equal(key, cases[i].key);
        else
            assert_non_null(strstr(why, "does not hold one key"));
        market_key_free(key);
    }
}

static void
a_key_has_a_greatest_length(void **state)
{
    char text[400];
    char *key;

    (void)state;
    memset(text, 'k', sizeof(text));
    write_key(text, 256, 0600);
    assert_int_equal(market_key_read("key", &key, why, sizeof(why)), 0);
    assert_int_equal(strlen(key), 256);
    market_key_free(key);
    for (size_t len = 257; len <= 400; len++) {
        write_key(text, len, 0600);
        assert_int_equal(market_key_read("key", &key, why, sizeof(why)), -1);
    }
    write_key("a\0b", 3, 0600);
    assert_int_equal(market_key_read("key", &key, why, sizeof(why)), -1);
}

static void
others_may_not_read_it(void **state)
{
    static const mode_t good[] = {0400, 0600, 0700};
    static const mode_t bad[] = {0440, 0404, 0640, 0604, 0644, 0666};
    char *key;

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        write_key("abc", 3, good[i]);
        assert_int_equal(market_key_read("key", &key, why, sizeof(why)), 0);
        market_key_free(key);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        write_key("abc", 3, bad[i]);
        assert_refused("key", "can be read by others");
    }
}

static void
it_is_a_regular_file(void **state)
{
    char *key;

    (void)state;
    write_key("abc", 3, 0600);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(symlink("key", "link"), 0);
    assert_refused("fifo", "not a regular file");
    assert_refused(".", "not a regular file");
    assert_refused("/dev/null", "not a regular file");
    assert_refused("nothing", "No such file");
    assert_int_equal(market_key_read("link", &key, why, sizeof(why)), 0);
    assert_string_equal(key, "abc");
    market_key_free(key);
}

static void
no_file_is_no_key(void **state)
{
    char *key = why;

    (void)state;
    assert_int_equal(market_key_check("", why, sizeof(why)), 0);
    assert_int_equal(market_key_read("", &key, why, sizeof(why)), 0);
    assert_null(key);
    market_key_free(key);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_stands_alone_in_its_file),
        cmocka_unit_test(a_key_has_a_greatest_length),
        cmocka_unit_test(others_may_not_read_it),
        cmocka_unit_test(it_is_a_regular_file),
        cmocka_unit_test(no_file_is_no_key),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

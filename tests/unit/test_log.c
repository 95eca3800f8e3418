#include "log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

enum { MOST = 4096 };

static char path[] = "/tmp/test_log.XXXXXX";

/* What was written since the last call; it is one line. */
static const char *
last_line(void)
{
    static char line[2 * MOST];
    static long seen;
    FILE *file = fopen(path, "r");
    size_t len;

    assert_non_null(file);
    fseek(file, seen, SEEK_SET);
    len = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    seen += (long)len;
    line[len] = '\0';
    assert_true(len > 0 && len <= MOST);
    assert_ptr_equal(strchr(line, '\n'), line + len - 1);
    for (size_t i = 0; i < len - 1; i++)
        assert_true(line[i] >= 0x20 && line[i] < 0x7f);
    return line;
}

static void
expect_end(const char *end)
{
    const char *line = last_line();
    size_t len = strlen(line), end_len = strlen(end);

    if (len < end_len || strcmp(line + len - end_len, end) != 0)
        fail_msg("%s does not end in %s", line, end);
}

static const cJSON *
member(const cJSON *object, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);

    if (found == NULL)
        fail_msg("no %s", name);
    return found;
}

static cJSON *
last_object(void)
{
    const char *end;
    cJSON *object = cJSON_ParseWithOpts(last_line(), &end, 0);

    assert_true(cJSON_IsObject(object));
    assert_string_equal(end, "\n");
    return object;
}

static void
text_is_escaped(void **state)
{
    (void)state;
    log_info("a\"\\\n\x1b\xc3\xff");
    expect_end("]: a\"\\\\x0a\\x1b\\xc3\\xff\n");
    errno = ENOENT;
    log_error("no: %m");
    assert_int_equal(errno, ENOENT);
    expect_end("]: error: no: No such file or directory\n");
    log_warn("w");
    expect_end("]: warning: w\n");
    log_event("run", "4f", "kind=%s n=%d", "ok", 7);
    expect_end("]: run 4f: kind=ok n=7\n");
}

static void
json_is_escaped(void **state)
{
    cJSON *object;

    (void)state;
    log_as_json(true);
    log_warn("a\"\\\n\x1b\xc3\xff");
    object = last_object();
    assert_string_equal(member(object, "message")->valuestring,
                        "a\"\\\\x0a\\x1b\\xc3\\xff");
    assert_string_equal(member(object, "level")->valuestring, "warning");
    assert_int_equal(member(object, "pid")->valueint, getpid());
    cJSON_Delete(object);
}

static void
members_have_the_type_that_they_look_like(void **state)
{
    cJSON *object;

    (void)state;
    log_event("run", "12", "whole=7 part=-0.125 yes=true no=false word=%s "
              "mixed=7a none= odd=%s last=true", "ok", "\"\\\xff");
    object = last_object();
    assert_string_equal(member(object, "id")->valuestring, "12");
    assert_int_equal(member(object, "whole")->valueint, 7);
    assert_true(member(object, "part")->valuedouble == -0.125);
    assert_true(cJSON_IsTrue(member(object, "yes")));
    assert_true(cJSON_IsFalse(member(object, "no")));
    assert_true(cJSON_IsTrue(member(object, "last")));
    assert_string_equal(member(object, "word")->valuestring, "ok");
    assert_string_equal(member(object, "mixed")->valuestring, "7a");
    assert_string_equal(member(object, "none")->valuestring, "");
    assert_string_equal(member(object, "odd")->valuestring, "\"\\\\xff");
    cJSON_Delete(object);
}

/* Whatever its length, a line is whole, and is JSON. */
static void
long_lines_are_cut(void **state)
{
    static char text[2 * MOST];

    (void)state;
    for (size_t len = MOST - 200; len < MOST + 50; len++) {
        for (int odd = 0; odd < 3; odd++) {
            memset(text, "x\"\xff"[odd], len);
            text[len] = '\0';
            log_info("%s", text);
            cJSON_Delete(last_object());
            log_event("run", "1", "a=%s b=c", text);
            cJSON_Delete(last_object());
        }
    }
    /* One member after the other. */
    text[0] = '\0';
    for (int i = 0; i < 600; i++)
        strcat(text, " name=value");
    log_event("run", "1", "%s", text);
    cJSON_Delete(last_object());
    log_event("run", "1", "no_value");
    cJSON_Delete(last_object());
}

static void
the_journal_has_a_priority(void **state)
{
    (void)state;
    setenv("JOURNAL_STREAM", "1:1", 1);
    log_info("x");
    assert_int_equal(last_line()[0], '{');
    unsetenv("JOURNAL_STREAM");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(json_is_escaped),
        cmocka_unit_test(members_have_the_type_that_they_look_like),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(the_journal_has_a_priority),
    };
    int fd = mkstemp(path), failed;

    unsetenv("JOURNAL_STREAM");
    if (fd == -1 || log_open(path) == -1)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}

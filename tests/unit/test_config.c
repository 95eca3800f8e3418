/*
 * What an administrator may write, what it comes to, and what is said about
 * the rest. Run from the top of the tree: the shipped example is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../fcgi/config.h"

#define COUNT(array) (sizeof (array) / sizeof (array)[0])
#define FILE_NAME "test.conf"
#define LOAD(text, ...) load(text, (const char *[]){ __VA_ARGS__, NULL })
#define NO_OPTIONS "--config=" FILE_NAME

static char directory[] = "/tmp/test_config.XXXXXX";
static char *example;

static struct config config;
static enum config_action action;
static char why[400];

/* ---- Helpers */

static void
write_file(const char *text, size_t length)
{
    FILE *file = fopen(FILE_NAME, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

/* Load a file of that text, then the options. */
static int
load(const char *text, const char *options[])
{
    char *argv[40] = { "sandbox-fcgi", "--config", FILE_NAME };
    int argc = 3;

    write_file(text, strlen(text));
    while (*options != NULL)
        argv[argc++] = (char *)*options++;
    config_clear(&config);
    why[0] = '\0';
    return config_load(argc, argv, &config, &action, why, sizeof why);
}

static int
load_key(const char *key, const char *value)
{
    char option[300];

    snprintf(option, sizeof option, "--%s=%s", key, value);
    return LOAD("", option);
}

/* Refused for its own sake, not because other keys do not go with it. */
static bool
is_refused(const char *key, const char *value)
{
    return load_key(key, value) != 0 && strstr(why, "\" is not ") != NULL;
}

/* What config_print() writes; the caller frees it. */
static char *
printed(void)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    config_print(&config, out);
    fclose(out);
    return text;
}

static int
setup(void **state)
{
    FILE *file = fopen("fcgi/sandbox-fcgi.conf", "r");

    (void)state;
    if (file == NULL)
        return -1;
    example = calloc(1, 1 << 16);
    if (fread(example, 1, (1 << 16) - 1, file) == 0)
        return -1;
    fclose(file);
    return mkdtemp(directory) == NULL ? -1 : chdir(directory);
}

static int
teardown(void **state)
{
    (void)state;
    free(example);
    config_clear(&config);
    unlink(FILE_NAME);
    return rmdir(directory);
}

/* ---- Values */

static void
defaults_are_as_promised(void **state)
{
    (void)state;
    assert_int_equal(LOAD("", "--workers=30", "--max-runs=8", "--ready=2"), 0);
    assert_int_equal(action, CONFIG_SERVE);
    assert_string_equal(config.file, FILE_NAME);
    assert_string_equal(config.listen, "");
    assert_int_equal(config.listen_mode, 0660);
    assert_string_equal(config.user, "www-data");
    assert_int_equal(config.queue_wait, 10 * 1000);
    assert_true(config.zygote);
    assert_string_equal(config.python_path, "");
    assert_string_equal(config.preload, "");
    assert_string_equal(config.log, "");
    assert_string_equal(config.log_format, "text");
    assert_int_equal(config.slow_after, 0);
    assert_int_equal(config.timeout, 90 * 1000);
    assert_int_equal(config.grace, 2 * 1000);
    assert_int_equal(config.memory, 1 << 30);
    assert_int_equal(config.processes, 48);
    assert_int_equal(config.work_size, 128 << 20);
    assert_int_equal(config.work_inodes, 4096);
    assert_int_equal(config.max_body, 16 << 20);
    assert_int_equal(config.max_code, 1 << 20);
    assert_int_equal(config.max_output, 1 << 20);
    assert_int_equal(config.max_figures, 50);
    assert_int_equal(config.max_figure_pixels, 40 * 1000 * 1000);
    assert_int_equal(config.max_figure_bytes, 24 << 20);
    assert_int_equal(config.max_files, 100);
    assert_int_equal(config.max_file_bytes, 32 << 20);
    assert_string_equal(config.fmp_url,
                        "https://financialmodelingprep.com/stable");
    assert_string_equal(config.fmp_key_file, "");
    assert_string_equal(config.fmp_ca, "");
    assert_int_equal(config.fmp_calls, 300);
    assert_int_equal(config.fmp_rate, 270);
    assert_int_equal(config.fmp_cache, 64 << 20);
    assert_string_equal(config.fmp_note, "");
}

static void
child_is_beside_the_program_unless_set(void **state)
{
    char path[4096] = "";

    (void)state;
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    strcpy(strrchr(path, '/') + 1, "sandbox-child");
    assert_int_equal(LOAD("", NO_OPTIONS), 0);
    assert_string_equal(config.child, path);
    assert_int_equal(LOAD("child = /x/child", NO_OPTIONS), 0);
    assert_string_equal(config.child, "/x/child");
}

static void
every_number_has_its_range(void **state)
{
    static const struct {
        const char *key, *below, *min, *max, *above;
    } ranges[] = {
        { "listen_mode", "-1", "0", "0777", "01000" },
        { "workers", "-1", "0", "65536", "65537" },
        { "max_runs", "-1", "0", "16384", "16385" },
        { "ready", "-1", "0", "16384", "16385" },
        { "queue_wait", "-1", "0", "1h", "3600001ms" },
        { "timeout", "99ms", "100ms", "1h", "3600001ms" },
        { "grace", "99ms", "100ms", "10m", "600001ms" },
        { "memory", "134217727", "128M", "1024G", "1099511627777" },
        { "processes", "0", "1", "32768", "32769" },
        { "work_size", "1048575", "1M", "64G", "68719476737" },
        { "work_inodes", "63", "64", "1000000", "1000001" },
        { "max_body", "1023", "1K", "1G", "1073741825" },
        { "max_code", "1023", "1K", "1G", "1073741825" },
        { "max_output", "1023", "1K", "1G", "1073741825" },
        { "max_figures", "-1", "0", "1000", "1001" },
        { "max_figure_pixels", "0", "1", "1000000000", "1000000001" },
        { "max_figure_bytes", "-1", "0", "1G", "1073741825" },
        { "max_files", "-1", "0", "10000", "10001" },
        { "max_file_bytes", "-1", "0", "1G", "1073741825" },
        { "fmp_calls", "-1", "0", "10000", "10001" },
        { "fmp_rate", "-1", "0", "100000", "100001" },
        { "fmp_cache", "-1", "0", "4G", "4294967297" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(ranges); i++) {
        const char *key = ranges[i].key;

        assert_true(is_refused(key, ranges[i].below));
        assert_false(is_refused(key, ranges[i].min));
        assert_false(is_refused(key, ranges[i].max));
        assert_true(is_refused(key, ranges[i].above));
        assert_non_null(strstr(why, ranges[i].min));
        assert_non_null(strstr(why, ranges[i].max));
    }
}

static void
times_are_whole_with_a_unit_or_seconds(void **state)
{
    static const struct {
        const char *text;
        int ms;
    } good[] = {
        { "90", 90000 }, { "90s", 90000 }, { "1500ms", 1500 },
        { "2m", 120000 }, { "1h", 3600000 }, { "007s", 7000 },
    };
    static const char *const bad[] = {
        "", "s", "-1", "+1", " 90", "90 ", "90 s", "5 days", "1.5s", "1e3",
        "0x10", "90S", "90sec", "1m30s", "90s;", "18446744073709551616",
        "18446744073709551615", "18446744073709551615h", "5124095576030432h",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(load_key("timeout", good[i].text), 0);
        assert_int_equal(config.timeout, good[i].ms);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_true(is_refused("timeout", bad[i]));
}

static void
sizes_are_whole_with_a_unit_or_bytes(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = {
        { "1048577", 1048577 }, { "2048K", 2 << 20 }, { "2048KiB", 2 << 20 },
        { "128M", 128 << 20 }, { "128MiB", 128 << 20 }, { "1G", 1 << 30 },
        { "1GiB", 1 << 30 },
    };
    static const char *const bad[] = {
        "", "M", "-1M", "+1M", " 1M", "1 M", "1.5M", "0x100000", "2MB", "2m",
        "2MM", "18446744073709551616", "17179869184G", "1000000000000000000K",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(load_key("max_body", good[i].text), 0);
        assert_int_equal(config.max_body, good[i].bytes);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_true(is_refused("max_body", bad[i]));
}

static void
counts_are_whole_and_decimal(void **state)
{
    static const char *const bad[] = {
        "", "-0", "+7", " 7", "7 ", "7.0", "0x7", "7K", "7s", "seven",
        "4294967303", "18446744073709551623",
    };

    (void)state;
    assert_int_equal(load_key("max_files", "010"), 0);
    assert_int_equal(config.max_files, 10);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_true(is_refused("max_files", bad[i]));
}

static void
mode_is_octal(void **state)
{
    static const char *const bad[] = { "", "8", "0668", "rw", "0o660", "-1" };

    (void)state;
    assert_int_equal(load_key("listen_mode", "600"), 0);
    assert_int_equal(config.listen_mode, 0600);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_true(is_refused("listen_mode", bad[i]));
}

static void
switch_is_one_of_eight_words(void **state)
{
    static const char *const on[] = { "on", "yes", "true", "1" };
    static const char *const off[] = { "off", "no", "false", "0" };
    static const char *const bad[] = { "", "2", "maybe", "ON", "on " };

    (void)state;
    for (size_t i = 0; i < COUNT(on); i++) {
        assert_int_equal(load_key("zygote", on[i]), 0);
        assert_true(config.zygote);
        assert_int_equal(load_key("zygote", off[i]), 0);
        assert_false(config.zygote);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_true(is_refused("zygote", bad[i]));
}

static void
strings_are_checked_by_kind(void **state)
{
    static const struct {
        const char *key, *value;
    } good[] = {
        { "listen", "unix:/run/x.sock" }, { "listen", "/run/x.sock" },
        { "listen", "127.0.0.1:9000" }, { "listen", "app-1.local:1" },
        { "listen", "[::1]:65535" }, { "listen", "[::ffff:10.0.0.1]:9000" },
        { "user", "_x-1.y" }, { "user", "1000" },
        { "log", "/var/log/with blank" }, { "log", "" },
        { "log_format", "text" }, { "log_format", "json" },
        { "child", "/usr/libexec/sandbox-child" },
        { "python_path", "/a" }, { "python_path", "/a:/b c:/d" },
        { "preload", "a" }, { "preload", "a.b,c, d e_1" },
        { "fmp_url", "https://x" }, { "fmp_url", "https://x.y:8443/a/b-1.2" },
        { "fmp_url", "https://[2001:db8::1]:1/a" },
        { "fmp_url", "http://127.0.0.1:8000/stable" },
        { "fmp_url", "http://localhost" }, { "fmp_url", "http://[::1]/a" },
        { "fmp_key_file", "/etc/key" }, { "fmp_ca", "" },
        { "fmp_note", "Demo data: \xc3\xa9, \"not\" real." },
    }, bad[] = {
        { "listen", "unix:" }, { "listen", "unix:run/x" },
        { "listen", "unix:host:80" }, { "listen", ":9000" },
        { "listen", "9000" }, { "listen", "host" }, { "listen", "host:" },
        { "listen", "host:0" }, { "listen", "host:65536" },
        { "listen", "host:-1" }, { "listen", "host:80x" },
        { "listen", "::1:80" }, { "listen", "[::1]" }, { "listen", "[]:80" },
        { "listen", "[:80" }, { "listen", "[::g]:80" }, { "listen", "/a;b" },
        { "listen", "ho st:80" },
        { "user", "" }, { "user", "-x" }, { "user", "a b" }, { "user", "a:b" },
        { "log", "x.log" }, { "log", "\"/x\"" }, { "log", "/x ;y" },
        { "log", "/x " }, { "log", " /x" }, { "log", "/x\ny" },
        { "log_format", "" }, { "log_format", "JSON" },
        { "log_format", "xml" }, { "log_format", "json," },
        { "slow_after", "-1" }, { "slow_after", "2h" },
        { "python_path", "a" }, { "python_path", "/a:" },
        { "python_path", ":/a" }, { "python_path", "/a::/b" },
        { "python_path", "/a:b" },
        { "preload", "1a" }, { "preload", "a;b" }, { "preload", "a/b" },
        { "preload", ".a" }, { "preload", ",a" }, { "preload", "a " },
        { "fmp_url", "" }, { "fmp_url", "x.y" }, { "fmp_url", "https://" },
        { "fmp_url", "https:///a" }, { "fmp_url", "http://x.y/a" },
        { "fmp_url", "http://127.0.0.1.x.y/a" }, { "fmp_url", "ftp://x.y" },
        { "fmp_url", "http://localhost@x.y/a" }, { "fmp_url", "https://x/" },
        { "fmp_url", "https://u:p@x.y/a" }, { "fmp_url", "https://x?a" },
        { "fmp_url", "https://x/a?b" }, { "fmp_url", "https://x/a#b" },
        { "fmp_url", "https://x/%2e" }, { "fmp_url", "https://x:/a" },
        { "fmp_url", "https://x:123456" }, { "fmp_url", "https://x:8a" },
        { "fmp_url", "https://[::1" }, { "fmp_url", "HTTPS://x" },
        { "fmp_key_file", "key" }, { "fmp_ca", "ca.pem" },
        { "fmp_note", "a; b" }, { "fmp_note", "a\nb" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_int_equal(load_key(good[i].key, good[i].value), 0);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_true(is_refused(bad[i].key, bad[i].value));
}

static void
unix_path_must_fit_a_socket_address(void **state)
{
    char path[109] = "/";

    (void)state;
    memset(path + 1, 'x', 106);
    assert_int_equal(load_key("listen", path), 0);
    path[107] = 'x';
    assert_true(is_refused("listen", path));
}

/* ---- Sentences */

static void
file_errors_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "\n# one\ntimeout = 5 days\n",
          "test.conf:3: timeout: \"5 days\" is not a time between 100ms and 1h "
          "(such as 90, 90s or 1500ms)" },
        { "memory = 1T", "test.conf:1: memory: \"1T\" is not a size between "
          "128M and 1024G (such as 134217728, 128M or 1G)" },
        { "processes = 0", "test.conf:1: processes: \"0\" is not a whole "
          "number between 1 and 32768" },
        { "listen_mode = 9", "test.conf:1: listen_mode: \"9\" is not an octal "
          "number between 0 and 0777 (such as 0660)" },
        { "zygote = maybe", "test.conf:1: zygote: \"maybe\" is not on or off "
          "(or yes, no, true, false, 1, 0)" },
        { "user =", "test.conf:1: user: \"\" is not a user name" },
        { "log = x", "test.conf:1: log: \"x\" is not an absolute path "
          "(without ';')" },
        { "listen = x", "test.conf:1: listen: \"x\" is not a socket address "
          "(unix:/path, /path, host:port or [v6]:port)" },
        { "python_path = x", "test.conf:1: python_path: \"x\" is not a list of "
          "absolute directories (separated by ':', without ';')" },
        { "preload = a/b", "test.conf:1: preload: \"a/b\" is not a list of "
          "module names (separated by commas or spaces)" },
        { "timeot = 5", "test.conf:1: timeot: no such key; the nearest is "
          "timeout" },
        { "check = 1", "test.conf:1: check: no such key; the nearest is "
          "child" },
        { "config = x", "test.conf:1: config: no such key; the nearest is "
          "log" },
        { "[other]\ntimeout = 5", "test.conf:2: [other]: no such section; the "
          "only one is [sandbox-fcgi]" },
        { "grace = 1s\n[sandbox-fcgi]\n\ngrace = 2s",
          "test.conf:4: grace: given twice, first in line 1" },
        { "timeout 5\n", "test.conf:1: neither \"key = value\" nor a comment" },
        { "[sandbox-fcgi\n",
          "test.conf:1: neither \"key = value\" nor a comment" },
        { "log = /a\n\x01\x02\n", "test.conf:2: not text: there is a byte "
          "0x01" },
        { "ready = 3\nmax_runs = 2", "ready (3) must not be more than max_runs "
          "(2)" },
        { "workers = 2\nmax_runs = 2", "workers (2) must be more than max_runs "
          "(2), or no worker is left to take a request that has to wait" },
        { "max_code = 2M\nmax_body = 1M", "max_code (2097152) must not be more "
          "than max_body (1048576)" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(LOAD(cases[i].text, NO_OPTIONS), -1);
        assert_string_equal(why, cases[i].why);
    }
}

static void
option_errors_say_what(void **state)
{
    static const struct {
        const char *options[2], *why;
    } cases[] = {
        { { "--timeout", "x" }, "--timeout: \"x\" is not a time between 100ms "
          "and 1h (such as 90, 90s or 1500ms)" },
        { { "--max_files=x", NULL }, "--max-files: \"x\" is not a whole number "
          "between 0 and 10000" },
        { { "--log=a\nb", NULL }, "--log: \"a?b\" is not an absolute path "
          "(without ';')" },
        { { "--timeout", NULL }, "--timeout needs a value" },
        { { "-c", NULL }, "-c needs a value" },
        { { "--check=yes", NULL }, "--check takes no value" },
        { { "--max-boddy=1M", NULL }, "--max-boddy: no such option; the "
          "nearest is --max-body" },
        { { "--chekc", NULL }, "--chekc: no such option; the nearest is "
          "--check" },
        { { "--time", "5" }, "--time: no such option; the nearest is "
          "--timeout" },
        { { "-x", NULL }, "\"-x\" is no option; --help lists them" },
        { { "serve", NULL }, "\"serve\" is no option; --help lists them" },
        { { "", NULL }, "\"\" is no option; --help lists them" },
        { { "-", NULL }, "\"-\" is no option; --help lists them" },
        { { "--", NULL }, "\"--\" is no option; --help lists them" },
        { { "--=1", NULL }, "\"--=1\" is no option; --help lists them" },
        { { "--config", "absent.conf" }, "cannot read absent.conf: No such "
          "file or directory" },
        { { "--config=", NULL }, "cannot read : No such file or directory" },
        { { "-c", "." }, ".:1: cannot read: Is a directory" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(LOAD("", cases[i].options[0], cases[i].options[1]),
                         -1);
        assert_string_equal(why, cases[i].why);
    }
}

static void
long_values_are_cut_in_the_sentence(void **state)
{
    char option[5000] = "--timeout=";

    (void)state;
    memset(option + 10, '9', sizeof option - 11);
    assert_int_equal(LOAD("", option), -1);
    assert_non_null(strstr(why, "999\" is not a time"));
    memset(option + 2, 'x', sizeof option - 3);
    assert_int_equal(LOAD("", option), -1);
    assert_non_null(strstr(why, "xxx: no such option; the nearest is "));
}

static void
reason_is_cut_to_the_space_given(void **state)
{
    char *argv[] = { "sandbox-fcgi", "--timeout=x", NULL };
    char small[12];

    (void)state;
    assert_int_equal(config_load(2, argv, &config, &action, small,
                                 sizeof small), -1);
    assert_string_equal(small, "--timeout: ");
}

static void
line_has_a_greatest_length(void **state)
{
    char text[600] = "log = /";
    int longest;

    (void)state;
    memset(text + 7, 'x', sizeof text - 8);
    assert_int_equal(LOAD(text, NO_OPTIONS), -1);
    assert_int_equal(sscanf(why, FILE_NAME ":1: longer than %d bytes",
                            &longest), 1);

    text[longest + 1] = '\n';
    assert_int_equal(LOAD(text, NO_OPTIONS), -1);
    strcpy(text + longest, "\n");
    assert_int_equal(LOAD(text, NO_OPTIONS), 0);
    assert_int_equal(strlen(config.log), longest - 6);
    text[longest] = '\0';
    assert_int_equal(LOAD(text, NO_OPTIONS), 0);
}

static void
nul_in_the_file_is_refused(void **state)
{
    static const char text[] = "grace = 1s\ntimeout = 5\0s\n";
    char *argv[] = { "sandbox-fcgi", "-c", FILE_NAME, NULL };

    (void)state;
    write_file(text, sizeof text - 1);
    assert_int_equal(config_load(3, argv, &config, &action, why, sizeof why),
                     -1);
    assert_string_equal(why, "test.conf:2: not text: there is a byte 0x00");
}

static void
failure_leaves_the_configuration_alone(void **state)
{
    char *argv[] = { "sandbox-fcgi", "-c", FILE_NAME, "--stdio",
                     "--timeout=7", "--grace=x", NULL };

    (void)state;
    assert_int_equal(LOAD("timeout = 5", NO_OPTIONS), 0);
    assert_int_equal(config_load(6, argv, &config, &action, why, sizeof why),
                     -1);
    assert_int_equal(config.timeout, 5000);
    assert_int_equal(action, CONFIG_SERVE);
}

/* ---- The file */

static void
file_may_be_written_in_many_ways(void **state)
{
    (void)state;
    assert_int_equal(LOAD("\xEF\xBB\xBF# mark\r\n"
                          "  \t\r\n"
                          "timeout=5\r\n"
                          "   grace  =  3s  ; trimmed, with a comment\n"
                          "; another\n"
                          "[sandbox-fcgi]\n"
                          "max-files : 7\n"
                          "\tlisten = unix:/a#b\n"
                          "log = ; nothing\n"
                          "   ", NO_OPTIONS), 0);
    assert_int_equal(config.timeout, 5000);
    assert_int_equal(config.grace, 3000);
    assert_int_equal(config.max_files, 7);
    assert_string_equal(config.listen, "unix:/a#b");
    assert_string_equal(config.log, "");
}

static void
file_is_closed_again(void **state)
{
    int free_before = dup(STDIN_FILENO);

    (void)state;
    close(free_before);
    assert_int_equal(LOAD("", NO_OPTIONS), 0);
    assert_int_equal(LOAD("rubbish", NO_OPTIONS), -1);
    int free_after = dup(STDIN_FILENO);
    close(free_after);
    assert_int_equal(free_after, free_before);
}

static void
options_outrank_the_file(void **state)
{
    (void)state;
    assert_int_equal(LOAD("timeout = 5\ngrace = 3s\nlog = /a\nzygote = off",
                          "--timeout=6", "--timeout", "7", "--log="), 0);
    assert_int_equal(config.timeout, 7000);
    assert_int_equal(config.grace, 3000);
    assert_string_equal(config.log, "");
    assert_false(config.zygote);
    assert_int_equal(config.queue_wait, 10000);
}

static void
default_file_may_be_absent(void **state)
{
    char *argv[] = { "sandbox-fcgi", NULL };

    (void)state;
    if (access("/etc/sandbox-fcgi.conf", F_OK) == 0) {
        print_message("/etc/sandbox-fcgi.conf exists here\n");
        skip();
    }
    config_clear(&config);
    assert_int_equal(config_load(1, argv, &config, &action, why, sizeof why),
                     0);
    assert_string_equal(config.file, "");
    assert_int_equal(config.timeout, 90000);
}

/* Drop the '#' from each "#key = value", but not from prose ("# Prose."). */
static char *
uncommented(const char *text)
{
    char *result = calloc(1, strlen(text) + 1);
    char *end = result;

    for (; *text != '\0'; text++)
        if (text[0] != '#' || text[1] < 'a' || text[1] > 'z')
            *end++ = *text;
    return result;
}

static void
example_shows_every_key_at_its_default(void **state)
{
    char *text = uncommented(example);

    (void)state;
    assert_int_equal(LOAD("", NO_OPTIONS), 0);
    char *expected = printed();

    assert_int_equal(LOAD(example, NO_OPTIONS), 0);
    char *untouched = printed();
    assert_string_equal(untouched, expected);

    assert_int_equal(LOAD(text, NO_OPTIONS), 0);
    char *every_key = printed();
    assert_string_equal(every_key, expected);

    /* The keys come in the order of the table, none left out. */
    const char *at = text;
    char *rest = NULL;
    for (char *line = strtok_r(expected, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char key[40] = "\n";
        strncat(key, line, strcspn(line, "=") + 1);
        at = strstr(at, key);
        assert_non_null(at);
    }
    free(text);
    free(expected);
    free(untouched);
    free(every_key);
}

static void
printed_values_read_back_to_the_same(void **state)
{
    static const char *const texts[] = {
        "",
        "listen = [::1]:9000\nlisten_mode = 0600\nuser = u\nworkers = 99\n"
        "max_runs = 9\nready = 3\nqueue_wait = 0\nzygote = no\n"
        "child = /c d/e\npython_path = /a:/b\npreload = x, y z\nlog = /l\n"
        "timeout = 1500ms\ngrace = 120s\nmemory = 134217729\nprocesses = 1\n"
        "work_size = 1024M\nwork_inodes = 64\nmax_body = 1025K\n"
        "max_code = 1024\nmax_output = 1048577\nmax_figures = 0\n"
        "max_figure_pixels = 1\nmax_figure_bytes = 0\nmax_files = 0\n"
        "max_file_bytes = 1G\nfmp_url = http://[::1]:80/a\n"
        "fmp_key_file = /k\nfmp_ca = /c\nfmp_calls = 0\nfmp_rate = 0\n"
        "fmp_cache = 0\nfmp_note = Demo data.\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_int_equal(LOAD(texts[i], NO_OPTIONS), 0);
        char *first = printed();
        assert_int_equal(LOAD(first, NO_OPTIONS), 0);
        char *second = printed();
        assert_string_equal(first, second);
        if (i == 1) {
            assert_non_null(strstr(first, "\nqueue_wait = 0ms\n"));
            assert_non_null(strstr(first, "\nchild = /c d/e\n"));
            assert_non_null(strstr(first, "\ntimeout = 1500ms\ngrace = 2m\n"));
            assert_non_null(strstr(first, "\nwork_size = 1G\n"));
            assert_non_null(strstr(first, "\nmax_code = 1K\n"));
            assert_non_null(strstr(first, "\nlisten_mode = 0600\n"));
        }
        free(first);
        free(second);
    }
}

/* ---- The command line */

static void
options_have_several_spellings(void **state)
{
    (void)state;
    assert_int_equal(LOAD("", "--max-body", "2M", "--max_code=1K",
                          "--max-output=2K", "--max_files", "3"), 0);
    assert_int_equal(config.max_body, 2 << 20);
    assert_int_equal(config.max_code, 1 << 10);
    assert_int_equal(config.max_output, 2 << 10);
    assert_int_equal(config.max_files, 3);
}

static void
options_choose_the_action(void **state)
{
    static const struct {
        const char *option;
        enum config_action action;
    } cases[] = {
        { "--check", CONFIG_CHECK }, { "--stdio", CONFIG_STDIO },
        { "--help", CONFIG_HELP }, { "-h", CONFIG_HELP },
        { "--version", CONFIG_VERSION }, { "-V", CONFIG_VERSION },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(LOAD("", cases[i].option), 0);
        assert_int_equal(action, cases[i].action);
    }
}

static void
help_is_given_whatever_the_file_says(void **state)
{
    (void)state;
    assert_int_equal(LOAD("rubbish", "--help", "--more-rubbish"), 0);
    assert_int_equal(action, CONFIG_HELP);
    assert_null(config.file);
}

static void
help_fits_the_screen_and_has_every_key(void **state)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    char *rest = NULL;
    int lines = 0;

    (void)state;
    config_usage(out);
    fclose(out);
    assert_int_equal(LOAD("", NO_OPTIONS), 0);
    char *keys = printed();
    for (char *line = strtok_r(keys, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[40] = " --";
        strncat(name, line, strcspn(line, " "));
        for (char *at = name; *at != '\0'; at++)
            if (*at == '_')
                *at = '-';
        assert_non_null(strstr(text, name));
    }
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest), lines++)
        assert_in_range(strlen(line), 1, 80);
    assert_in_range(lines, 30, 50);
    free(keys);
    free(text);
}

/* ---- Numbers that follow from the machine */

static void
counts_follow_from_cores_and_memory(void **state)
{
    static const size_t gib = 1 << 30;
    static const struct {
        long cores;
        size_t memory;
        int max_runs, ready, workers;
    } cases[] = {
        { 2, 64 * gib, 8, 3, 20 },
        { 2, 4 * gib, 3, 3, 10 },
        { 1, gib, 1, 1, 6 },
        { 0, 0, 1, 1, 6 },
        { -1, 64 * gib, 4, 2, 12 },
        { 64, 1024 * gib, 256, 65, 516 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct config machine = { .memory = gib };
        assert_int_equal(config_finish(&machine, cases[i].cores,
                                       cases[i].memory, why, sizeof why), 0);
        assert_int_equal(machine.max_runs, cases[i].max_runs);
        assert_int_equal(machine.ready, cases[i].ready);
        assert_int_equal(machine.workers, cases[i].workers);
    }
}

static void
counts_set_by_hand_stay(void **state)
{
    struct config machine = { .memory = 1 << 30, .max_runs = 2 };

    (void)state;
    assert_int_equal(config_finish(&machine, 8, (size_t)64 << 30, why,
                                   sizeof why), 0);
    assert_int_equal(machine.max_runs, 2);
    assert_int_equal(machine.ready, 2);
    assert_int_equal(machine.workers, 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_as_promised),
        cmocka_unit_test(child_is_beside_the_program_unless_set),
        cmocka_unit_test(every_number_has_its_range),
        cmocka_unit_test(times_are_whole_with_a_unit_or_seconds),
        cmocka_unit_test(sizes_are_whole_with_a_unit_or_bytes),
        cmocka_unit_test(counts_are_whole_and_decimal),
        cmocka_unit_test(mode_is_octal),
        cmocka_unit_test(switch_is_one_of_eight_words),
        cmocka_unit_test(strings_are_checked_by_kind),
        cmocka_unit_test(unix_path_must_fit_a_socket_address),
        cmocka_unit_test(file_errors_say_where_and_what),
        cmocka_unit_test(option_errors_say_what),
        cmocka_unit_test(long_values_are_cut_in_the_sentence),
        cmocka_unit_test(reason_is_cut_to_the_space_given),
        cmocka_unit_test(line_has_a_greatest_length),
        cmocka_unit_test(nul_in_the_file_is_refused),
        cmocka_unit_test(failure_leaves_the_configuration_alone),
        cmocka_unit_test(file_may_be_written_in_many_ways),
        cmocka_unit_test(file_is_closed_again),
        cmocka_unit_test(options_outrank_the_file),
        cmocka_unit_test(default_file_may_be_absent),
        cmocka_unit_test(example_shows_every_key_at_its_default),
        cmocka_unit_test(printed_values_read_back_to_the_same),
        cmocka_unit_test(options_have_several_spellings),
        cmocka_unit_test(options_choose_the_action),
        cmocka_unit_test(help_is_given_whatever_the_file_says),
        cmocka_unit_test(help_fits_the_screen_and_has_every_key),
        cmocka_unit_test(counts_follow_from_cores_and_memory),
        cmocka_unit_test(counts_set_by_hand_stay),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

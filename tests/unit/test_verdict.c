#include "verdict.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* What a child says of its run; parts are raw JSON. */
#define REPORT(result, error, figure, limit, notes) \
    "{\"result\":" result ",\"error\":" error ",\"figure\":" figure \
    ",\"limit\":" limit ",\"notes\":" notes "}\n"
#define ERROR(kind, type) \
    "{\"kind\":\"" kind "\",\"type\":\"" type "\",\"message\":\"the " kind \
    "\",\"traceback\":\"T\",\"line\":3}"
#define SAYS(error) REPORT("null", error, "null", "null", "[]")
#define QUIET SAYS("null")
#define EXCEPTION ERROR("exception", "KeyError")
#define EXIT ERROR("exit", "SystemExit")
#define TIMEOUT ERROR("timeout", "TimeoutError")
#define MEMORY ERROR("memory", "MemoryError")
#define FIGURE "{\"type\":\"ValueError\",\"message\":\"the figure\"}"
#define LIMIT "\"the limit\""
#define PLACE "  File \"/tmp/main.py\", line 12 in f\n"

/* Wait statuses. */
#define EXITED(code) .is_known = true, .wait_status = (code) << 8
#define SIGNALLED(number) .is_known = true, .wait_status = (number)

/* A run, and what is to come of it; words are parts of sentences. */
struct row {
    const char *report;   /* all that the child sent; NULL: nothing */
    struct ending ending;
    bool is_silent;       /* it printed nothing */
    const char *cap;      /* what the collecting left out, or NULL */
    const char *kind;     /* NULL: no error */
    const char *type;     /* raw JSON */
    const char *words;
    const char *line;     /* raw JSON; NULL: null */
    const char *note;     /* NULL: no note at all */
};

/*** Running a row ***/

static void
reach(const struct row *row, struct verdict *verdict)
{
    const char *text = row->report != NULL ? row->report : "";
    struct report report;
    const struct evidence evidence = {
        .ending = &row->ending,
        .report = &report,
        .has_output = !row->is_silent,
        .timeout = 2.5,
        .grace = 1.25,
        .memory = (size_t)512 << 20,
    };

    report_parse(text, strlen(text), &report);
    verdict_reach(verdict, &evidence);
    if (row->cap != NULL)
        verdict_limit(verdict, row->cap);
}

/* The members of an error, raw. */
struct error {
    struct span kind, type, message, traceback, line;
};

/* Read what must be an object with exactly these members. */
static void
read_error(const struct text *text, struct error *error)
{
    const struct {
        const char *name;
        struct span *value;
    } members[] = {
        {"kind", &error->kind}, {"type", &error->type},
        {"message", &error->message}, {"traceback", &error->traceback},
        {"line", &error->line},
    };
    struct json_reader reader;
    struct span name, value;
    int rc, count = 0;

    *error = (struct error){0};
    json_reader_init(&reader, (struct span){text->data, text->len}, 1);
    while ((rc = json_member(&reader, &name, &value)) == 1) {
        size_t i = 0;

        while (i < COUNT(members) &&
               !json_string_equals(name, members[i].name))
            i++;
        assert_true(i < COUNT(members));
        assert_null(members[i].value->at);
        *members[i].value = value;
        count++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(count, COUNT(members));
}

static bool
is_null_or(struct span raw, enum json_kind kind)
{
    return json_kind(raw) == JSON_NULL || json_kind(raw) == kind;
}

/* Whatever it is, it fits the contract. */
static void
assert_error_is_sound(const struct verdict *verdict)
{
    struct error error;

    read_error(&verdict->error, &error);
    assert_int_equal(json_kind(error.kind), JSON_STRING);
    assert_true(json_string_equals(error.kind, verdict->kind));
    assert_true(is_null_or(error.type, JSON_STRING));
    assert_int_equal(json_kind(error.message), JSON_STRING);
    assert_int_equal(json_kind(error.traceback), JSON_STRING);
    assert_true(is_null_or(error.line, JSON_NUMBER));
}

/* The notes are strings with commas between them. Returns how many. */
static size_t
count_notes(const struct verdict *verdict)
{
    struct text array = {0};
    struct json_reader reader;
    struct span value;
    size_t count = 0;
    int rc;

    text_print(&array, "[%s]", verdict->notes.len > 0 ? verdict->notes.data
                                                      : "");
    json_reader_init(&reader, (struct span){array.data, array.len}, 1);
    while ((rc = json_element(&reader, &value)) == 1) {
        assert_int_equal(json_kind(value), JSON_STRING);
        count++;
    }
    if (rc != 0)
        fail_msg("notes %s: %s", array.data, reader.why);
    text_clear(&array);
    return count;
}

static void
assert_sound(const struct verdict *verdict)
{
    if (verdict->error.len > 0)
        assert_error_is_sound(verdict);
    else
        assert_string_equal(verdict->kind, "ok");
    count_notes(verdict);
}

static void
assert_raw(struct span span, const char *raw)
{
    if (span.len != strlen(raw) || memcmp(span.at, raw, span.len) != 0)
        fail_msg("%.*s is not %s", (int)span.len, span.at, raw);
}

static void
assert_has(struct span span, const char *words)
{
    if (span.len == 0)
        fail_msg("nothing, which lacks: %s", words);
    if (memmem(span.at, span.len, words, strlen(words)) == NULL)
        fail_msg("%.*s lacks: %s", (int)span.len, span.at, words);
}

static void
assert_error(const struct verdict *verdict, const struct row *row)
{
    struct error error;

    if (row->kind == NULL) {
        assert_string_equal(verdict->kind, "ok");
        assert_int_equal(verdict->error.len, 0);
        return;
    }
    assert_string_equal(verdict->kind, row->kind);
    read_error(&verdict->error, &error);
    assert_true(json_string_equals(error.kind, row->kind));
    assert_raw(error.type, row->type);
    assert_has(error.message, row->words);
    assert_raw(error.line, row->line != NULL ? row->line : "null");
}

static void
check(const struct row *row)
{
    struct verdict verdict = {0};

    reach(row, &verdict);
    assert_sound(&verdict);
    assert_error(&verdict, row);
    if (row->note == NULL)
        assert_int_equal(count_notes(&verdict), 0);
    else
        assert_has((struct span){verdict.notes.data, verdict.notes.len},
                   row->note);
    verdict_clear(&verdict);
    assert_null(verdict.error.data);
    assert_null(verdict.notes.data);
}

static void
check_all(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&rows[i]);
}

/*** Each kind alone ***/

static void
a_good_end_is_no_error(void **state)
{
    static const struct row rows[] = {
        {.report = QUIET, .ending = {EXITED(0)}},
        {REPORT("\"1\"", "null", "null", "null", "[]"), {EXITED(0)},
         .is_silent = true},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
what_the_child_reports_is_handed_on(void **state)
{
    static const struct row rows[] = {
        {SAYS(EXCEPTION), {EXITED(1)}, .kind = "exception",
         .type = "\"KeyError\"", .words = "the exception", .line = "3"},
        {SAYS(EXIT), {EXITED(1)}, .kind = "exit", .type = "\"SystemExit\"",
         .words = "the exit", .line = "3"},
        {SAYS(TIMEOUT), {EXITED(1), .was_interrupted = true},
         .kind = "timeout", .type = "\"TimeoutError\"",
         .words = "the timeout", .line = "3"},
        {SAYS(MEMORY), {EXITED(1)}, .kind = "memory",
         .type = "\"MemoryError\"", .words = "the memory", .line = "3"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
the_traceback_is_handed_on(void **state)
{
    const struct row row = {.report = SAYS(EXCEPTION),
                            .ending = {EXITED(1)}};
    struct verdict verdict = {0};
    struct error error;

    (void)state;
    reach(&row, &verdict);
    read_error(&verdict.error, &error);
    assert_raw(error.traceback, "\"T\"");
    verdict_clear(&verdict);
}

static void
an_error_without_a_line_has_none(void **state)
{
    static const struct row row = {
        SAYS("{\"kind\":\"exit\",\"type\":\"SystemExit\",\"message\":\"m\","
             "\"traceback\":\"\",\"line\":null}"), {EXITED(1)},
        .kind = "exit", .type = "\"SystemExit\"", .words = "m",
    };

    (void)state;
    check(&row);
}

static void
time_is_said_with_limit_and_place(void **state)
{
    static const struct row rows[] = {
        {NULL, {SIGNALLED(SIGKILL), .was_interrupted = true,
                .was_killed = true}, .kind = "timeout",
         .type = "\"TimeoutError\"", .words = "its time limit of 2.5 s; it "
         "went on when it was interrupted and was killed 1.25 s later."},
        {PLACE, {SIGNALLED(SIGKILL), .was_interrupted = true,
                 .was_killed = true}, .kind = "timeout",
         .type = "\"TimeoutError\"", .words = "2.5 s, at line 12; it went",
         .line = "12"},
        {NULL, {.was_interrupted = true, .was_killed = true},
         .kind = "timeout", .type = "\"TimeoutError\"", .words = "killed"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
interrupted_but_ended_by_itself_is_a_timeout(void **state)
{
    static const struct row rows[] = {
        {QUIET, {EXITED(0), .was_interrupted = true}, .kind = "timeout",
         .type = "\"TimeoutError\"",
         .words = "it was interrupted and then ended by itself."},
        {PLACE QUIET, {EXITED(0), .was_interrupted = true},
         .kind = "timeout", .type = "\"TimeoutError\"",
         .words = "at line 12; it was interrupted", .line = "12"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
memory_by_the_watchdog_is_said_with_the_limit(void **state)
{
    static const struct row rows[] = {
        {NULL, {SIGNALLED(SIGKILL), .was_memory = true}, .kind = "memory",
         .type = "\"MemoryError\"", .words = "512 MiB"},
        {QUIET, {EXITED(0), .was_memory = true}, .kind = "memory",
         .type = "\"MemoryError\"", .words = "512 MiB"},
        {NULL, {SIGNALLED(SIGKILL), .was_memory = true}, .is_silent = true,
         .kind = "memory", .type = "\"MemoryError\"", .words = "512 MiB"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
a_signal_is_named(void **state)
{
    static const struct {
        int number;
        const char *type;
    } signals[] = {
        {SIGSEGV, "\"SIGSEGV\""}, {SIGBUS, "\"SIGBUS\""},
        {SIGABRT, "\"SIGABRT\""}, {SIGFPE, "\"SIGFPE\""},
        {SIGILL, "\"SIGILL\""}, {SIGKILL, "\"SIGKILL\""},
        {SIGSYS, "\"SIGSYS\""}, {SIGTERM, "\"SIGTERM\""},
        {SIGPIPE, "\"SIGPIPE\""}, {SIGXCPU, "\"SIGXCPU\""},
        {SIGUSR1, "\"SIGUSR1\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(signals); i++) {
        const struct row rows[] = {
            {NULL, {SIGNALLED(signals[i].number)}, .kind = "crash",
             .type = signals[i].type, .words = "ended by SIG"},
            {NULL, {SIGNALLED(signals[i].number | 0x80)}, .kind = "crash",
             .type = signals[i].type, .words = "ended by SIG"},
            {QUIET, {SIGNALLED(signals[i].number)}, .kind = "crash",
             .type = signals[i].type, .words = "ended by SIG"},
        };

        check_all(rows, COUNT(rows));
    }
}

static void
some_signals_are_explained(void **state)
{
    static const struct row rows[] = {
        {NULL, {SIGNALLED(SIGSEGV)}, .kind = "crash",
         .type = "\"SIGSEGV\"", .words = "recursion"},
        {NULL, {SIGNALLED(SIGKILL)}, .kind = "crash",
         .type = "\"SIGKILL\"", .words = "killed from outside"},
        {NULL, {SIGNALLED(SIGFPE)}, .kind = "crash",
         .type = "\"SIGFPE\"", .words = "the processor cannot"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
signals_without_a_name_are_crashes(void **state)
{
    struct row row = {.kind = "crash"};

    (void)state;
    for (int number = 32; number <= 64; number++) {
        struct verdict verdict = {0};

        row.ending = (struct ending){SIGNALLED(number)};
        reach(&row, &verdict);
        assert_sound(&verdict);
        assert_string_equal(verdict.kind, "crash");
        verdict_clear(&verdict);
    }
}

static void
an_exit_without_a_report_is_a_crash(void **state)
{
    static const struct row rows[] = {
        {NULL, {EXITED(0)}, .kind = "crash", .type = "\"os._exit\"",
         .words = "exit code 0 before it could report"},
        {NULL, {EXITED(7)}, .kind = "crash", .type = "\"os._exit\"",
         .words = "exit code 7 before it could report"},
        {"{}\n", {EXITED(255)}, .kind = "crash", .type = "\"os._exit\"",
         .words = "exit code 255"},
        {NULL, {EXITED(0)}, .is_silent = true, .kind = "crash",
         .type = "\"os._exit\"", .words = "exit code 0"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
a_lost_run_is_not_the_programs_fault(void **state)
{
    static const struct row rows[] = {
        {NULL, {.was_lost = true}, .kind = "crash", .type = "null",
         .words = "not the program's fault"},
        {QUIET, {.was_lost = true}, .kind = "crash", .type = "null",
         .words = "not the program's fault"},
        {NULL, {.is_known = false}, .kind = "crash", .type = "null",
         .words = "not the program's fault"},
        {NULL, {EXITED(3), .was_lost = true}, .kind = "crash",
         .type = "null", .words = "not the program's fault"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/* The worker kills what floods it, so that SIGKILL is what is seen of it. */
static void
a_flood_is_said_to_be_one(void **state)
{
    static const struct row rows[] = {
        {NULL, {SIGNALLED(SIGKILL), .was_flood = true}, .kind = "crash",
         .type = "\"SIGKILL\"", .words = "wrote without end to descriptor 3"},
        {QUIET, {SIGNALLED(SIGKILL), .was_flood = true}, .kind = "crash",
         .type = "\"SIGKILL\"", .words = "wrote without end to descriptor 3"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/* It ended before the kill came. */
static void
a_flood_that_ended_is_one_all_the_same(void **state)
{
    static const struct row rows[] = {
        {NULL, {EXITED(0), .was_flood = true}, .kind = "crash",
         .type = "\"os._exit\"", .words = "wrote without end to descriptor 3"},
        {QUIET, {EXITED(0), .was_flood = true}, .kind = "crash",
         .type = "\"os._exit\"", .words = "wrote without end to descriptor 3"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
nothing_to_show_is_said(void **state)
{
    static const struct row row = {
        QUIET, {EXITED(0)}, .is_silent = true, .kind = "empty",
        .type = "null", .words = "print() what is wanted",
    };

    (void)state;
    check(&row);
}

static void
anything_to_show_is_not_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const char *text = i == 0 ? REPORT("\"\"", "null", "null", "null",
                                           "[]") : QUIET;
        const struct ending ending = {EXITED(0)};
        struct report report;
        const struct evidence evidence = {
            .ending = &ending, .report = &report, .has_output = i == 1,
            .has_figures = i == 2, .has_files = i == 3,
        };
        struct verdict verdict = {0};

        report_parse(text, strlen(text), &report);
        verdict_reach(&verdict, &evidence);
        assert_string_equal(verdict.kind, "ok");
        verdict_clear(&verdict);
    }
}

static void
a_figure_or_a_cap_is_an_error_of_its_own(void **state)
{
    static const struct row rows[] = {
        {REPORT("null", "null", FIGURE, "null", "[]"), {EXITED(0)},
         .kind = "figure", .type = "\"ValueError\"", .words = "the figure"},
        {REPORT("null", "null", "null", LIMIT, "[]"), {EXITED(0)},
         .kind = "limit", .type = "null", .words = "the limit"},
        {QUIET, {EXITED(0)}, .cap = "the cap", .kind = "limit",
         .type = "null", .words = "the cap"},
        {QUIET, {EXITED(0)}, .cap = "\"\\\n\xff", .kind = "limit",
         .type = "null", .words = "\\\"\\\\\\n\xef\xbf\xbd"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/*** Two at once: the earlier row is the error, the other a note ***/

#define WITH_FIGURE(error) REPORT("null", error, FIGURE, "null", "[]")
#define WITH_LIMIT(error) REPORT("null", error, "null", LIMIT, "[]")

static void
an_exception_comes_first(void **state)
{
    static const struct row rows[] = {
        {SAYS(EXCEPTION), {EXITED(1), .was_interrupted = true},
         .note = "its time limit of 2.5 s"},
        {SAYS(EXCEPTION), {SIGNALLED(SIGKILL), .was_memory = true},
         .note = "512 MiB"},
        {WITH_FIGURE(EXCEPTION), {EXITED(1)}, .note = "the figure"},
        {WITH_LIMIT(EXCEPTION), {EXITED(1)}, .note = "the limit"},
        {SAYS(EXCEPTION), {EXITED(1)}, .cap = "the cap", .note = "the cap"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct row row = rows[i];

        row.kind = "exception";
        row.type = "\"KeyError\"";
        row.words = "the exception";
        row.line = "3";
        check(&row);
    }
}

static void
an_exit_comes_before_all_but_an_exception(void **state)
{
    static const struct row rows[] = {
        {SAYS(EXIT), {EXITED(1), .was_interrupted = true},
         .note = "its time limit of 2.5 s"},
        {SAYS(EXIT), {SIGNALLED(SIGKILL), .was_memory = true},
         .note = "512 MiB"},
        {WITH_FIGURE(EXIT), {EXITED(1)}, .note = "the figure"},
        {WITH_LIMIT(EXIT), {EXITED(1)}, .note = "the limit"},
        {SAYS(EXIT), {EXITED(1)}, .cap = "the cap", .note = "the cap"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct row row = rows[i];

        row.kind = "exit";
        row.type = "\"SystemExit\"";
        row.words = "the exit";
        row.line = "3";
        check(&row);
    }
}

static void
a_timeout_comes_before_memory_and_the_rest(void **state)
{
    static const struct row rows[] = {
        {SAYS(TIMEOUT), {SIGNALLED(SIGKILL), .was_interrupted = true,
                         .was_memory = true}, .kind = "timeout",
         .type = "\"TimeoutError\"", .words = "the timeout", .line = "3",
         .note = "512 MiB"},
        {NULL, {SIGNALLED(SIGKILL), .was_interrupted = true,
                .was_memory = true}, .kind = "timeout",
         .type = "\"TimeoutError\"", .words = "2.5 s", .note = "512 MiB"},
        {WITH_FIGURE(TIMEOUT), {EXITED(1), .was_interrupted = true},
         .kind = "timeout", .type = "\"TimeoutError\"",
         .words = "the timeout", .line = "3", .note = "the figure"},
        {WITH_LIMIT("null"), {EXITED(0), .was_interrupted = true},
         .kind = "timeout", .type = "\"TimeoutError\"", .words = "2.5 s",
         .note = "the limit"},
        {NULL, {SIGNALLED(SIGKILL), .was_interrupted = true,
                .was_killed = true}, .cap = "the cap", .kind = "timeout",
         .type = "\"TimeoutError\"", .words = "2.5 s", .note = "the cap"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
a_timeout_comes_before_reported_memory(void **state)
{
    static const struct row row = {
        SAYS(MEMORY), {EXITED(1), .was_interrupted = true},
        .kind = "timeout", .type = "\"TimeoutError\"", .words = "2.5 s",
        .note = "the memory",
    };

    (void)state;
    check(&row);
}

static void
memory_comes_before_the_rest(void **state)
{
    static const struct row rows[] = {
        {WITH_FIGURE(MEMORY), {EXITED(1)}, .kind = "memory",
         .type = "\"MemoryError\"", .words = "the memory", .line = "3",
         .note = "the figure"},
        {WITH_LIMIT("null"), {SIGNALLED(SIGKILL), .was_memory = true},
         .kind = "memory", .type = "\"MemoryError\"", .words = "512 MiB",
         .note = "the limit"},
        {NULL, {SIGNALLED(SIGKILL), .was_memory = true}, .cap = "the cap",
         .kind = "memory", .type = "\"MemoryError\"", .words = "512 MiB",
         .note = "the cap"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
a_crash_comes_before_the_rest(void **state)
{
    static const struct row rows[] = {
        {WITH_FIGURE("null"), {SIGNALLED(SIGSEGV)}, .kind = "crash",
         .type = "\"SIGSEGV\"", .words = "SIGSEGV", .note = "the figure"},
        {WITH_LIMIT("null"), {SIGNALLED(SIGSEGV)}, .kind = "crash",
         .type = "\"SIGSEGV\"", .words = "SIGSEGV", .note = "the limit"},
        {NULL, {SIGNALLED(SIGSEGV)}, .cap = "the cap", .kind = "crash",
         .type = "\"SIGSEGV\"", .words = "SIGSEGV", .note = "the cap"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/* What was reported holds, and that the process crashed after it as well. */
static void
a_crash_after_a_reported_error_is_a_note(void **state)
{
    static const struct row rows[] = {
        {SAYS(EXCEPTION), {SIGNALLED(SIGSEGV)}, .kind = "exception",
         .type = "\"KeyError\"", .words = "the exception", .line = "3",
         .note = "SIGSEGV"},
        {SAYS(EXIT), {SIGNALLED(SIGABRT)}, .kind = "exit",
         .type = "\"SystemExit\"", .words = "the exit", .line = "3",
         .note = "SIGABRT"},
        {SAYS(TIMEOUT), {SIGNALLED(SIGSEGV), .was_interrupted = true},
         .kind = "timeout", .type = "\"TimeoutError\"",
         .words = "the timeout", .line = "3", .note = "SIGSEGV"},
        {SAYS(MEMORY), {SIGNALLED(SIGSEGV)}, .kind = "memory",
         .type = "\"MemoryError\"", .words = "the memory", .line = "3",
         .note = "SIGSEGV"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
the_workers_own_kill_is_no_crash(void **state)
{
    static const struct row rows[] = {
        {SAYS(TIMEOUT), {SIGNALLED(SIGKILL), .was_interrupted = true,
                         .was_killed = true}, .kind = "timeout",
         .type = "\"TimeoutError\"", .words = "the timeout", .line = "3"},
        {SAYS(MEMORY), {EXITED(1)}, .kind = "memory",
         .type = "\"MemoryError\"", .words = "the memory", .line = "3"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
empty_figure_and_limit_come_in_this_order(void **state)
{
    static const struct row rows[] = {
        {REPORT("null", "null", FIGURE, "null", "[]"), {EXITED(0)},
         .is_silent = true, .kind = "empty", .type = "null",
         .words = "printed nothing", .note = "the figure"},
        {REPORT("null", "null", "null", LIMIT, "[]"), {EXITED(0)},
         .is_silent = true, .kind = "empty", .type = "null",
         .words = "printed nothing", .note = "the limit"},
        {QUIET, {EXITED(0)}, .is_silent = true, .cap = "the cap",
         .kind = "empty", .type = "null", .words = "printed nothing",
         .note = "the cap"},
        {REPORT("null", "null", FIGURE, LIMIT, "[]"), {EXITED(0)},
         .kind = "figure", .type = "\"ValueError\"", .words = "the figure",
         .note = "the limit"},
        {REPORT("null", "null", FIGURE, "null", "[]"), {EXITED(0)},
         .cap = "the cap", .kind = "figure", .type = "\"ValueError\"",
         .words = "the figure", .note = "the cap"},
        {REPORT("null", "null", "null", LIMIT, "[]"), {EXITED(0)},
         .cap = "the cap", .kind = "limit", .type = "null",
         .words = "the limit", .note = "the cap"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/*** Notes ***/

#define WITH_NOTES(notes) REPORT("null", "null", "null", "null", notes)

static void
notes_of_the_child_pass_through(void **state)
{
    static const struct {
        const char *report;
        const char *notes;
    } table[] = {
        {WITH_NOTES("[\"a\"]"), "\"a\""},
        {WITH_NOTES("[\"a\",\"b\\n\"]"), "\"a\",\"b\\n\""},
        {REPORT("null", EXCEPTION, "null", "null", "[\"a\"]"), "\"a\""},
        {REPORT("null", EXCEPTION, FIGURE, "null", "[\"a\"]"),
         "\"the figure\",\"a\""},
        {REPORT("null", EXCEPTION, FIGURE, LIMIT, "[\"a\"]"),
         "\"the figure\",\"the limit\",\"a\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        const struct row row = {.report = table[i].report,
                                .ending = {EXITED(0)}};
        struct verdict verdict = {0};

        reach(&row, &verdict);
        assert_string_equal(verdict.notes.data, table[i].notes);
        verdict_clear(&verdict);
    }
}

static void
notes_before_and_after_stay_notes(void **state)
{
    const struct row row = {.report = WITH_NOTES("[\"b\"]"),
                            .ending = {EXITED(0)}};
    struct verdict verdict = {0};

    (void)state;
    verdict_note(&verdict, "a");
    reach(&row, &verdict);
    verdict_note(&verdict, "c \"\\\xff");
    assert_string_equal(verdict.notes.data,
                        "\"a\",\"b\",\"c \\\"\\\\\xef\xbf\xbd\"");
    assert_string_equal(verdict.kind, "ok");
    verdict_clear(&verdict);
}

/* Space is all that a child's array may have in it beside strings. */
static void
space_among_the_childs_notes_is_harmless(void **state)
{
    static const struct {
        const char *report;
        size_t count;
    } table[] = {
        {WITH_NOTES("[ ]"), 0}, {WITH_NOTES("[\t \r]"), 0},
        {WITH_NOTES("[ \"a\" ]"), 1}, {WITH_NOTES("[\"a\" , \"b\" ]"), 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        const struct row row = {.report = table[i].report,
                                .ending = {EXITED(0)}};
        struct verdict verdict = {0};

        verdict_note(&verdict, "before");
        reach(&row, &verdict);
        verdict_note(&verdict, "after");
        assert_int_equal(count_notes(&verdict), table[i].count + 2);
        verdict_clear(&verdict);
    }
}

/*** All of it ***/

static const char *const said[] = {
    NULL, "{}\n", PLACE, QUIET, PLACE QUIET, SAYS(EXCEPTION), SAYS(EXIT),
    SAYS(TIMEOUT), SAYS(MEMORY), WITH_FIGURE("null"), WITH_LIMIT("null"),
    REPORT("\"\"", MEMORY, FIGURE, LIMIT, "[\"a\",\"b\"]"),
    SAYS("{\"kind\":\"\\u0065xit\",\"type\":\"\\\"\\u0000\","
         "\"message\":\"\xf0\x9f\x98\x80\\ud83d\\ude00\","
         "\"traceback\":\"\\\\\\n\",\"line\":1e9}"),
};

static const int statuses[] = {0, 1 << 8, 255 << 8, SIGKILL, SIGSEGV, 64};

/* Run a row under all combinations of flags. */
static void
check_flags(struct row *row)
{
    for (int flags = 0; flags < 1 << 8; flags++) {
        struct verdict verdict = {0};

        row->ending.is_known = flags & 1;
        row->ending.was_interrupted = flags & 2;
        row->ending.was_killed = flags & 4;
        row->ending.was_memory = flags & 8;
        row->ending.was_flood = flags & 16;
        row->ending.was_lost = flags & 32;
        row->is_silent = flags & 64;
        row->cap = flags & 128 ? "the cap" : NULL;
        reach(row, &verdict);
        assert_sound(&verdict);
        verdict_clear(&verdict);
    }
}

static void
every_verdict_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(said); i++)
        for (size_t j = 0; j < COUNT(statuses); j++) {
            struct row row = {.report = said[i]};

            row.ending.wait_status = statuses[j];
            check_flags(&row);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_end_is_no_error),
        cmocka_unit_test(what_the_child_reports_is_handed_on),
        cmocka_unit_test(the_traceback_is_handed_on),
        cmocka_unit_test(an_error_without_a_line_has_none),
        cmocka_unit_test(time_is_said_with_limit_and_place),
        cmocka_unit_test(interrupted_but_ended_by_itself_is_a_timeout),
        cmocka_unit_test(memory_by_the_watchdog_is_said_with_the_limit),
        cmocka_unit_test(a_signal_is_named),
        cmocka_unit_test(some_signals_are_explained),
        cmocka_unit_test(signals_without_a_name_are_crashes),
        cmocka_unit_test(an_exit_without_a_report_is_a_crash),
        cmocka_unit_test(a_lost_run_is_not_the_programs_fault),
        cmocka_unit_test(a_flood_is_said_to_be_one),
        cmocka_unit_test(a_flood_that_ended_is_one_all_the_same),
        cmocka_unit_test(nothing_to_show_is_said),
        cmocka_unit_test(anything_to_show_is_not_nothing),
        cmocka_unit_test(a_figure_or_a_cap_is_an_error_of_its_own),
        cmocka_unit_test(an_exception_comes_first),
        cmocka_unit_test(an_exit_comes_before_all_but_an_exception),
        cmocka_unit_test(a_timeout_comes_before_memory_and_the_rest),
        cmocka_unit_test(a_timeout_comes_before_reported_memory),
        cmocka_unit_test(memory_comes_before_the_rest),
        cmocka_unit_test(a_crash_comes_before_the_rest),
        cmocka_unit_test(a_crash_after_a_reported_error_is_a_note),
        cmocka_unit_test(the_workers_own_kill_is_no_crash),
        cmocka_unit_test(empty_figure_and_limit_come_in_this_order),
        cmocka_unit_test(notes_of_the_child_pass_through),
        cmocka_unit_test(notes_before_and_after_stay_notes),
        cmocka_unit_test(space_among_the_childs_notes_is_harmless),
        cmocka_unit_test(every_verdict_is_sound),
    };

    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}

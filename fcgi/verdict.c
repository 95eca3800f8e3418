#include "verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const struct span null = {"null", 4};
static const struct span no_text = {"\"\"", 2};

static void
note_raw(struct verdict *verdict, struct span raw)
{
    if (verdict->notes.len > 0)
        text_add(&verdict->notes, ",", 1);
    text_raw(&verdict->notes, raw);
}

/* One by one: between its brackets an array may have nothing but space. */
static void
note_each(struct verdict *verdict, struct span array)
{
    struct json_reader reader;
    struct span note;

    json_reader_init(&reader, array, 1);
    while (json_element(&reader, &note) == 1)
        note_raw(verdict, note);
}

void
verdict_note(struct verdict *verdict, const char *sentence)
{
    if (verdict->notes.len > 0)
        text_add(&verdict->notes, ",", 1);
    text_quote(&verdict->notes, sentence, strlen(sentence));
}

/*
 * State an error, all parts raw JSON. The first one is the run's error; those
 * that come after it are notes.
 */
static void
state(struct verdict *verdict, const char *kind, struct span type,
      struct span message, struct span traceback, long line)
{
    struct text *error = &verdict->error;

    if (error->len > 0) {
        note_raw(verdict, message);
        return;
    }
    verdict->kind = kind;
    text_print(error, "{\"kind\":\"%s\",\"type\":", kind);
    text_raw(error, type);
    text_print(error, ",\"message\":");
    text_raw(error, message);
    text_print(error, ",\"traceback\":");
    text_raw(error, traceback);
    text_print(error, ",\"line\":");
    if (line > 0)
        text_print(error, "%ld}", line);
    else
        text_print(error, "null}");
}

/* The same for what the worker says itself; type may be NULL. */
static void
state_own(struct verdict *verdict, const char *kind, const char *type,
          const char *message, long line)
{
    struct text raw_type = {0}, raw_message = {0};

    if (type != NULL)
        text_quote(&raw_type, type, strlen(type));
    text_quote(&raw_message, message, strlen(message));
    state(verdict, kind,
          type != NULL ? (struct span){raw_type.data, raw_type.len} : null,
          (struct span){raw_message.data, raw_message.len}, no_text, line);
    text_clear(&raw_type);
    text_clear(&raw_message);
}

/* The report's error, when it is of that kind. */
static void
judge_reported(struct verdict *verdict, const struct report *report,
               const char *kind)
{
    if (report->has_error && json_string_equals(report->error_kind, kind))
        state(verdict, kind, report->error_type, report->error_message,
              report->error_traceback, report->error_line);
}

static void
judge_time(struct verdict *verdict, const struct evidence *evidence)
{
    const struct ending *ending = evidence->ending;
    struct text message = {0};

    judge_reported(verdict, evidence->report, "timeout");
    if (!ending->was_interrupted || (evidence->report->has_error &&
        json_string_equals(evidence->report->error_kind, "timeout")))
        return;
    text_print(&message, "The program was still running at its time limit of "
               "%g s", evidence->timeout);
    if (evidence->report->place > 0)
        text_print(&message, ", at line %ld", evidence->report->place);
    if (ending->was_killed)
        text_print(&message, "; it went on when it was interrupted and was "
                   "killed %g s later", evidence->grace);
    else
        text_print(&message, "; it was interrupted and then ended by itself");
    text_print(&message, ". Do less work, do it faster (vectorised instead of "
               "in loops) or in several runs.");
    state_own(verdict, "timeout", "TimeoutError", message.data,
              evidence->report->place);
    text_clear(&message);
}

static void
judge_memory(struct verdict *verdict, const struct evidence *evidence)
{
    char message[256];

    judge_reported(verdict, evidence->report, "memory");
    if (!evidence->ending->was_memory)
        return;
    snprintf(message, sizeof(message), "The program and its subprocesses "
             "together used more memory than the %zu MiB that a run may use, "
             "and were killed. Work on less data at a time, or with fewer "
             "processes.", evidence->memory >> 20);
    state_own(verdict, "memory", "MemoryError", message, 0);
}

static void
describe_signal(char *message, size_t size, int number)
{
    const char *why = "";

    if (number == SIGSEGV || number == SIGBUS)
        why = ": a bad memory access in C code (abort() shows like this as "
              "well), or recursion too deep for the stack";
    else if (number == SIGKILL)
        why = ": killed from outside, most likely because the machine ran out "
              "of memory";
    else if (number == SIGFPE || number == SIGILL)
        why = ": C code did what the processor cannot do";
    snprintf(message, size, "The program's process was ended by SIG%s%s. What "
             "it had printed and saved until then is here.",
             sigabbrev_np(number) != NULL ? sigabbrev_np(number) : "?", why);
}

/* Did the process end in another way than by its harness, or by us? */
static bool
has_crashed(const struct verdict *verdict, const struct evidence *evidence)
{
    const struct ending *ending = evidence->ending;

    if (ending->was_killed || ending->was_memory)
        return false;
    if (ending->was_lost || ending->was_flood || !ending->is_known ||
        WIFSIGNALED(ending->wait_status))
        return true;
    return !evidence->report->is_valid && verdict->error.len == 0;
}

static void
judge_crash(struct verdict *verdict, const struct evidence *evidence)
{
    const struct ending *ending = evidence->ending;
    int status = ending->wait_status;
    char message[512], type[32] = "os._exit";

    if (!has_crashed(verdict, evidence))
        return;
    if (ending->was_lost || !ending->is_known) {
        state_own(verdict, "crash", NULL, "The service lost the process that "
                  "ran the program; that is not the program's fault. Run it "
                  "again.", 0);
        return;
    }
    if (WIFSIGNALED(status))
        snprintf(type, sizeof(type), "SIG%s",
                 sigabbrev_np(WTERMSIG(status)) != NULL
                     ? sigabbrev_np(WTERMSIG(status)) : "?");
    if (ending->was_flood) {  /* first: the signal is then the worker's own */
        snprintf(message, sizeof(message), "The program wrote without end to "
                 "descriptor 3, which is the service's own, and was killed.");
    } else if (WIFSIGNALED(status)) {
        describe_signal(message, sizeof(message), WTERMSIG(status));
    } else {
        snprintf(message, sizeof(message), "The program's process ended with "
                 "exit code %d before it could report: by os._exit(), or "
                 "because it closed or wrote to descriptor 3, which is the "
                 "service's own. Let it run to its end, or use sys.exit().",
                 WEXITSTATUS(status));
    }
    state_own(verdict, "crash", type, message, 0);
}

static void
judge_empty(struct verdict *verdict, const struct evidence *evidence)
{
    if (verdict->error.len == 0 && !evidence->has_output &&
        evidence->report->result.at == NULL && !evidence->has_figures &&
        !evidence->has_files)
        state_own(verdict, "empty", NULL, "The program ended well, but "
                  "printed nothing, has no result, no figure and no file. "
                  "print() what is wanted, or end with an expression.", 0);
}

void
verdict_limit(struct verdict *verdict, const char *sentence)
{
    state_own(verdict, "limit", NULL, sentence, 0);
}

/* In the order of the contract's table: the first that holds is the error. */
void
verdict_reach(struct verdict *verdict, const struct evidence *evidence)
{
    const struct report *report = evidence->report;

    verdict->kind = "ok";
    judge_reported(verdict, report, "exception");
    judge_reported(verdict, report, "exit");
    judge_time(verdict, evidence);
    judge_memory(verdict, evidence);
    judge_crash(verdict, evidence);
    judge_empty(verdict, evidence);
    if (report->figure_message.at != NULL)
        state(verdict, "figure", report->figure_type, report->figure_message,
              no_text, 0);
    if (report->limit.at != NULL)
        state(verdict, "limit", null, report->limit, no_text, 0);
    if (report->notes.at != NULL)
        note_each(verdict, report->notes);
}

void
verdict_clear(struct verdict *verdict)
{
    text_clear(&verdict->error);
    text_clear(&verdict->notes);
}

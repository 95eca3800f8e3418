#include "config.h"

#include "machine.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/un.h>
#include <unistd.h>

#include <ini.h>

#define SECTION "sandbox-fcgi"
#define CHILD "sandbox-child"
#define INSTALLED_CHILD "/../libexec/sandbox-fcgi/" CHILD
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

_Static_assert(sizeof(size_t) >= sizeof(uint64_t), "sizes need 64 bits");

enum { NAME_SIZE = 24 };        /* of the longest option, with dashes and NUL */

enum type {
    FILE_NAME, ADDRESS, USER, PATH, DIRECTORIES, MODULES, LAYERS, SUBTREE,
    URL, SENTENCE, FORMAT,
    SWITCH, COUNT, TIME, SIZE, MODE,
    FLAG                        /* takes no value, and is no key */
};

/*
 * The one table: the ini file, the command line, --check and --help all follow
 * it. Defaults and ranges are written as an administrator would write them.
 */
#define TEXT(key, kind, value, says) \
    { .name = #key, .offset = offsetof(struct config, key), .type = kind, \
      .preset = value, .help = says }
#define NUMBER(key, kind, value, least, most, says) \
    { .name = #key, .offset = offsetof(struct config, key), .type = kind, \
      .preset = value, .min = least, .max = most, .help = says }
#define COMMAND(word, short_form, does, says) \
    { .name = word, .type = FLAG, .preset = "", .help = says, \
      .letter = short_form, .action = does }

static const struct option {
    const char *name;
    size_t offset;
    enum type type;
    const char *preset;
    const char *min;
    const char *max;
    const char *help;
    char letter;
    enum config_action action;
} options[] = {
    TEXT(listen, ADDRESS, "", "socket; empty: descriptor 0"),
    NUMBER(listen_mode, MODE, "0660", "0", "0777",
           "permissions of a Unix socket"),
    TEXT(user, USER, "www-data", "runs workers and sandbox, if root starts us"),
    NUMBER(workers, COUNT, "0", "0", "65536", "processes that take requests"),
    NUMBER(max_runs, COUNT, "0", "0", "16384", "programs running at a time"),
    NUMBER(ready, COUNT, "0", "0", "16384", "children kept waiting for a job"),
    NUMBER(queue_wait, TIME, "10s", "0", "1h",
           "longest wait for a free child"),
    TEXT(zygote, SWITCH, "on", "fork children from a warm interpreter"),
    NUMBER(zygote_runs, COUNT, "50000", "0", "1000000000",
           "forks until a fresh one takes over; 0: any"),
    NUMBER(zygote_age, TIME, "24h", "0", "500h",
           "time until then; 0: any"),
    NUMBER(worker_requests, COUNT, "10000", "0", "1000000000",
           "requests of one worker process; 0: any"),
    TEXT(child, PATH, "", "path of " CHILD "; empty: beside us"),
    TEXT(python_path, DIRECTORIES, "", "more directories with modules"),
    TEXT(preload, MODULES, "", "more modules to load in advance"),
    TEXT(isolation, LAYERS, "strict", "strict, or reduced:LAYER,..."),
    NUMBER(run_ids, COUNT, "0", "0", "2147400000",
           "first of 65536 ids for runs; 0: none"),
    TEXT(cgroup, SUBTREE, "auto", "auto, off, or a directory to divide"),
    TEXT(log, PATH, "", "path of the log; empty: stderr"),
    TEXT(log_format, FORMAT, "text", "text or json, a line a run"),
    NUMBER(slow_after, TIME, "0", "0", "1h",
           "log where such a long run stands; 0: off"),
    NUMBER(timeout, TIME, "90s", "100ms", "1h", "time a program may run"),
    NUMBER(grace, TIME, "2s", "100ms", "10m", "from the interrupt to the kill"),
    NUMBER(memory, SIZE, "1G", "128M", "1024G", "memory of a run"),
    NUMBER(processes, COUNT, "48", "1", "32768",
           "processes and threads of a run"),
    NUMBER(work_size, SIZE, "128M", "1M", "64G", "size of a run's directory"),
    NUMBER(work_inodes, COUNT, "4096", "64", "1000000",
           "files and directories in it"),
    NUMBER(max_body, SIZE, "16M", "1K", "1G", "request body"),
    NUMBER(max_code, SIZE, "1M", "1K", "1G", "program text"),
    NUMBER(max_output, SIZE, "1M", "1K", "1G", "printed output kept"),
    NUMBER(max_figures, COUNT, "50", "0", "1000", "figures of a run"),
    NUMBER(max_figure_pixels, COUNT, "40000000", "1", "1000000000",
           "pixels of one figure"),
    NUMBER(max_figure_bytes, SIZE, "24M", "0", "1G", "all figures together"),
    NUMBER(max_files, COUNT, "100", "0", "10000", "files of a run"),
    NUMBER(max_file_bytes, SIZE, "32M", "0", "1G", "all files together"),
    TEXT(fmp_url, URL, "https://financialmodelingprep.com/stable",
         "address of the market-data server"),
    TEXT(fmp_key_file, PATH, "", "file of a key for runs that bring none"),
    TEXT(fmp_ca, PATH, "", "certificates to trust; empty: the system's"),
    NUMBER(fmp_calls, COUNT, "300", "0", "10000",
           "market-data calls of a run; 0: none"),
    NUMBER(fmp_rate, COUNT, "270", "0", "100000",
           "such calls a minute, all runs; 0: any"),
    NUMBER(fmp_cache, SIZE, "64M", "0", "4G",
           "memory for kept answers; 0: none"),
    TEXT(fmp_note, SENTENCE, "", "a note for each run with such calls"),

    /* From here on no keys: the command line alone knows these. */
    { .name = "config", .offset = offsetof(struct config, file),
      .type = FILE_NAME, .preset = "/etc/sandbox-fcgi.conf",
      .help = "the ini file", .letter = 'c' },
    COMMAND("check", 0, CONFIG_CHECK, "print the values in force and stop"),
    COMMAND("stdio", 0, CONFIG_STDIO, "one job on stdin, its reply on stdout"),
    COMMAND("help", 'h', CONFIG_HELP, "print this"),
    COMMAND("version", 'V', CONFIG_VERSION, "print the version"),
};

#undef TEXT
#undef NUMBER
#undef COMMAND

enum {
    OPTION_COUNT = sizeof options / sizeof options[0],
    KEY_COUNT = OPTION_COUNT - 5,   /* without the last five rows */
    CONFIG_ROW = KEY_COUNT
};

/* Printing takes the first unit that divides the value: largest first. */
struct unit {
    const char *suffix;
    uint64_t scale;
};

static const struct unit count_units[] = { { "", 1 }, { NULL, 0 } };

static const struct unit time_units[] = {
    { "h", 60 * 60 * 1000 }, { "m", 60 * 1000 }, { "s", 1000 }, { "ms", 1 },
    { "", 1000 },
    { NULL, 0 }
};

static const struct unit size_units[] = {
    { "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 }, { "", 1 },
    { "GiB", 1 << 30 }, { "MiB", 1 << 20 }, { "KiB", 1 << 10 },
    { NULL, 0 }
};

/*
 * Reads back from an ini file as it stands. inih trims values, and begins a
 * comment at a ';' after a blank, so no value may have any ';'.
 */
static bool
is_plain(const char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)text[i]) || text[i] == ';')
            return false;
    return length == 0 || (text[0] != ' ' && text[length - 1] != ' ');
}

/*
 * A whole number and a unit, nothing else. strtoull() alone would take blanks
 * and signs; what is too large for it becomes its greatest number, which no
 * range has.
 */
static bool
parse_number(const char *text, int base, const struct unit *unit,
             uint64_t *number)
{
    char *suffix;

    if (!isdigit((unsigned char)*text))
        return false;
    uint64_t count = strtoull(text, &suffix, base);
    for (; unit->suffix != NULL; unit++)
        if (strcmp(suffix, unit->suffix) == 0)
            return !__builtin_mul_overflow(count, unit->scale, number);
    return false;
}

static bool
parse_switch(const char *text, uint64_t *number)
{
    static const char *const words[] = {
        "off", "on", "no", "yes", "false", "true", "0", "1"
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(text, words[i]) == 0) {
            *number = i % 2;
            return true;
        }
    return false;
}

static bool
is_host(const char *text, size_t length)
{
    char inside[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (*text != '[')
        return length > 0 && strspn(text, LETTERS DIGITS "-._") == length;
    if (length < 2 || text[length - 1] != ']' || length - 2 >= sizeof inside)
        return false;
    memcpy(inside, text + 1, length - 2);
    inside[length - 2] = '\0';
    return inet_pton(AF_INET6, inside, &address) == 1;
}

static bool
is_address(const char *text)
{
    static const char prefix[] = "unix:";
    bool has_prefix = strncmp(text, prefix, strlen(prefix)) == 0;
    const char *path = text + (has_prefix ? strlen(prefix) : 0);
    const char *colon = strrchr(text, ':');
    uint64_t port;

    if (*text == '\0')
        return true;
    if (has_prefix || *text == '/')
        return *path == '/'
            && strlen(path) < sizeof ((struct sockaddr_un *)NULL)->sun_path;
    return colon != NULL && is_host(text, (size_t)(colon - text))
        && parse_number(colon + 1, 10, count_units, &port)
        && port >= 1 && port <= UINT16_MAX;
}

static bool
is_user(const char *text)
{
    return *text != '\0' && *text != '-'
        && text[strspn(text, LETTERS DIGITS "_-.")] == '\0';
}

static bool
is_path(const char *text)
{
    return *text == '/' || *text == '\0';
}

static bool
is_subtree(const char *text)
{
    return strcmp(text, "auto") == 0 || strcmp(text, "off") == 0
        || (is_path(text) && *text != '\0');
}

static bool
is_format(const char *text)
{
    return strcmp(text, "text") == 0 || strcmp(text, "json") == 0;
}

static bool
is_directories(const char *text)
{
    if (*text == '\0')
        return true;
    while (*text == '/') {
        text += strcspn(text, ":");
        if (*text++ == '\0')
            return true;
    }
    return false;
}

static bool
is_modules(const char *text)
{
    while (*text != '\0') {
        if (strchr(LETTERS "_", *text) == NULL)
            return false;
        text += strspn(text, LETTERS DIGITS "_.");
        text += strspn(text, ", ");
    }
    return true;
}

/* Of all the layers, those that another one stands behind. */
static bool
is_isolation(const char *text)
{
    static const char *const layers[] = { "network", "ipc", "landlock" };
    static const char prefix[] = "reduced:";

    if (strcmp(text, "strict") == 0)
        return true;
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return false;
    for (text += strlen(prefix); ; text++) {
        size_t length = strcspn(text, ","), i = 0;

        while (i < 3 && (strlen(layers[i]) != length
                         || strncmp(text, layers[i], length) != 0))
            i++;
        if (i == 3)
            return false;
        text += length;
        if (*text == '\0')
            return true;
    }
}

/* This machine itself, where nobody listens in between. */
static bool
is_loopback(const char *host, size_t length)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && strncmp(host, names[i], length) == 0)
            return true;
    return false;
}

/* Of a host, without a user, a query and so on: paths and parameters are put
 * behind it. */
static bool
is_url(const char *text)
{
    bool is_secret = strncmp(text, "https://", 8) == 0;
    bool is_open = strncmp(text, "http://", 7) == 0;
    const char *host = text + (is_secret ? 8 : 7);
    size_t length = *host == '[' ? strcspn(host, "]") + 1
                                 : strcspn(host, ":/");
    const char *rest;

    if ((!is_secret && !is_open) || length > strlen(host)
        || !is_host(host, length)
        || (is_open && !is_loopback(host, length)))
        return false;
    rest = host + length;
    if (*rest == ':') {
        length = strspn(rest + 1, DIGITS);
        if (length < 1 || length > 5)
            return false;
        rest += 1 + length;
    }
    return *rest == '\0'
        || (*rest == '/' && rest[strlen(rest) - 1] != '/'
            && rest[strspn(rest, LETTERS DIGITS "-._/")] == '\0');
}

static bool
is_sentence(const char *text)
{
    return strlen(text) <= 160;
}

/*
 * What a type's values look like: "x" is not WHAT[ between MIN and MAX]FORMS.
 * Strings have a test, numbers have units, a switch has neither.
 */
static const struct {
    const char *what;
    const char *forms;
    bool (*is_valid)(const char *text);
    const struct unit *units;
    int base;
} types[FLAG + 1] = {
    [FILE_NAME] = { "a file name", "", is_plain, NULL, 0 },
    [ADDRESS] = { "a socket address",
                  " (unix:/path, /path, host:port or [v6]:port)",
                  is_address, NULL, 0 },
    [USER] = { "a user name", "", is_user, NULL, 0 },
    [PATH] = { "an absolute path", " (without ';')", is_path, NULL, 0 },
    [DIRECTORIES] = { "a list of absolute directories",
                      " (separated by ':', without ';')",
                      is_directories, NULL, 0 },
    [MODULES] = { "a list of module names",
                  " (separated by commas or spaces)", is_modules, NULL, 0 },
    [LAYERS] = { "strict or reduced:", " followed by network, ipc or landlock "
                 "(separated by commas)", is_isolation, NULL, 0 },
    [SUBTREE] = { "auto, off or an absolute path", " (without ';')",
                  is_subtree, NULL, 0 },
    [FORMAT] = { "text or json", "", is_format, NULL, 0 },
    [URL] = { "an address", " (https://host/path, or http:// for this machine "
              "alone; without a '/' at its end)", is_url, NULL, 0 },
    [SENTENCE] = { "a sentence", " (at most 160 bytes, without ';')",
                   is_sentence, NULL, 0 },
    [SWITCH] = { "on or off", " (or yes, no, true, false, 1, 0)",
                 NULL, NULL, 0 },
    [COUNT] = { "a whole number", "", NULL, count_units, 10 },
    [TIME] = { "a time", " (such as 90, 90s or 1500ms)",
               NULL, time_units, 10 },
    [SIZE] = { "a size", " (such as 134217728, 128M or 1G)",
               NULL, size_units, 10 },
    [MODE] = { "an octal number", " (such as 0660)", NULL, count_units, 8 },
};

static bool
parse_in_range(const struct option *option, const char *text, uint64_t *number)
{
    const struct unit *units = types[option->type].units;
    int base = types[option->type].base;
    uint64_t min, max;

    return parse_number(option->min, base, units, &min)
        && parse_number(option->max, base, units, &max)
        && parse_number(text, base, units, number)
        && min <= *number && *number <= max;
}

/* One config_load() under way. */
struct loading {
    struct config *config;
    FILE *file;
    int line;                   /* 0 outside the file */
    int first_line[KEY_COUNT];  /* that set a key; 0: none yet */
    bool has_failed;
    char *why;
    size_t why_size;
};

/*
 * Say why and where, on one printable line; the first failure stands. Returns
 * -1 to be passed on.
 */
__attribute__((format(printf, 2, 3)))
static int
fail(struct loading *load, const char *format, ...)
{
    va_list arguments;
    char text[512];

    if (load->has_failed)
        return -1;
    load->has_failed = true;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (load->line > 0)
        snprintf(load->why, load->why_size, "%s:%d: %s", load->config->file,
                 load->line, text);
    else
        snprintf(load->why, load->why_size, "%s", text);

    for (char *at = load->why; *at != '\0'; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    return -1;
}

/* Spell an option as on the command line: "--max-body". */
static void
spell(const struct option *option, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "--%s", option->name);
    for (char *at = name; *at != '\0'; at++)
        if (*at == '_')
            *at = '-';
}

static int
refuse(struct loading *load, const struct option *option, const char *text)
{
    char name[NAME_SIZE];
    char range[64] = "";

    spell(option, name);
    if (option->min != NULL)
        snprintf(range, sizeof range, " between %s and %s",
                 option->min, option->max);
    return fail(load, "%s: \"%.100s\" is not %s%s%s",
                load->line > 0 ? option->name : name, text,
                types[option->type].what, range, types[option->type].forms);
}

static int
set_string(struct loading *load, char **field, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return fail(load, "out of memory");
    free(*field);
    *field = copy;
    return 0;
}

static int
set_option(struct loading *load, const struct option *option, const char *text)
{
    bool (*is_valid)(const char *) = types[option->type].is_valid;
    void *field = (char *)load->config + option->offset;
    uint64_t number;

    if (is_valid != NULL)
        return is_plain(text) && is_valid(text)
            ? set_string(load, field, text) : refuse(load, option, text);

    if (option->type == SWITCH ? !parse_switch(text, &number)
                               : !parse_in_range(option, text, &number))
        return refuse(load, option, text);
    if (option->type == SWITCH)
        *(bool *)field = number;
    else if (option->type == SIZE)
        *(size_t *)field = number;
    else
        *(int *)field = (int)number;
    return 0;
}

/*
 * Levenshtein's distance between what was typed and a name; '-' and '_' are
 * the same letter.
 */
static int
distance(const char *typed, size_t length, const char *name)
{
    int row[NAME_SIZE] = { 0 };
    int width = (int)strlen(name);

    for (int x = 0; x <= width; x++)
        row[x] = x;
    for (size_t y = 0; y < length; y++) {
        int diagonal = row[0]++;
        char letter = typed[y] == '-' ? '_' : typed[y];

        for (int x = 1; x <= width; x++) {
            int replaced = diagonal + (letter != name[x - 1]);
            diagonal = row[x];
            row[x] = MIN(replaced, MIN(row[x - 1], row[x]) + 1);
        }
    }
    return row[width];
}

/* Among the first count options; 0 in *error means it is the very one. */
static const struct option *
nearest(const char *typed, size_t length, int count, int *error)
{
    const struct option *best = options;

    *error = INT_MAX;
    for (int i = 0; i < count; i++) {
        int this_error = distance(typed, length, options[i].name);
        if (this_error < *error) {
            *error = this_error;
            best = &options[i];
        }
    }
    return best;
}

static int
set_key(struct loading *load, const char *section, const char *key,
        const char *value)
{
    int error;
    const struct option *option = nearest(key, strlen(key), KEY_COUNT, &error);

    if (*section != '\0' && strcmp(section, SECTION) != 0)
        return fail(load, "[%s]: no such section; the only one is [%s]",
                    section, SECTION);
    if (error != 0)
        return fail(load, "%.60s: no such key; the nearest is %s",
                    key, option->name);
    int *first_line = &load->first_line[option - options];
    if (*first_line != 0)
        return fail(load, "%s: given twice, first in line %d",
                    option->name, *first_line);
    *first_line = load->line;
    return set_option(load, option, value);
}

/* What inih calls for each "key = value"; 0 means failure to it. */
static int
take_value(void *user, const char *section, const char *key, const char *value)
{
    return set_key(user, section, key, value) == 0;
}

/*
 * What inih calls for each line. Not fgets(): inih would cut a long line in
 * two and stop at a NUL, both silently. Leading blanks are dropped because to
 * inih they mean "more of the value above", which no key here has.
 */
static char *
read_line(char *line, int size, void *user)
{
    struct loading *load = user;
    int length = 0;
    int byte = 0;

    if (load->has_failed)
        return NULL;
    load->line++;
    while (length < size - 1 && byte != '\n'
           && (byte = getc(load->file)) != EOF) {
        if (iscntrl(byte) && !isspace(byte))
            fail(load, "not text: there is a byte 0x%02x", (unsigned)byte);
        if (length > 0 || !isblank(byte))
            line[length++] = (char)byte;
    }
    line[length] = '\0';

    if (ferror(load->file))
        fail(load, "cannot read: %s", strerror(errno));
    if (length == size - 1 && byte != '\n')
        fail(load, "longer than %d bytes", size - 2);
    return load->has_failed || length == 0 ? NULL : line;
}

static int
read_file(struct loading *load, bool must_exist)
{
    char *name = load->config->file;

    load->file = fopen(name, "re");
    if (load->file == NULL && errno == ENOENT && !must_exist) {
        *name = '\0';
        return 0;
    }
    if (load->file == NULL)
        return fail(load, "cannot read %s: %s", name, strerror(errno));

    int bad_line = ini_parse_stream(read_line, load, take_value, load);
    fclose(load->file);
    load->line = MAX(bad_line, 0);
    if (bad_line != 0)
        fail(load, bad_line < 0 ? "out of memory"
                                : "neither \"key = value\" nor a comment");
    load->line = 0;
    return load->has_failed ? -1 : 0;
}

/* The option an argument names, with what follows its '=' or else NULL. */
static const struct option *
find_option(struct loading *load, const char *argument, const char **value)
{
    size_t length = strcspn(argument, "=");
    char name[NAME_SIZE];
    int error;

    *value = argument[length] == '=' ? argument + length + 1 : NULL;
    if (argument[0] == '-' && length == 2)
        for (int i = KEY_COUNT; i < OPTION_COUNT; i++)
            if (argument[1] == options[i].letter)
                return &options[i];
    if (strncmp(argument, "--", 2) != 0 || length < 3) {
        fail(load, "\"%.100s\" is no option; --help lists them", argument);
        return NULL;
    }

    const struct option *option = nearest(argument + 2, length - 2,
                                          OPTION_COUNT, &error);
    if (error == 0)
        return option;
    spell(option, name);
    fail(load, "%.*s: no such option; the nearest is %s",
         (int)MIN(length, 60), argument, name);
    return NULL;
}

/* Collect the values by row, unchecked: the file has to be read first. */
static int
read_arguments(struct loading *load, char **argv,
               const char *given[OPTION_COUNT], enum config_action *action)
{
    while (*argv != NULL && *action < CONFIG_HELP) {
        const char *argument = *argv++;
        const char *value;
        const struct option *option = find_option(load, argument, &value);

        if (option == NULL)
            return -1;
        if (option->type == FLAG) {
            if (value != NULL)
                return fail(load, "--%s takes no value", option->name);
            *action = option->action;
            continue;
        }
        if (value == NULL && *argv == NULL)
            return fail(load, "%s needs a value", argument);
        given[option - options] = value != NULL ? value : *argv++;
    }
    return 0;
}

static int
set_defaults(struct loading *load)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (options[i].type != FLAG
            && set_option(load, &options[i], options[i].preset) != 0)
            return -1;
    return 0;
}

static int
set_given(struct loading *load, const char *given[OPTION_COUNT])
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (given[i] != NULL && set_option(load, &options[i], given[i]) != 0)
            return -1;
    return 0;
}

/*
 * Unless told otherwise, sandbox-child lies beside the running program, as
 * built, or as installed: for /usr/sbin/sandbox-fcgi below /usr/libexec.
 */
static int
find_child(struct loading *load)
{
    char path[PATH_MAX + sizeof CHILD];
    char installed[PATH_MAX + sizeof INSTALLED_CHILD];

    if (*load->config->child != '\0')
        return 0;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length == -1)
        return fail(load, "child: not set, and /proc/self/exe: %s",
                    strerror(errno));
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(installed, sizeof installed, "%.*s" INSTALLED_CHILD,
             (int)(slash - path), path);
    memcpy(slash + 1, CHILD, sizeof CHILD);
    bool is_beside = access(path, X_OK) == 0 || access(installed, X_OK) == -1;
    return set_string(load, &load->config->child,
                      is_beside ? path : installed);
}

/*
 * The options are set twice: before the file, because --config names it, and
 * after it, because they outrank it.
 */
static int
fill(struct loading *load, const char *given[OPTION_COUNT])
{
    if (set_defaults(load) != 0 || set_given(load, given) != 0
        || read_file(load, given[CONFIG_ROW] != NULL) != 0
        || set_given(load, given) != 0 || find_child(load) != 0)
        return -1;
    return config_finish(load->config, machine_cores(), machine_memory(),
                         load->why, load->why_size);
}

int
config_load(int argc, char **argv, struct config *config,
            enum config_action *action, char *why, size_t why_size)
{
    const char *given[OPTION_COUNT] = { NULL };
    enum config_action wanted = CONFIG_SERVE;
    struct config fresh = { 0 };
    struct loading load = {
        .config = &fresh, .why = why, .why_size = why_size
    };

    if (read_arguments(&load, argv + MIN(argc, 1), given, &wanted) != 0)
        return -1;
    if (wanted < CONFIG_HELP && fill(&load, given) != 0) {
        config_clear(&fresh);
        return -1;
    }
    *config = fresh;
    *action = wanted;
    return 0;
}

/*
 * Four runs a core, because programs also wait, as far as three quarters of
 * the memory allow; a spare worker for each run, so that a request that waits
 * for a child does not look hung to nginx.
 */
static void
choose_counts(struct config *config, long cores, size_t memory)
{
    if (config->max_runs == 0) {
        size_t fitting = memory / 4 * 3 / config->memory;
        config->max_runs = (int)MAX(1, MIN(4 * (size_t)cores, fitting));
    }
    if (config->ready == 0)
        config->ready = (int)MIN(config->max_runs, cores + 1);
    if (config->workers == 0)
        config->workers = 2 * config->max_runs + 4;
}

int
config_finish(struct config *config, long cores, size_t memory,
              char *why, size_t why_size)
{
    choose_counts(config, MAX(1, cores), memory);

    if (config->ready > config->max_runs)
        snprintf(why, why_size, "ready (%d) must not be more than max_runs "
                 "(%d)", config->ready, config->max_runs);
    else if (config->workers <= config->max_runs)
        snprintf(why, why_size, "workers (%d) must be more than max_runs (%d), "
                 "or no worker is left to take a request that has to wait",
                 config->workers, config->max_runs);
    else if (config->zygote_runs > 0 && config->zygote_runs <= config->ready)
        snprintf(why, why_size, "zygote_runs (%d) must be 0 or more than ready "
                 "(%d), which a fresh zygote forks at once",
                 config->zygote_runs, config->ready);
    else if (config->max_code > config->max_body)
        snprintf(why, why_size, "max_code (%zu) must not be more than max_body "
                 "(%zu)", config->max_code, config->max_body);
    else
        return 0;
    return -1;
}

/* In the largest unit that leaves no remainder; 0 in the smallest. */
static void
print_number(FILE *out, size_t number, const struct unit *unit)
{
    while (unit->scale > 1 && (number == 0 || number % unit->scale != 0))
        unit++;
    fprintf(out, " %zu%s\n", number / unit->scale, unit->suffix);
}

static void
print_value(FILE *out, const struct option *option, const void *field)
{
    const struct unit *units = types[option->type].units;

    if (types[option->type].is_valid != NULL) {
        const char *text = *(char *const *)field;
        fprintf(out, "%s%s\n", *text == '\0' ? "" : " ", text);
    } else if (option->type == SWITCH) {
        fprintf(out, " %s\n", *(const bool *)field ? "on" : "off");
    } else if (option->type == MODE) {
        fprintf(out, " %04o\n", (unsigned)*(const int *)field);
    } else if (option->type == SIZE) {
        print_number(out, *(const size_t *)field, units);
    } else {
        print_number(out, (size_t)*(const int *)field, units);
    }
}

void
config_print(const struct config *config, FILE *out)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        fprintf(out, "%s =", options[i].name);
        print_value(out, &options[i],
                    (const char *)config + options[i].offset);
    }
}

void
config_usage(FILE *out)
{
    fputs("usage: sandbox-fcgi [option]...   each with its default (0: "
          "automatic); all but\n"
          "the last five are keys of the ini file too (--max-body as "
          "max_body)\n", out);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &options[i];
        const char letter[] = { '-', option->letter, ',', '\0' };
        char name[NAME_SIZE];

        spell(option, name);
        fprintf(out, "  %3s %-19s %-9s%s%s\n", option->letter ? letter : "",
                name, option->preset, strlen(option->preset) > 9
                    ? "\n                                    " : " ",
                option->help);
    }
}

void
config_clear(struct config *config)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (types[options[i].type].is_valid != NULL)
            free(*(char **)((char *)config + options[i].offset));
    *config = (struct config){ 0 };
}

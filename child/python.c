#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "python.h"

#include "confine.h"
#include "die.h"
#include "handover.h"
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SMALL_STEP = 16,      /* Python's small objects have pools of their own */
    SMALL_MAX = 512,      /* ... for each step of size, up to this */
    FILL_MAX = 64 << 20,  /* for whoever has built Python without arenas */
    JOB_BYTES = 64 << 10  /* of room for a job, at first */
};

/* What is called in each child, found before the fork; owned for good. */
static PyObject *prepare, *live;

/* Where Python's small objects have their pools: the last that it asked for. */
static struct arena {
    uintptr_t start;
    size_t size;
} newest_arena;

static PyObjectArenaAllocator arenas;  /* Python's own */

static void
check(PyStatus status)
{
    if (PyStatus_Exception(status))
        die("cannot start Python: %s: %s",
            status.func != NULL ? status.func : "-", status.err_msg);
}

static void
set_string(PyConfig *config, wchar_t **member, const char *value)
{
    check(PyConfig_SetBytesString(config, member, value));
}

/* Put path into sys.path, in front or at the end. */
static void
add_path(const char *path, bool in_front)
{
    PyObject *list = PySys_GetObject("path");  /* borrowed */
    PyObject *entry = PyUnicode_DecodeFSDefault(path);

    if (list == NULL || entry == NULL ||
        (in_front ? PyList_Insert(list, 0, entry)
                  : PyList_Append(list, entry)) == -1)
        die("cannot extend sys.path");
    Py_DECREF(entry);
}

static PyObject *
list_of(char **strings)
{
    PyObject *list = PyList_New(0);

    for (; list != NULL && *strings != NULL; strings++) {
        PyObject *item = PyUnicode_DecodeFSDefault(*strings);

        if (item == NULL || PyList_Append(list, item) == -1)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* The traceback goes to standard error, and its last line is what we die of. */
static _Noreturn void
die_of_exception(const char *module_name)
{
    PyObject *error, *text;

    PyErr_Print();
    error = PySys_GetObject("last_value");  /* borrowed */
    text = error != NULL ? PyObject_Str(error) : NULL;
    die("%s failed: %s", module_name,
        text != NULL ? PyUnicode_AsUTF8(text) : "?");
}

/* The int that a call has returned, or 0 for None; takes the reference, which
 * may be NULL. */
static int
int_of(PyObject *result, const char *module_name)
{
    long value = 0;

    if (result != Py_None)
        value = result != NULL ? PyLong_AsLong(result) : -1;
    if (PyErr_Occurred())
        die_of_exception(module_name);
    Py_XDECREF(result);
    return (int)value;
}

static PyObject *
find(const char *module_name, const char *function)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *found = NULL;

    if (module != NULL)
        found = PyObject_GetAttrString(module, function);
    if (found == NULL)
        die_of_exception(module_name);
    Py_DECREF(module);
    return found;
}

static void *
arena_new(void *context, size_t size)
{
    void *arena = arenas.alloc(context, size);

    if (arena != NULL)
        newest_arena = (struct arena){(uintptr_t)arena, size};
    return arena;
}

void
python_start(char **python_path)
{
    PyObjectArenaAllocator watched;
    PyPreConfig preconfig;
    PyConfig config;

    PyObject_GetArenaAllocator(&arenas);
    watched = arenas;
    watched.alloc = arena_new;
    PyObject_SetArenaAllocator(&watched);
    if (PyImport_AppendInittab(NATIVE_NAME, PyInit__sandbox) == -1)
        die("out of memory");
    PyPreConfig_InitIsolatedConfig(&preconfig);
    preconfig.utf8_mode = 1;
    check(Py_PreInitialize(&preconfig));

    PyConfig_InitIsolatedConfig(&config);
    config.buffered_stdio = 0;
    config.install_signal_handlers = 1;
    config.write_bytecode = 0;
    /* What subprocesses of a program are started with: a real python3. */
    set_string(&config, &config.program_name, "/usr/bin/python3");
    set_string(&config, &config.executable, "/usr/bin/python3");
    set_string(&config, &config.stdio_encoding, "utf-8");
    /* A lone surrogate is printed as its escape; printing never raises. */
    set_string(&config, &config.stdio_errors, "backslashreplace");
    check(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);

    for (; *python_path != NULL; python_path++)
        add_path(*python_path, false);
    add_path(INSIDE_PYTHON, true);
    prepare = find("sandbox.run", "prepare");
    live = find("sandbox.run", "live");
}

int
python_call(const char *module_name, const char *function, char **strings)
{
    PyObject *callable = find(module_name, function);
    PyObject *list = NULL, *result = NULL;

    if (strings == NULL)
        result = PyObject_CallNoArgs(callable);
    else if ((list = list_of(strings)) != NULL)
        result = PyObject_CallOneArg(callable, list);
    Py_XDECREF(list);
    Py_DECREF(callable);
    return int_of(result, module_name);
}

/*
 * Fill the gaps that freed objects have left, for good, up to a new arena, and
 * begin to use that for every size. A child then takes memory that lies
 * together, instead of a piece of it from a page here and a page there, each
 * of which would have to be copied for it.
 */
static void
fill_gaps(void)
{
    size_t size = SMALL_MAX;  /* first all pools that are free */

    newest_arena = (struct arena){0};
    for (size_t filled = 0; size > 0 && filled < FILL_MAX; filled += size) {
        uintptr_t piece = (uintptr_t)PyObject_Malloc(size);

        if (piece == 0)
            die("out of memory");
        if (piece - newest_arena.start < newest_arena.size)
            size -= SMALL_STEP;
    }
}

#ifdef _Py_IMMORTAL_REFCNT
/* What the collector tracks is visited anyway; the rest, from what holds it. */
static int
immortalize(PyObject *object, void *context)
{
    if (_Py_IsImmortal(object))
        return 0;
    Py_SET_REFCNT(object, _Py_IMMORTAL_REFCNT);
    if (PyCode_Check(object))  /* cannot be traversed */
        return immortalize(((PyCodeObject *)object)->co_consts, context);
    if (PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object))
        return Py_TYPE(object)->tp_traverse(object, immortalize, context);
    return 0;
}

static int
immortalize_tracked(PyObject *object, void *context)
{
    immortalize(object, context);
    Py_TYPE(object)->tp_traverse(object, immortalize, context);
    return 1;
}
#endif

/*
 * Make all that is loaded immortal (PEP 683): its counts of references are not
 * written any more. Else a child has each page copied that holds an object it
 * as much as names: half of the pages that print(1) wrote to. A program sees of
 * it what sys.getrefcount() says, as of None. What it lets go of is not freed,
 * nor finalized, which for the zygote's own is just as well; and code that
 * changes in place what nobody else holds makes a copy instead.
 *
 * Python 3.12 and 3.13: 3.11 has no such objects, and 3.14 another name.
 */
static void
immortalize_all(void)
{
#ifdef _Py_IMMORTAL_REFCNT
    python_call("gc", "unfreeze", NULL);  /* what is frozen is not visited */
    PyUnstable_GC_VisitObjects(immortalize_tracked, NULL);
    python_call("gc", "freeze", NULL);
#endif
}

void
python_settle(void)
{
    /* Entries of types that the run-up alone has met. */
    PyType_ClearCache();
    python_call("sandbox.warm", "settle", NULL);
    immortalize_all();
    fill_gaps();
}

void
python_prepare(void)
{
    if (native_reseed() == -1)
        die("no random bytes are to be had: %m");
    int_of(PyObject_CallNoArgs(prepare), "sandbox.run");
}

/* What comes in on CHILD_JOB until its end, to be freed. */
static char *
read_job(size_t *len)
{
    size_t size = 0;
    char *job = NULL;
    ssize_t got = 1;

    for (*len = 0; got != 0; *len += (size_t)got) {
        if (*len == size) {
            char *more = realloc(job, size = 2 * size + JOB_BYTES);

            if (more == NULL)
                die("out of memory");
            job = more;
        }
        do
            got = read(CHILD_JOB, job + *len, size - *len);
        while (got == -1 && errno == EINTR);
        if (got == -1)
            die("cannot read the job: %m");
    }
    return job;
}

int
python_live(void)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    PyObject *text, *status;
    size_t len;
    char *job = read_job(&len);

    if (null == -1 || dup2(null, CHILD_JOB) == -1)
        die("cannot open /dev/null: %m");
    close(null);
    if (len == 0)
        return 0;  /* the responder went away */
    text = PyUnicode_DecodeUTF8(job, (Py_ssize_t)len, NULL);
    free(job);
    status = text != NULL ? PyObject_CallOneArg(live, text) : NULL;
    Py_XDECREF(text);
    return int_of(status, "sandbox.run");
}

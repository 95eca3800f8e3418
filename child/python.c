#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "python.h"

#include "confine.h"
#include "die.h"

#include <stdbool.h>
#include <unistd.h>

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

void
python_start(char **python_path)
{
    PyPreConfig preconfig;
    PyConfig config;

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
}

pid_t
python_fork(void)
{
    pid_t pid;

    PyOS_BeforeFork();
    pid = fork();
    if (pid != 0)
        PyOS_AfterFork_Parent();
    return pid;
}

void
python_after_fork(void)
{
    PyOS_AfterFork_Child();
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

int
python_call(const char *module_name, const char *function, char **strings)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *list = NULL, *result = NULL;
    long value = -1;

    if (module != NULL && strings == NULL)
        result = PyObject_CallMethod(module, function, NULL);
    else if (module != NULL && (list = list_of(strings)) != NULL)
        result = PyObject_CallMethod(module, function, "(O)", list);
    if (result != NULL)
        value = PyLong_AsLong(result);
    if (PyErr_Occurred())
        die_of_exception(module_name);
    Py_XDECREF(result);
    Py_XDECREF(list);
    Py_DECREF(module);
    return (int)value;
}

#include "native.h"

#include "png.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { TEXTS_MAX = 32 };

/* What native_reseed() fills; kept for good. */
static Py_buffer random_state;

#define METRES_PER_INCH 0.0254
#define DPI_MAX 1e6

/* The bytes as a string, borrowed, or NULL with an exception set. */
static const char *
string_of(PyObject *bytes)
{
    char *string;

    /* Without a length to fill in, a NUL among them is an error. */
    return PyBytes_AsStringAndSize(bytes, &string, NULL) == 0 ? string : NULL;
}

/* Point texts at what the dict holds. Returns how many, or -1. */
static int
texts_of(PyObject *dict, struct png_text *texts)
{
    Py_ssize_t position = 0;
    PyObject *key, *value;  /* borrowed */
    int count = 0;

    while (PyDict_Next(dict, &position, &key, &value)) {
        struct png_text text = {string_of(key), NULL};

        if (text.key == NULL || (text.value = string_of(value)) == NULL)
            return -1;
        if (PyBytes_GET_SIZE(key) < 1 || PyBytes_GET_SIZE(key) > 79) {
            PyErr_SetString(PyExc_ValueError,
                            "the key of a text must have 1 to 79 bytes");
            return -1;
        }
        if (count == TEXTS_MAX) {
            PyErr_Format(PyExc_ValueError, "more than %d texts", TEXTS_MAX);
            return -1;
        }
        texts[count++] = text;
    }
    return count;
}

/* Take the pixels from the view. Returns 0, or -1 when they cannot be. */
static int
pixels_of(const Py_buffer *view, struct png_picture *picture)
{
    if (view->ndim != 3 || view->itemsize != 1 || view->shape[2] != 4) {
        PyErr_SetString(PyExc_ValueError,
                        "rgba must have height x width x 4 bytes");
        return -1;
    }
    picture->rgba = view->buf;
    picture->height = (size_t)view->shape[0];
    picture->width = (size_t)view->shape[1];
    if (picture->height == 0 || picture->width == 0 ||
        picture->width > PNG_PIXELS_MAX / picture->height) {
        PyErr_Format(PyExc_ValueError, "a PNG cannot have %zd x %zd pixels",
                     view->shape[1], view->shape[0]);
        return -1;
    }
    return 0;
}

static PyObject *
encoded(const struct png_picture *picture)
{
    unsigned char *bytes = NULL;
    PyObject *result;
    size_t len = 0;
    int rc;

    Py_BEGIN_ALLOW_THREADS
    rc = png_encode(picture, &bytes, &len);
    Py_END_ALLOW_THREADS
    if (rc == -1)
        return PyErr_NoMemory();
    result = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)len);
    free(bytes);
    return result;
}

PyDoc_STRVAR(png_doc,
"png($module, rgba, dpi, texts, keep_rgba, /)\n"
"--\n"
"\n"
"The picture as the bytes of a PNG file.\n"
"\n"
"rgba is a contiguous buffer of height x width x 4 bytes; texts maps the\n"
"keys of tEXt chunks to their values, both Latin-1 bytes. The file has a\n"
"palette, RGB or RGBA, whichever is smallest; always RGBA with keep_rgba.\n"
"Other threads run meanwhile. Raises ValueError or BufferError for what is\n"
"no such picture, MemoryError without about twice its size.");

static PyObject *
native_png(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    struct png_text texts[TEXTS_MAX];
    struct png_picture picture = {.texts = texts};
    PyObject *rgba, *dict, *result = NULL;
    Py_buffer view;
    double dpi;
    int keep_rgba, count;

    if (!PyArg_ParseTuple(arguments, "OdO!p:png", &rgba, &dpi, &PyDict_Type,
                          &dict, &keep_rgba))
        return NULL;
    if (!(dpi >= 0 && dpi <= DPI_MAX)) {
        PyErr_Format(PyExc_ValueError, "dpi must be from 0 to %d",
                     (int)DPI_MAX);
        return NULL;
    }
    count = texts_of(dict, texts);
    if (count == -1 ||
        PyObject_GetBuffer(rgba, &view, PyBUF_C_CONTIGUOUS) == -1)
        return NULL;
    picture.text_count = (size_t)count;
    picture.dots_per_metre = (uint32_t)(dpi / METRES_PER_INCH + 0.5);
    picture.keep_rgba = keep_rgba != 0;
    if (pixels_of(&view, &picture) == 0)
        result = encoded(&picture);
    PyBuffer_Release(&view);
    return result;
}

PyDoc_STRVAR(random_state_doc,
"random_state($module, state, /)\n"
"--\n"
"\n"
"Have this writable buffer filled with random bytes in each child.");

static PyObject *
native_random_state(PyObject *Py_UNUSED(module), PyObject *state)
{
    if (PyObject_GetBuffer(state, &random_state, PyBUF_WRITABLE) == -1)
        return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

int
native_reseed(void)
{
    char *at = random_state.buf, *end = at + random_state.len;

    while (at < end) {
        ssize_t len = getrandom(at, (size_t)(end - at), 0);

        if (len == -1 && errno != EINTR)
            return -1;
        at += len > 0 ? len : 0;
    }
    return 0;
}

static PyMethodDef methods[] = {
    {"random_state", native_random_state, METH_O, random_state_doc},
    {"png", native_png, METH_VARARGS, png_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = NATIVE_NAME,
    .m_doc = "What the package sandbox has in C.",
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__sandbox(void)
{
    return PyModuleDef_Init(&module);
}

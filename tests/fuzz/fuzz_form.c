/*
 * Any bytes as a form. The first line of the input is what follows the media
 * type in Content-Type; without that, the form is urlencoded. What is handed
 * out must keep what form.h promises. The library's own complaints are faults.
 */

#include "form.h"

#include <stdlib.h>
#include <string.h>

#include <glib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
    if (!holds)
        abort();
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
    return 0;
}

static void
check_part(const struct form *form)
{
    const struct form_part *part = &form->part;

    must(part->data != NULL && part->data[part->size] == '\0');
    must(part->name.at != NULL);
    must(form->delimiter[0] != '\0' || part->filename == NULL);
    must(form->delimiter[0] != '\0' ||
         part->name.len + part->size <= form->body.len);
    must(part->size <= 2 * form->body.len);
    must(form->at <= form->body.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *end = memchr(text, '\n', size);
    char type[4096];
    struct form form;
    int rc = 0;

    if (end == NULL || end - text > 4000)
        return 0;
    memcpy(mempcpy(stpcpy(type, "multipart/form-data"), text,
                   (size_t)(end - text)), "", 1);
    size -= (size_t)(end + 1 - text);
    if (end == text)
        form_open_urlencoded(&form, (struct span){end + 1, size});
    else
        rc = form_open_multipart(&form, type, (struct span){end + 1, size});
    while (rc == 0 && (rc = form_next(&form)) == 1) {
        check_part(&form);
        rc = 0;
    }
    must((rc == -1) == (form.why[0] != '\0'));
    form_close(&form);
    return 0;
}

#include "title.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static char *room;
static size_t room_size;

void
title_init(int argc, char **argv)
{
    char *end = argv[0] + strlen(argv[0]) + 1;

    for (int i = 1; i < argc && argv[i] == end; i++)
        end += strlen(end) + 1;
    for (char **variable = environ; *variable != NULL; variable++) {
        if (*variable == end)
            end += strlen(end) + 1;
        *variable = strdup(*variable);
        if (*variable == NULL)
            abort();
    }
    room = argv[0];
    room_size = (size_t)(end - room);
}

void
title_set(const char *title)
{
    size_t len = strnlen(title, room_size - 1);

    memcpy(room, title, len);
    memset(room + len, 0, room_size - len);
    prctl(PR_SET_NAME, title, 0, 0, 0);
}

#include "notify.h"

#include "clock.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
notify(const char *format, ...)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path != NULL ? strlen(path) : 0;
    char text[1024];
    va_list arguments;
    int fd;

    if (len == 0 || len >= sizeof(address.sun_path))
        return;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd == -1)
        return;
    memcpy(address.sun_path, path, len);
    if (*path == '@')  /* an abstract one, whose name ends with the length */
        address.sun_path[0] = '\0';
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL,
                 (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}

void
notify_reloading(void)
{
    struct timespec now;

    /* To the microsecond: systemd believes none from before its signal. */
    clock_gettime(CLOCK_MONOTONIC, &now);
    notify("RELOADING=1\nMONOTONIC_USEC=%lld",
           (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

/* Half of what systemd waits for, as its manual wants; 0: it does not. */
static int64_t
watchdog_ms(void)
{
    const char *pid = getenv("WATCHDOG_PID");
    const char *microseconds = getenv("WATCHDOG_USEC");

    if (microseconds == NULL || (pid != NULL && atol(pid) != getpid()))
        return 0;
    return atoll(microseconds) / 2000;
}

int
notify_alive(int wait_ms)
{
    static int64_t next_ms;
    int64_t every_ms = watchdog_ms(), left_ms = next_ms - now_ms();

    if (every_ms <= 0)
        return wait_ms;
    if (left_ms <= 0) {
        notify("WATCHDOG=1");
        next_ms = now_ms() + every_ms;
        left_ms = every_ms;
    }
    return (int)(wait_ms == -1 ? left_ms : MIN(wait_ms, left_ms));
}

/*
 * For `make valgrind` alone: Debian 12's valgrind knows no openat2(), so the
 * same call is made without its restrictions, by openat().
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

long
syscall(long number, ...)
{
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long given[6];
    va_list arguments;

    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        given[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_openat2) {
        const struct open_how *how = (const struct open_how *)given[2];

        return openat((int)given[0], (const char *)given[1], (int)how->flags,
                      (mode_t)how->mode);
    }
    return next(number, given[0], given[1], given[2], given[3], given[4],
                given[5]);
}

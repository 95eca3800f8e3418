#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 511, SYSTEMD_FD = 3 };

bool
is_listening(int fd)
{
    int listens = 0;
    socklen_t size = sizeof(listens);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
           listens != 0;
}

/* The path of a unix socket, or NULL. */
static const char *
unix_path(const struct config *config)
{
    if (strncmp(config->listen, "unix:", 5) == 0)
        return config->listen + 5;
    return config->listen[0] == '/' ? config->listen : NULL;
}

/* A socket file that nobody serves is left over from a killed process. */
static int
remove_stale(const struct sockaddr_un *address)
{
    struct stat status;
    int fd, rc;

    if (lstat(address->sun_path, &status) == -1)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISSOCK(status.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    close(fd);
    if (rc == 0) {
        errno = EADDRINUSE;
        return -1;
    }
    return unlink(address->sun_path);
}

static int
open_unix(const struct config *config, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct passwd *owner = getpwnam(config->user);
    int fd;

    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    if (remove_stale(&address) == -1)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1)
        return -1;
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        (geteuid() != 0 || owner == NULL ||
         chown(path, owner->pw_uid, owner->pw_gid) == 0) &&
        chmod(path, (mode_t)config->listen_mode) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    close(fd);
    return -1;
}

static int
open_tcp(const struct config *config, char *why, size_t why_size)
{
    const struct addrinfo hints = {
        .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM,
    };
    struct addrinfo *addresses;
    char host[256];
    const char *colon = strrchr(config->listen, ':');
    int fd = -1, one = 1, rc;

    snprintf(host, sizeof(host), "%.*s", (int)(colon - config->listen),
             config->listen);
    if (host[0] == '[') {  /* [::1]:9000 */
        memmove(host, host + 1, strlen(host));
        host[strcspn(host, "]")] = '\0';
    }
    rc = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints,
                     &addresses);
    if (rc != 0) {
        snprintf(why, why_size, "cannot look up %s: %s", config->listen,
                 gai_strerror(rc));
        return -1;
    }
    fd = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == -1 ||
        bind(fd, addresses->ai_addr, addresses->ai_addrlen) == -1 ||
        listen(fd, BACKLOG) == -1) {
        snprintf(why, why_size, "cannot listen on %s: %s", config->listen,
                 strerror(errno));
        if (fd != -1)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(addresses);
    return fd;
}

/* One that was opened before us. */
static int
take_handed_over(char *why, size_t why_size)
{
    const char *pid = getenv("LISTEN_PID");  /* sd_listen_fds(3) */
    int fd = STDIN_FILENO, taken, null;

    if (pid != NULL && atol(pid) == getpid())
        fd = SYSTEMD_FD;
    if (!is_listening(fd)) {
        snprintf(why, why_size, "there is no socket to serve: set listen, or "
                 "hand one over as descriptor 0");
        return -1;
    }
    /* In its place nothing, so that it is closed when we close ours. */
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    taken = fcntl(fd, F_DUPFD_CLOEXEC, SYSTEMD_FD + 1);
    if (taken == -1 || null == -1 || dup2(null, fd) == -1)
        snprintf(why, why_size, "cannot take the socket: %s", strerror(errno));
    if (null != -1)
        close(null);
    return taken;
}

int
listen_open(const struct config *config, char *why, size_t why_size)
{
    const char *path = unix_path(config);
    int fd;

    if (config->listen[0] == '\0')
        return take_handed_over(why, why_size);
    if (path == NULL)
        return open_tcp(config, why, why_size);
    fd = open_unix(config, path);
    if (fd == -1)
        snprintf(why, why_size, "cannot listen on %s: %s", path,
                 strerror(errno));
    return fd;
}

void
listen_remove(const struct config *config)
{
    const char *path = unix_path(config);

    if (path != NULL)
        unlink(path);
}

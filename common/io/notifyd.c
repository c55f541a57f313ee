#include "common/io/notifyd.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/log.h"

void notifyd_send(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;
    int fd;

    if (n == 0 || n >= sizeof addr.sun_path)
        return;
    memcpy(addr.sun_path, path, n);
    if (addr.sun_path[0] == '@')
        addr.sun_path[0] = '\0'; /* the abstract name space */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
        log_warn("notify.failed", LOG_STR("state", state), LOG_STR("reason", strerror(errno)));
    if (fd >= 0)
        (void)close(fd);
}

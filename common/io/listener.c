#include "common/io/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/io/tcp.h"
#include "common/io/timer.h"

enum { LISTENER_BACKLOG = 511, LISTENER_BATCH = 64, LISTENER_PAUSE_MS = 100 };

/* A socket of our own under uv_poll: uv_listen() cannot stop accepting, and spins when descriptors
 * run out. */
struct listener {
    struct loop *loop;
    const struct listener_ops *ops;
    void *owner;
    int fd;
    uint16_t port;
    uv_poll_t poll;
    struct timer pause;
    bool closing;
};

enum err_code address_split(const char *address, char **host, uint16_t *port, struct err *err)
{
    struct view head = {address, 0};
    const char *colon = strrchr(address, ':');
    uint64_t number;

    if (!colon)
        return err_set(err, ERR_CONFIG, "address '%s' has no port: write HOST:PORT", address);
    head.n = (size_t)(colon - address);
    if (head.n >= 2 && head.p[0] == '[' && head.p[head.n - 1] == ']')
        head = (struct view){head.p + 1, head.n - 2};
    else if (memchr(head.p, ':', head.n))
        return err_set(err, ERR_CONFIG, "address '%s': write an IPv6 address as [ADDRESS]:PORT",
                       address);
    if (head.n == 0)
        return err_set(err, ERR_CONFIG, "address '%s' has no host: write HOST:PORT", address);
    if (text_u64(view_of(colon + 1), 0, UINT16_MAX, &number, NULL))
        return err_set(err, ERR_CONFIG, "address '%s': the port is a number up to 65535", address);
    *host = view_dup(head);
    *port = (uint16_t)number;
    return ERR_OK;
}

bool address_is_loopback(const char *host)
{
    struct in6_addr six;
    struct in_addr four;

    if (strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &four) == 1)
        return (ntohl(four.s_addr) >> 24) == 127;
    return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static enum err_code listener_address(const char *address, struct sockaddr_storage *out,
                                      struct err *err)
{
    enum err_code rc;
    char *host = NULL;
    const char *numeric;
    uint16_t port;

    rc = address_split(address, &host, &port, err);
    if (rc)
        return rc;
    numeric = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (uv_ip4_addr(numeric, port, (struct sockaddr_in *)out) &&
        uv_ip6_addr(numeric, port, (struct sockaddr_in6 *)out))
        rc = err_set(err, ERR_CONFIG, "address '%s': '%s' is not a numeric address", address, host);
    free(host);
    return rc;
}

/* A listening socket; -1 with errno. */
static int listener_socket(struct sockaddr_storage *addr, uint16_t *port)
{
    socklen_t len =
        addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1, saved;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
        bind(fd, (struct sockaddr *)addr, len) || listen(fd, LISTENER_BACKLOG) ||
        getsockname(fd, (struct sockaddr *)addr, &len)) {
        saved = errno;
        (void)close(fd);
        errno = saved;
        return -1;
    }
    if (addr->ss_family == AF_INET6)
        *port = ntohs(((struct sockaddr_in6 *)addr)->sin6_port);
    else
        *port = ntohs(((struct sockaddr_in *)addr)->sin_port);
    return fd;
}

static void listener_accepted(struct listener *listener, int fd)
{
    struct stream *stream = tcp_new(listener->loop);
    int rc = uv_tcp_open(tcp_handle(stream), fd);

    if (rc) {
        log_warn("listener.lost", LOG_STR("reason", uv_strerror(rc)));
        (void)close(fd);
        stream_close(stream, NULL);
        return;
    }
    tcp_connected(stream);
    listener->ops->on_accept(listener->owner, stream);
}

static void listener_on_ready(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    int i, fd;

    (void)status;
    (void)events;
    for (i = 0; i < LISTENER_BATCH && !listener->closing; i++) {
        fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            listener_accepted(listener, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_warn("listener.paused", LOG_STR("reason", strerror(errno)));
            (void)uv_poll_stop(&listener->poll);
            timer_start(&listener->pause, LISTENER_PAUSE_MS, 0);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static void listener_on_pause_over(struct timer *timer, void *owner)
{
    struct listener *listener = owner;

    (void)timer;
    (void)uv_poll_start(&listener->poll, UV_READABLE, listener_on_ready);
}

enum err_code listener_open(struct loop *loop, const char *address, const struct listener_ops *ops,
                            void *owner, struct listener **out, struct err *err)
{
    struct sockaddr_storage addr;
    struct listener *listener;
    enum err_code rc;
    uint16_t port;
    int fd, uv_rc;

    rc = listener_address(address, &addr, err);
    if (rc)
        return rc;
    fd = listener_socket(&addr, &port);
    if (fd < 0)
        return err_set_sys(err, errno, "listen on %s", address);
    listener = xcalloc(1, sizeof *listener);
    uv_rc = uv_poll_init(&loop->uv, &listener->poll, fd);
    if (uv_rc) {
        (void)close(fd);
        free(listener);
        return err_set_sys(err, -uv_rc, "listen on %s", address);
    }
    listener->loop = loop;
    listener->ops = ops;
    listener->owner = owner;
    listener->fd = fd;
    listener->port = port;
    listener->poll.data = listener;
    timer_init(&listener->pause, loop, listener_on_pause_over, listener);
    (void)uv_poll_start(&listener->poll, UV_READABLE, listener_on_ready);
    *out = listener;
    return ERR_OK;
}

uint16_t listener_port(const struct listener *listener)
{
    return listener->port;
}

static void listener_on_handle_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;

    if (listener->ops->on_closed)
        listener->ops->on_closed(listener->owner);
    free(listener);
}

void listener_close(struct listener *listener)
{
    if (listener->closing)
        return;
    listener->closing = true;
    timer_stop(&listener->pause);
    uv_close((uv_handle_t *)&listener->poll, listener_on_handle_closed);
    /* uv has dropped the descriptor by now; the port is free from here on. */
    (void)close(listener->fd);
}

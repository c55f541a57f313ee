#include "common/io/dialer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/tcp.h"
#include "common/io/timer.h"

enum { DIALER_TRY_MIN_MS = 50 };

/* What uv works on outlives the dialer: each request is an allocation of its own, whose data is the
 * dialer, or NULL once nobody wants the result. */
struct dialer {
    struct loop *loop;
    char *host;
    char port[8];
    dialer_done done;
    void *owner;
    uint64_t until_ms;
    struct timer step;    /* begins, and goes on to the next address, from the loop */
    struct timer timeout; /* of resolving, then of each address */
    uv_getaddrinfo_t *resolving;
    struct addrinfo *addresses, *next;
    uv_connect_t *connecting;
    struct stream *stream; /* being connected */
    struct err why;        /* what went wrong last */
};

static void dialer_drop_try(struct dialer *dialer)
{
    timer_stop(&dialer->timeout);
    if (dialer->connecting)
        dialer->connecting->data = NULL;
    dialer->connecting = NULL;
    if (dialer->stream)
        stream_close(dialer->stream, NULL);
    dialer->stream = NULL;
}

static void dialer_free(struct dialer *dialer)
{
    dialer_drop_try(dialer);
    timer_stop(&dialer->step);
    if (dialer->resolving) {
        dialer->resolving->data = NULL;
        (void)uv_cancel((uv_req_t *)dialer->resolving);
    }
    uv_freeaddrinfo(dialer->addresses);
    free(dialer->host);
    free(dialer);
}

static void dialer_succeed(struct dialer *dialer)
{
    struct stream *stream = dialer->stream;
    dialer_done done = dialer->done;
    void *owner = dialer->owner;

    dialer->stream = NULL;
    dialer->connecting = NULL;
    tcp_connected(stream);
    dialer_free(dialer);
    done(owner, stream, NULL);
}

static void dialer_fail(struct dialer *dialer)
{
    dialer_done done = dialer->done;
    void *owner = dialer->owner;
    struct err why = dialer->why;

    err_prefix(&why, "connect to %s:%s", dialer->host, dialer->port);
    dialer_free(dialer);
    done(owner, NULL, &why);
}

static void dialer_on_connected(uv_connect_t *req, int status)
{
    struct dialer *dialer = req->data;

    free(req);
    if (!dialer)
        return;
    dialer->connecting = NULL;
    if (status == 0) {
        dialer_succeed(dialer);
        return;
    }
    (void)err_set(&dialer->why, ERR_IO, "%s", uv_strerror(status));
    dialer->why.sys = -status;
    dialer_drop_try(dialer);
    timer_start(&dialer->step, 0, 0);
}

/* An even share of the time left for each address left, so that one that swallows packets leaves
 * time for the others. */
static uint64_t dialer_share_ms(const struct dialer *dialer)
{
    uint64_t now_ms = loop_now_ms(dialer->loop);
    uint64_t left_ms = dialer->until_ms > now_ms ? dialer->until_ms - now_ms : 0;
    const struct addrinfo *it;
    unsigned n = 0;

    for (it = dialer->next; it; it = it->ai_next)
        n++;
    left_ms /= n > 0 ? n : 1;
    return left_ms > DIALER_TRY_MIN_MS ? left_ms : DIALER_TRY_MIN_MS;
}

static void dialer_try(struct dialer *dialer)
{
    struct addrinfo *address = dialer->next;
    uv_connect_t *req = xcalloc(1, sizeof *req);
    int rc;

    timer_start(&dialer->timeout, dialer_share_ms(dialer), 0);
    dialer->next = address->ai_next;
    dialer->stream = tcp_new(dialer->loop);
    req->data = dialer;
    rc = uv_tcp_connect(req, tcp_handle(dialer->stream), address->ai_addr, dialer_on_connected);
    if (rc) {
        dialer_on_connected(req, rc); /* frees it */
        return;
    }
    dialer->connecting = req;
}

static const struct addrinfo dialer_hints = {
    .ai_family = AF_UNSPEC,
    .ai_socktype = SOCK_STREAM,
    .ai_flags = AI_NUMERICSERV,
};

static void dialer_on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *addresses)
{
    struct dialer *dialer = req->data;

    free(req);
    if (!dialer) {
        uv_freeaddrinfo(addresses);
        return;
    }
    dialer->resolving = NULL;
    if (status) {
        (void)err_set(&dialer->why, ERR_NOTFOUND, "the name is not known (%s)",
                      uv_strerror(status));
        dialer_fail(dialer);
        return;
    }
    dialer->addresses = dialer->next = addresses;
    dialer_try(dialer);
}

static void dialer_resolve(struct dialer *dialer)
{
    int rc;

    dialer->resolving = xcalloc(1, sizeof *dialer->resolving);
    dialer->resolving->data = dialer;
    rc = uv_getaddrinfo(&dialer->loop->uv, dialer->resolving, dialer_on_resolved, dialer->host,
                        dialer->port, &dialer_hints);
    if (rc)
        dialer_on_resolved(dialer->resolving, rc, NULL);
}

/* A numeric address needs no resolver, and so no thread of the pool, which long jobs may hold. */
static struct addrinfo *dialer_read_numeric(const struct dialer *dialer)
{
    struct addrinfo hints = dialer_hints;
    struct addrinfo *found = NULL;

    hints.ai_flags |= AI_NUMERICHOST;
    return getaddrinfo(dialer->host, dialer->port, &hints, &found) == 0 ? found : NULL;
}

static void dialer_on_step(struct timer *timer, void *owner)
{
    struct dialer *dialer = owner;

    (void)timer;
    if (!dialer->addresses)
        dialer_resolve(dialer);
    else if (dialer->next)
        dialer_try(dialer);
    else
        dialer_fail(dialer);
}

static void dialer_on_timeout(struct timer *timer, void *owner)
{
    struct dialer *dialer = owner;

    (void)timer;
    (void)err_set(&dialer->why, ERR_TIMEOUT, "no answer in time");
    dialer_drop_try(dialer);
    if (dialer->next)
        dialer_try(dialer);
    else
        dialer_fail(dialer);
}

struct dialer *dialer_start(struct loop *loop, const char *host, uint16_t port, uint64_t timeout_ms,
                            dialer_done done, void *owner)
{
    struct dialer *dialer = xcalloc(1, sizeof *dialer);

    dialer->loop = loop;
    dialer->host = xstrdup(host);
    (void)snprintf(dialer->port, sizeof dialer->port, "%u", (unsigned)port);
    dialer->done = done;
    dialer->owner = owner;
    dialer->until_ms = loop_now_ms(loop) + timeout_ms;
    timer_init(&dialer->step, loop, dialer_on_step, dialer);
    timer_init(&dialer->timeout, loop, dialer_on_timeout, dialer);
    dialer->addresses = dialer->next = dialer_read_numeric(dialer);
    timer_start(&dialer->step, 0, 0);
    timer_start(&dialer->timeout, timeout_ms, 0);
    return dialer;
}

void dialer_cancel(struct dialer *dialer)
{
    dialer_free(dialer);
}

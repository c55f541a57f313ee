#include "common/io/tcp.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

struct tcp {
    struct stream stream;
    uv_tcp_t handle;
    uv_shutdown_t shutdown;
    size_t n_writes; /* in uv's queue */
};

/* One buffer in uv's queue. */
struct tcp_write {
    uv_write_t req;
    struct tcp *tcp;
    char *bytes;
    size_t n; /* how many of them uv was given */
};

static void tcp_fail(struct tcp *tcp, int uv_code, const char *what)
{
    struct err err;

    (void)err_set_sys(&err, -uv_code, "%s", what);
    stream_fail(&tcp->stream, &err);
}

static void tcp_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct tcp *tcp = handle->data;

    (void)suggested;
    *buf = uv_buf_init(tcp->stream.loop->read_buffer, LOOP_READ_BYTES);
}

static void tcp_on_read(uv_stream_t *handle, ssize_t n, const uv_buf_t *buf)
{
    struct tcp *tcp = handle->data;

    if (n > 0)
        stream_data(&tcp->stream, view_bytes(buf->base, (size_t)n));
    else if (n == UV_EOF)
        stream_ended(&tcp->stream);
    else if (n < 0)
        tcp_fail(tcp, (int)n, "read from the connection");
}

static void tcp_read(struct stream *stream, bool on)
{
    struct tcp *tcp = (struct tcp *)stream;
    int rc = 0;

    if (on)
        rc = uv_read_start((uv_stream_t *)&tcp->handle, tcp_on_alloc, tcp_on_read);
    else
        (void)uv_read_stop((uv_stream_t *)&tcp->handle);
    if (rc)
        tcp_fail(tcp, rc, "read from the connection");
}

static void tcp_on_written(uv_write_t *req, int status)
{
    struct tcp_write *write = req->data;
    struct tcp *tcp = write->tcp;
    size_t n = write->n;

    free(write->bytes);
    free(write);
    tcp->n_writes--;
    if (status < 0 && status != UV_ECANCELED)
        tcp_fail(tcp, status, "write to the connection");
    stream_wrote(&tcp->stream, n);
}

/* Gives bytes to uv from its n-th last on, and their memory with them. */
static void tcp_queue(struct tcp *tcp, char *bytes, size_t total, size_t n)
{
    struct tcp_write *write = xmalloc(sizeof *write);
    uv_buf_t buf;
    int rc;

    *write = (struct tcp_write){.tcp = tcp, .bytes = bytes, .n = n};
    write->req.data = write;
    buf.base = bytes + (total - n);
    buf.len = n;
    rc = uv_write(&write->req, (uv_stream_t *)&tcp->handle, &buf, 1, tcp_on_written);
    if (rc) {
        free(bytes);
        free(write);
        tcp_fail(tcp, rc, "write to the connection");
        return;
    }
    tcp->n_writes++;
}

static void tcp_write(struct stream *stream, char *bytes, size_t n)
{
    struct tcp *tcp = (struct tcp *)stream;
    uv_buf_t buf = {.base = bytes, .len = n};
    int rc = UV_EAGAIN;

    if (tcp->n_writes == 0)
        rc = uv_try_write((uv_stream_t *)&tcp->handle, &buf, 1);
    if (rc < 0 && rc != UV_EAGAIN) {
        free(bytes);
        tcp_fail(tcp, rc, "write to the connection");
        return;
    }
    if (rc > 0)
        stream_wrote(stream, (size_t)rc);
    if (rc > 0 && (size_t)rc == n)
        free(bytes);
    else
        tcp_queue(tcp, bytes, n, rc > 0 ? n - (size_t)rc : n);
}

static void tcp_on_shutdown(uv_shutdown_t *req, int status)
{
    struct tcp *tcp = req->data;

    if (status < 0 && status != UV_ECANCELED)
        tcp_fail(tcp, status, "end the connection");
}

static void tcp_end(struct stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    int rc = uv_shutdown(&tcp->shutdown, (uv_stream_t *)&tcp->handle, tcp_on_shutdown);

    tcp->shutdown.data = tcp;
    if (rc)
        tcp_fail(tcp, rc, "end the connection");
    else
        tcp_read(stream, true);
}

static void tcp_on_handle_closed(uv_handle_t *handle)
{
    struct tcp *tcp = handle->data;

    stream_gone(&tcp->stream);
}

static void tcp_close(struct stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;

    uv_close((uv_handle_t *)&tcp->handle, tcp_on_handle_closed);
}

static void tcp_free(struct stream *stream)
{
    free((struct tcp *)stream);
}

static const struct stream_impl tcp_impl = {
    .read = tcp_read,
    .write = tcp_write,
    .close = tcp_close,
    .free = tcp_free,
    .end = tcp_end,
};

struct stream *tcp_new(struct loop *loop)
{
    struct tcp *tcp = xcalloc(1, sizeof *tcp);

    stream_init(&tcp->stream, loop, &tcp_impl);
    (void)uv_tcp_init(&loop->uv, &tcp->handle); /* makes no socket yet: cannot fail */
    tcp->handle.data = tcp;
    return &tcp->stream;
}

uv_tcp_t *tcp_handle(struct stream *stream)
{
    return &((struct tcp *)stream)->handle;
}

void tcp_connected(struct stream *stream)
{
    struct sockaddr_storage addr;
    int len = sizeof addr;
    char host[48], port[8];

    (void)uv_tcp_nodelay(tcp_handle(stream), 1);
    if (uv_tcp_getpeername(tcp_handle(stream), (struct sockaddr *)&addr, &len) ||
        getnameinfo((struct sockaddr *)&addr, (socklen_t)len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV)) {
        (void)snprintf(stream->peer, sizeof stream->peer, "unknown");
        return;
    }
    (void)snprintf(stream->peer, sizeof stream->peer,
                   addr.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

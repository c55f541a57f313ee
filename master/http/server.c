#include "master/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/vec.h"
#include "common/io/listener.h"
#include "common/io/timer.h"
#include "master/http/framing.h"

enum {
    MEMORY_BYTES = 32 * 1024, /* of each connection: headers in, headers out, one chunk */
    DISCARD_MAX = 16 << 20,   /* of a body that is too large, so that its sender reads the answer */
    STREAM_BLOCK = 64 * 1024,
    CHUNK_BLOCK = 4096, /* what a client of HTTP/1.0 gets at once of a stream without a size */
    DRAIN_TICK_MS = 5,
    SPARE_FILES = 128, /* descriptors left to the rest of the process */
};

struct server {
    struct loop *loop;
    const struct server_ops *ops;
    void *owner;
    struct MHD_Daemon *daemon;
    int listen_fd;
    uint16_t port;
    unsigned limit;
    uv_poll_t poll;
    struct timer again; /* when libmicrohttpd wants to run next without an event */
    struct timer drain;
    uint64_t drain_by_ms;
    size_t n_requests;
    bool polling;
};

struct header {
    char *name, *value;
};

struct stream_source;

/* A connection's, from its first byte to its end. libmicrohttpd tells nothing more of a request
 * whose head it could not take in, not even that it has ended; then the next one or the end does.
 */
struct visit {
    struct request *request; /* that has not been completed */
};

struct request {
    struct server *server;
    struct visit *visit;
    struct MHD_Connection *connection; /* NULL until its headers are here */
    char *target;
    const char *method;
    bool head, handled, asleep;
    bool too_large;      /* the body is thrown away, then refused */
    uint64_t body_bytes; /* received */
    struct str body;
    VEC(struct header) headers;
    struct MHD_Response *response;
    bool queued; /* the response is libmicrohttpd's */
    int status;
    struct stream_source *source;
    void (*gone)(void *arg);
    void *gone_arg;
};

/* What libmicrohttpd keeps of a streamed answer; it may outlive the request by a little. */
struct stream_source {
    struct request *request; /* NULL once that is gone */
    struct request_stream stream;
};

const char *request_method(const struct request *request)
{
    return request->method;
}

bool request_is_head(const struct request *request)
{
    return request->head;
}

struct view request_target(const struct request *request)
{
    return view_of(request->target);
}

struct view request_body(const struct request *request)
{
    return str_view(&request->body);
}

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void request_on_gone(struct request *request, void (*gone)(void *arg), void *arg)
{
    request->gone = gone;
    request->gone_arg = arg;
}

void request_set_header(struct request *request, const char *name, const char *value)
{
    struct header *header;

    VEC_FOREACH (&request->headers, header) {
        if (strcasecmp(header->name, name) == 0) {
            free(header->value);
            header->value = xstrdup(value);
            return;
        }
    }
    header = vec_add(&request->headers);
    *header = (struct header){xstrdup(name), xstrdup(value)};
}

void request_wake(struct request *request)
{
    if (!request->asleep)
        return;
    request->asleep = false;
    MHD_resume_connection(request->connection);
    /* Without a thread of its own the daemon does not wake anybody for it. */
    timer_start(&request->server->again, 0, 0);
}

bool request_is_left(const struct request *request)
{
    const union MHD_ConnectionInfo *info;
    char byte;
    ssize_t n;

    if (!request->asleep)
        return false;
    info = MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return true;
    n = recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* ---- answers ---- */

static void request_respond(struct request *request, int status, struct MHD_Response *response)
{
    struct header *header;

    if (!response)
        abort(); /* out of memory */
    VEC_FOREACH (&request->headers, header) {
        if (MHD_add_response_header(response, header->name, header->value) != MHD_YES)
            log_error("web.header", LOG_STR("name", header->name));
    }
    request->response = response;
    request->status = status;
    request_wake(request);
}

void request_answer(struct request *request, int status, struct str *body)
{
    size_t n = body->n;
    char *bytes = str_detach(body);

    request_respond(request, status,
                    MHD_create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE));
}

void request_answer_constant(struct request *request, int status, const void *bytes, size_t n)
{
    request_respond(
        request, status,
        MHD_create_response_from_buffer(n, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT));
}

static ssize_t source_read(void *arg, uint64_t at, char *out, size_t n)
{
    struct stream_source *source = arg;
    struct request *request = source->request;
    ssize_t got;

    if (!request)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    got = source->stream.read(source->stream.arg, at, out, n);
    if (got > 0)
        return got;
    if (got == STREAM_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (got < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    request->asleep = true;
    MHD_suspend_connection(request->connection);
    return 0;
}

static void source_free(void *arg)
{
    struct stream_source *source = arg;

    if (source->request)
        source->request->source = NULL;
    source->stream.free(source->stream.arg);
    free(source);
}

void request_answer_stream(struct request *request, int status, const struct request_stream *stream)
{
    struct stream_source *source = xcalloc(1, sizeof *source);
    bool sized = stream->size != STREAM_SIZE_UNKNOWN;

    *source = (struct stream_source){request, *stream};
    request->source = source;
    if (stream->stall_s)
        (void)MHD_set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                        stream->stall_s);
    request_respond(request, status,
                    MHD_create_response_from_callback(sized ? stream->size : MHD_SIZE_UNKNOWN,
                                                      sized ? STREAM_BLOCK : CHUNK_BLOCK,
                                                      source_read, source, source_free));
}

/* ---- requests ---- */

static void request_free(struct request *request)
{
    struct header *header;

    if (request->gone)
        request->gone(request->gone_arg);
    if (request->source)
        request->source->request = NULL;
    if (request->response && !request->queued)
        MHD_destroy_response(request->response);
    request->server->n_requests--;
    request->visit->request = NULL;
    VEC_FOREACH (&request->headers, header) {
        free(header->name);
        free(header->value);
    }
    vec_release(&request->headers);
    str_release(&request->body);
    free(request->target);
    free(request);
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct visit *visit = *context;

    (void)arg;
    (void)connection;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = xcalloc(1, sizeof *visit);
        return;
    }
    if (visit->request)
        request_free(visit->request);
    free(visit);
    *context = NULL;
}

/* The first that libmicrohttpd tells of a request, before it reads the headers. */
static void *on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
    struct server *server = arg;
    struct request *request = xcalloc(1, sizeof *request);

    request->visit =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (request->visit->request)
        request_free(request->visit->request);
    request->visit->request = request;
    request->server = server;
    request->target = xstrdup(target);
    request->body = (struct str)STR_INIT(SERVER_BODY_MAX);
    server->n_requests++;
    return request;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode why)
{
    struct request *request = *context;

    (void)arg;
    (void)connection;
    (void)why;
    if (!request)
        return;
    *context = NULL;
    request_free(request);
}

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    framing_add(arg, name, value ? value : "");
    return MHD_YES;
}

static enum MHD_Result queue(struct request *request)
{
    struct MHD_Response *response = request->response;
    enum MHD_Result done =
        MHD_queue_response(request->connection, (unsigned)request->status, response);

    request->queued = true;
    MHD_destroy_response(response); /* the connection has its own reference */
    return done;
}

/* With what follows on the connection unread, since nobody knows where it begins. */
static enum MHD_Result refuse(struct request *request, int status, const char *why)
{
    struct server *server = request->server;

    request->handled = true;
    request_set_header(request, MHD_HTTP_HEADER_CONNECTION, "close");
    server->ops->on_refused(server->owner, request, status, why);
    return queue(request);
}

/* The headers are here, the body is not. */
static enum MHD_Result on_headers(struct request *request, const char *method, const char *version)
{
    struct framing framing = FRAMING_INIT;
    const char *fault;

    request->head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    request->method = request->head ? MHD_HTTP_METHOD_GET : method;
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, on_header, &framing);
    fault = framing_fault(&framing, strcmp(version, MHD_HTTP_VERSION_1_0) != 0);
    if (fault)
        return refuse(request, MHD_HTTP_BAD_REQUEST, fault);
    if (framing.length <= SERVER_BODY_MAX)
        return MHD_YES;
    request->too_large = true;
    if (framing.expect || framing.length > DISCARD_MAX)
        return refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "a body of more than 1 MiB");
    return MHD_YES;
}

static enum MHD_Result on_body(struct request *request, const char *bytes, size_t *n)
{
    request->body_bytes += *n;
    if (request->body_bytes > DISCARD_MAX)
        return MHD_NO;
    if (!request->too_large && str_append(&request->body, bytes, *n, NULL)) {
        request->too_large = true;
        str_release(&request->body);
    }
    *n = 0;
    return MHD_YES;
}

static enum MHD_Result on_access(void *arg, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_bytes, void **context)
{
    struct server *server = arg;
    struct request *request = *context;

    (void)url;
    if (!request)
        return MHD_NO;
    if (!request->connection) {
        request->connection = connection;
        return on_headers(request, method, version);
    }
    if (*upload_bytes > 0)
        return on_body(request, upload, upload_bytes);
    if (!request->handled && request->too_large)
        return refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "a body of more than 1 MiB");
    if (!request->handled) {
        request->handled = true;
        server->ops->on_request(server->owner, request);
    }
    if (request->response)
        return queue(request);
    request->asleep = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

/* ---- the daemon on the loop ---- */

static void server_run(struct server *server)
{
    unsigned long long wait_ms;

    (void)MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &wait_ms) == MHD_YES)
        timer_start(&server->again, wait_ms, 0);
    else
        timer_stop(&server->again);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    server_run(poll->data);
}

static void on_again(struct timer *timer, void *owner)
{
    (void)timer;
    server_run(owner);
}

/* libmicrohttpd's own complaints: about its callers' bytes, most of them. */
static void on_complaint(void *arg, const char *format, va_list args)
{
    char text[512];

    (void)arg;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (vsnprintf(text, sizeof text, format, args) > 0)
        log_debug("web.http", LOG_STR("text", text));
#pragma GCC diagnostic pop
}

static unsigned connection_limit(void)
{
    struct rlimit files;
    rlim_t limit = SERVER_CONNECTIONS;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY &&
        files.rlim_cur < limit + SPARE_FILES)
        limit = files.rlim_cur > 2 * SPARE_FILES ? files.rlim_cur - SPARE_FILES : SPARE_FILES;
    return (unsigned)limit;
}

static enum err_code server_start(struct server *server, struct err *err)
{
    const union MHD_DaemonInfo *info;

    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_access,
        server, MHD_OPTION_EXTERNAL_LOGGER, on_complaint, NULL, MHD_OPTION_LISTEN_SOCKET,
        server->listen_fd, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_BYTES, MHD_OPTION_CONNECTION_LIMIT, server->limit,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVER_IDLE_S, MHD_OPTION_URI_LOG_CALLBACK,
        on_target, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_END);
    if (!server->daemon)
        return err_set(err, ERR_IO, "the HTTP server does not start");
    info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info || uv_poll_init(&server->loop->uv, &server->poll, info->epoll_fd))
        return err_set(err, ERR_IO, "the HTTP server cannot be watched");
    server->polling = true;
    server->poll.data = server;
    (void)uv_poll_start(&server->poll, UV_READABLE, on_ready);
    timer_init(&server->again, server->loop, on_again, server);
    timer_start(&server->again, 0, 0);
    return ERR_OK;
}

/* A listening socket on the address; *port becomes the one that was got. */
static enum err_code open_socket(const char *address, int *out, uint16_t *port, struct err *err)
{
    struct sockaddr_storage to = {.ss_family = AF_UNSPEC};
    struct sockaddr_in *four = (struct sockaddr_in *)&to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&to;
    socklen_t n = sizeof *four;
    char *host = NULL;
    int one = 1;
    int fd = -1;
    enum err_code rc = address_split(address, &host, port, err);

    if (rc)
        return rc;
    if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &four->sin_addr) ==
        1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(*port);
    } else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(*port);
        n = sizeof *six;
    } else {
        rc = err_set(err, ERR_CONFIG, "address '%s': '%s' is not a numeric address", address, host);
    }
    free(host);
    if (rc)
        return rc;
    fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
        bind(fd, (struct sockaddr *)&to, n) || listen(fd, SOMAXCONN) ||
        getsockname(fd, (struct sockaddr *)&to, &n)) {
        rc = err_set_sys(err, errno, "cannot listen on %s", address);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    *out = fd;
    *port = ntohs(to.ss_family == AF_INET ? four->sin_port : six->sin6_port);
    return ERR_OK;
}

enum err_code server_open(struct loop *loop, const char *address, const struct server_ops *ops,
                          void *owner, struct server **out, struct err *err)
{
    struct server *server = xcalloc(1, sizeof *server);
    enum err_code rc;

    server->loop = loop;
    server->ops = ops;
    server->owner = owner;
    server->limit = connection_limit();
    rc = open_socket(address, &server->listen_fd, &server->port, err);
    if (rc) {
        free(server);
        return rc;
    }
    rc = server_start(server, err);
    if (rc) {
        if (server->daemon)
            MHD_stop_daemon(server->daemon); /* closes the socket, too */
        else
            (void)close(server->listen_fd);
        free(server);
        return rc;
    }
    *out = server;
    return ERR_OK;
}

uint16_t server_port(const struct server *server)
{
    return server->port;
}

unsigned server_limit(const struct server *server)
{
    return server->limit;
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct server *server = handle->data;

    MHD_stop_daemon(server->daemon);
    server->daemon = NULL;
    (void)close(server->listen_fd);
    server->ops->on_closed(server->owner);
}

static void on_drain(struct timer *timer, void *owner)
{
    struct server *server = owner;

    server_run(server);
    if (server->n_requests > 0 && loop_now_ms(server->loop) < server->drain_by_ms)
        return;
    timer_stop(timer);
    timer_stop(&server->again);
    uv_close((uv_handle_t *)&server->poll, on_poll_closed);
}

void server_close(struct server *server, uint64_t wait_ms)
{
    /* The socket is ours again; libmicrohttpd may still be woken by it until it has run once more.
     */
    (void)MHD_quiesce_daemon(server->daemon);
    timer_init(&server->drain, server->loop, on_drain, server);
    server->drain_by_ms = loop_now_ms(server->loop) + wait_ms;
    timer_start(&server->drain, 0, DRAIN_TICK_MS);
}

void server_free(struct server *server)
{
    free(server);
}

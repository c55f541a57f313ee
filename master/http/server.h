/*
 * server: HTTP/1.1 on one loop. The only file that knows libmicrohttpd. A request is given to the
 * owner once it is here whole, and is answered at once or later; until then its connection sleeps.
 *
 * Refused before the owner sees it, and the connection closed: a message whose length can be read
 * in two ways (Content-Length given twice, or beside Transfer-Encoding), a header name that is
 * none, two Hosts, a body over SERVER_BODY_MAX.
 */
#ifndef TAILRACE_MASTER_HTTP_SERVER_H
#define TAILRACE_MASTER_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/io/loop.h"

enum {
    SERVER_BODY_MAX = 1 << 20,
    SERVER_CONNECTIONS = 4096, /* at once; fewer when the process may not have so many files open */
    SERVER_IDLE_S = 60,        /* a connection on which nothing moves so long is closed */
};

struct server;
struct request;

struct server_ops {
    /* The request is the owner's until its gone callback. May answer at once. */
    void (*on_request)(void *owner, struct request *request);
    /* Something is wrong with what was sent, and there is no way on: answer with request_answer().
     */
    void (*on_refused)(void *owner, struct request *request, int status, const char *why);
    /* After server_close(): everything is over; server_free() may follow. */
    void (*on_closed)(void *owner);
};

/* address as for listener_open(); with the same errors. Callbacks come from the loop only. */
enum err_code server_open(struct loop *loop, const char *address, const struct server_ops *ops,
                          void *owner, struct server **out, struct err *err) TAILRACE_MUST_CHECK;
uint16_t server_port(const struct server *server);
/* The most connections at once. */
unsigned server_limit(const struct server *server);
/* No new connections; answers that were given are sent for at most wait_ms, then every connection
 * is closed. Sleeping requests must have been answered or ended before. */
void server_close(struct server *server, uint64_t wait_ms);
void server_free(struct server *server); /* NULL allowed */

/* "GET", "POST", ...; a HEAD is a GET whose answer's body is left out by the server. */
const char *request_method(const struct request *request);
bool request_is_head(const struct request *request);
/* Path and query as sent. */
struct view request_target(const struct request *request);
struct view request_body(const struct request *request);
/* NULL when it was not sent. */
const char *request_header(const struct request *request, const char *name);
/* The request is over, answered or not; it is freed after the call. One callback for each request;
 * NULL takes it back. */
void request_on_gone(struct request *request, void (*gone)(void *arg), void *arg);

/* For the answer, which must follow; replaces one of that name. Both are copied. */
void request_set_header(struct request *request, const char *name, const char *value);
/* Answers; the body's bytes are moved out. */
void request_answer(struct request *request, int status, struct str *body);
/* The same with bytes that live as long as the program. */
void request_answer_constant(struct request *request, int status, const void *bytes, size_t n);

enum { STREAM_END = -1, STREAM_BROKEN = -2 };
static const uint64_t STREAM_SIZE_UNKNOWN = UINT64_MAX;

struct request_stream {
    uint64_t size; /* or STREAM_SIZE_UNKNOWN: sent in chunks until STREAM_END */
    /* At most n bytes from `at` on, which only grows. 0: none now, the connection sleeps until
     * request_wake(). STREAM_BROKEN cuts the connection, so that the reader sees that something is
     * missing. */
    ssize_t (*read)(void *arg, uint64_t at, char *out, size_t n);
    void (*free)(void *arg); /* called once, also when nothing was read */
    void *arg;
    unsigned stall_s; /* closed when the reader takes nothing so long; 0: SERVER_IDLE_S */
};

void request_answer_stream(struct request *request, int status,
                           const struct request_stream *stream);
/* The stream has something to read again. Any number of times, and always harmless. */
void request_wake(struct request *request);
/* Whether the other side has closed the connection of a sleeping request, which the server does not
 * notice by itself. */
bool request_is_left(const struct request *request);

#endif

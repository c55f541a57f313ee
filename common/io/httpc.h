/*
 * httpc: a blocking HTTP client for programs without a loop (the command line). One object is one
 * kept-alive connection; it does one request at a time, and http and https only. Redirects are not
 * followed: the answer 3xx is the caller's to judge. Only this module knows libcurl.
 *
 * Not thread-safe. The callbacks run inside httpc_run; they may use another httpc, not the same
 * one.
 */
#ifndef TAILRACE_COMMON_IO_HTTPC_H
#define TAILRACE_COMMON_IO_HTTPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

struct httpc;

enum { HTTPC_VALUE_MAX = 256, HTTPC_CONNECT_MS = 10000, HTTPC_IDLE_MS = 60000 };

/* A response header that the caller wants to see: the name goes in, the value comes out ("" when
 * the answer has none; cut at HTTPC_VALUE_MAX - 1). */
struct httpc_wanted {
    const char *name;
    char value[HTTPC_VALUE_MAX];
};

struct httpc_ops {
    /* The next bytes of the body of an answer with this status. False stops the request. */
    bool (*body)(void *arg, int status, struct view bytes);
    /* Called at least once a second, also while nothing arrives; NULL allowed. False stops the
     * request. */
    bool (*tick)(void *arg);
};

/* All pointers stay the caller's and must live until httpc_run has returned. */
struct httpc_request {
    const char *method; /* NULL: GET */
    const char *url;
    const char *token;          /* sent as "Authorization: Bearer"; NULL or "" sends none */
    const char *const *headers; /* whole lines, "Name: value" */
    size_t headers_n;
    struct view body;         /* an empty one is sent for POST, none for GET */
    const char *content_type; /* of the body; NULL: application/json */
    bool compressed;          /* allow gzip and inflate it before ops->body sees it */
    uint64_t connect_ms;      /* 0: HTTPC_CONNECT_MS */
    uint64_t idle_ms; /* end with ERR_TIMEOUT when nothing moves so long; 0: HTTPC_IDLE_MS */
    struct httpc_wanted *wanted;
    size_t wanted_n;
    const struct httpc_ops *ops; /* NULL: the body is thrown away */
    void *arg;
};

struct httpc_reply {
    int status;   /* 0 when none came */
    bool stopped; /* a callback said false */
};

/* The caller frees it (httpc_free; NULL allowed). */
struct httpc *httpc_new(void);
void httpc_free(struct httpc *c);

/*
 * Does the request. ERR_OK whatever the status, and also when a callback stopped it. Else:
 * ERR_CONFIG the URL is not one, ERR_IO no connection, ERR_AUTH its certificate is not trusted,
 * ERR_TIMEOUT nothing moved, ERR_AGAIN the connection broke before the answer's end, ERR_PROTO what
 * came is not HTTP. reply->status is set on failure too, when a status had come; the sentence in
 * *err does not name the URL.
 */
enum err_code httpc_run(struct httpc *c, const struct httpc_request *request,
                        struct httpc_reply *reply, struct err *err) TAILRACE_MUST_CHECK;

#endif

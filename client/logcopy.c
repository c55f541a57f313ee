#include "client/logcopy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/print.h"
#include "client/uri.h"

enum {
    LOGCOPY_IDLE_MS = 120000, /* a step may be silent for hours; the connection is then made anew */
    LOGCOPY_POLL_MS = 200,
    LOGCOPY_REFUSAL_MAX = 64 * 1024,
};

/* One step's log on its way. */
struct passage {
    struct logcopy *copy;
    int64_t number;
    uint64_t offset;    /* bytes written so far */
    struct str refusal; /* the body of an answer that is no log */
    enum err_code rc;   /* of writing */
    struct err err;
};

const char *logcopy_key(const struct logcopy *copy)
{
    return copy->stderr_log ? "stderr" : "log";
}

enum err_code logcopy_get(struct logcopy *copy, const char *path, struct api_reply *reply,
                          struct err *err)
{
    for (;;) {
        enum err_code rc = api_get(copy->api, path, reply, err);
        enum patience_says says;

        if (rc == ERR_OK || reply->status == 404) {
            if (patience_heard(&copy->patience))
                print_complain("the master is back");
            return rc;
        }
        says = patience_judge(&copy->patience, rc);
        if (says == PATIENCE_OVER)
            return rc;
        if (says == PATIENCE_TELL)
            print_complain("the master is away, waiting for it: %s", err->msg);
        patience_pause(&copy->patience);
    }
}

static bool is_log(int status)
{
    return status == 200 || status == 206;
}

static bool on_bytes(void *arg, int status, struct view bytes)
{
    struct passage *p = arg;

    if (!is_log(status))
        return str_append(&p->refusal, bytes.p, bytes.n, NULL) == ERR_OK;
    if (patience_heard(&p->copy->patience))
        print_complain("the master is back, going on at byte %" PRIu64, p->offset);
    p->rc = print_write(p->copy->fd, bytes, &p->err);
    if (p->rc)
        return false;
    p->offset += bytes.n;
    return true;
}

/* One request from the byte we have. *status is 0 when no answer came. */
static enum err_code fetch(struct passage *p, int *status, struct err *err)
{
    static const struct httpc_ops ops = {on_bytes, NULL};
    struct logcopy *copy = p->copy;
    struct str path = STR_INIT(URI_MAX);
    struct httpc_reply reply;
    struct httpc_request request = {.token = copy->api->token,
                                    .compressed = !copy->follow && p->offset == 0,
                                    .idle_ms = LOGCOPY_IDLE_MS,
                                    .ops = &ops,
                                    .arg = p};
    char *url;
    enum err_code rc;

    str_printf(&path, "/builds/%" PRIu64 "/steps/%" PRId64 "/log", copy->build, p->number);
    uri_query_u64(&path, "attempt", (uint64_t)copy->attempt);
    if (copy->stderr_log)
        uri_query(&path, "stream", "stderr");
    if (p->offset)
        uri_query_u64(&path, "offset", p->offset);
    if (copy->follow)
        uri_query_u64(&path, "follow", 1);
    url = api_url(copy->api, str_cstr(&path));
    request.url = url;
    str_clear(&p->refusal);
    rc = httpc_run(copy->api->http, &request, &reply, err);
    *status = reply.status;
    free(url);
    str_release(&path);
    if (p->rc) {
        *err = p->err;
        return p->rc;
    }
    /* 404: the step has no log yet, or never; 416: nothing behind our last byte. The step tells
     * which. */
    if (rc == ERR_OK && !is_log(reply.status) && reply.status != 404 && reply.status != 416)
        rc = api_refusal(reply.status, str_view(&p->refusal), err);
    return rc;
}

/* Whether the step waits for a start that will never be: its build is over, or has another attempt.
 */
static enum err_code never_starts(struct passage *p, bool *never, struct err *err)
{
    struct logcopy *copy = p->copy;
    struct api_reply reply = API_REPLY_INIT;
    struct str path = STR_INIT(URI_MAX);
    const char *state;
    enum err_code rc;

    str_printf(&path, "/builds/%" PRIu64, copy->build);
    rc = logcopy_get(copy, str_cstr(&path), &reply, err);
    if (rc == ERR_OK) {
        state = json_get_text(reply.doc, "state");
        *never = (state && strcmp(state, "finished") == 0) ||
                 json_get_int(reply.doc, "attempt", 0) > copy->attempt;
    }
    str_release(&path);
    api_reply_release(&reply);
    return rc;
}

/* Whether all bytes that there will ever be have been copied. */
static enum err_code is_complete(struct passage *p, bool *complete, struct err *err)
{
    struct logcopy *copy = p->copy;
    struct api_reply reply = API_REPLY_INIT;
    struct str path = STR_INIT(URI_MAX);
    const char *state;
    enum err_code rc;

    str_printf(&path, "/builds/%" PRIu64 "/steps/%" PRId64, copy->build, p->number);
    uri_query_u64(&path, "attempt", (uint64_t)copy->attempt);
    rc = logcopy_get(copy, str_cstr(&path), &reply, err);
    if (rc == ERR_OK) {
        int64_t bytes = json_get_int(json_get(reply.doc, logcopy_key(copy)), "bytes", 0);

        state = json_get_text(reply.doc, "state");
        if (!copy->follow)
            *complete = true;
        else if (state && strcmp(state, "waiting") == 0)
            rc = never_starts(p, complete, err);
        else
            *complete = state && strcmp(state, "finished") == 0 && p->offset >= (uint64_t)bytes;
    }
    str_release(&path);
    api_reply_release(&reply);
    return rc;
}

/* A request that ended badly: waits, or gives the error back. */
static enum err_code broken(struct passage *p, enum err_code rc, struct err *err)
{
    switch (patience_judge(&p->copy->patience, rc)) {
    case PATIENCE_OVER:
        return rc;
    case PATIENCE_TELL:
        print_complain("the log broke off at byte %" PRIu64 ", going on when possible: %s",
                       p->offset, err->msg);
        break;
    case PATIENCE_AGAIN:
        break;
    }
    patience_pause(&p->copy->patience);
    return ERR_OK;
}

static enum err_code run(struct passage *p, struct err *err)
{
    bool complete = false;
    enum err_code rc = ERR_OK;

    while (rc == ERR_OK && !complete) {
        uint64_t before = p->offset;
        int status = 0;

        rc = fetch(p, &status, err);
        if (p->rc)
            return rc;
        if (rc) {
            rc = broken(p, rc, err);
            continue;
        }
        if (!p->copy->follow && is_log(status))
            return ERR_OK;
        rc = is_complete(p, &complete, err);
        if (rc == ERR_OK && !complete && p->offset == before)
            retry_sleep(LOGCOPY_POLL_MS);
    }
    return rc;
}

enum err_code logcopy_step(struct logcopy *copy, int64_t number, struct err *err)
{
    struct passage p = {.copy = copy, .number = number, .refusal = STR_INIT(LOGCOPY_REFUSAL_MAX)};
    enum err_code rc = run(&p, err);

    if (p.rc && p.err.sys == EPIPE) {
        copy->reader_gone = true;
        rc = ERR_OK;
    }
    str_release(&p.refusal);
    return rc;
}

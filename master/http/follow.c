#include "master/http/follow.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/http/site.h"

enum { STALL_S = 600 }; /* a reader may be a person with a pager */

struct follow {
    struct follows *follows;
    struct request *request; /* NULL: gone; the stream is freed soon */
    struct steplog log;
    struct log_view *view; /* as of log.info; NULL while there is nothing */
    uint64_t offset;       /* of the stream's first byte */
    bool stale;            /* the log may have grown, or ended */
    bool cut;
    struct follow *prev, *next;
};

struct follows {
    struct site *site;
    struct follow *list;
};

static enum err_code follow_refresh(struct follow *follow, struct err *err)
{
    struct site *site = follow->follows->site;
    struct steplog log;
    struct log_view *view = NULL;
    enum err_code rc = steplog_read(site->reader, &follow->log.name, &log, err);

    if (rc == ERR_OK && log.info.bytes > follow->log.info.bytes)
        rc = steplog_open(site->logs, &log, &view, err);
    if (rc)
        return rc;
    if (view) {
        log_view_close(follow->view);
        follow->view = view;
    }
    follow->log = log;
    follow->stale = false;
    return ERR_OK;
}

static ssize_t follow_read(void *arg, uint64_t at, char *out, size_t n)
{
    struct follow *follow = arg;
    uint64_t offset = follow->offset + at;
    struct err err = ERR_INIT;
    enum err_code rc = ERR_OK;
    size_t got = 0;

    if (follow->cut)
        return STREAM_BROKEN;
    if (follow->stale && offset >= follow->log.info.bytes)
        rc = follow_refresh(follow, &err);
    if (rc == ERR_OK && offset < follow->log.info.bytes)
        rc = log_view_read(follow->view, offset, out, n, &got, &err);
    if (rc) {
        log_warn("web.follow", LOG_ID("build", follow->log.name.build),
                 LOG_INT("step", follow->log.name.step), LOG_ERR(&err));
        return STREAM_BROKEN;
    }
    if (got == 0 && follow->log.complete)
        return STREAM_END;
    return (ssize_t)got;
}

static void follow_leave(struct follow *follow)
{
    if (!follow->request)
        return;
    follow->request = NULL;
    DL_DELETE(follow->follows->list, follow);
    follow->follows->site->n_streams--;
}

static void on_gone(void *arg)
{
    follow_leave(arg);
}

static void follow_free(void *arg)
{
    struct follow *follow = arg;

    if (follow->request)
        request_on_gone(follow->request, NULL, NULL);
    follow_leave(follow);
    log_view_close(follow->view);
    free(follow);
}

void follows_start(struct follows *follows, struct request *request, const struct steplog *log,
                   uint64_t offset)
{
    struct follow *follow = xcalloc(1, sizeof *follow);
    const struct request_stream stream = {.size = STREAM_SIZE_UNKNOWN,
                                          .read = follow_read,
                                          .free = follow_free,
                                          .arg = follow,
                                          .stall_s = STALL_S};

    *follow = (struct follow){.follows = follows, .request = request, .log = *log};
    follow->offset = offset;
    /* The first read opens the view. */
    follow->log.info = (struct log_info){0, 0, 0};
    follow->stale = true;
    DL_APPEND(follows->list, follow);
    follows->site->n_streams++;
    request_on_gone(request, on_gone, follow);
    request_answer_stream(request, 200, &stream);
}

static bool concerns(const struct follow *follow, const struct event *event)
{
    const struct log_name *name = &follow->log.name;

    if (event->kind == EVENT_BUILD)
        return event->build.id == name->build;
    return event->build_id == name->build && event->attempt == name->attempt &&
           event->step.number == name->step;
}

void follows_event(struct follows *follows, const struct event *event)
{
    struct follow *follow;

    if (event->kind != EVENT_BUILD && event->kind != EVENT_STEP && event->kind != EVENT_LOG)
        return;
    DL_FOREACH (follows->list, follow) {
        if (!concerns(follow, event))
            continue;
        follow->stale = true;
        request_wake(follow->request);
    }
}

void follows_patrol(struct follows *follows)
{
    struct follow *follow;

    DL_FOREACH (follows->list, follow) {
        if (!request_is_left(follow->request))
            continue;
        follow->cut = true;
        request_wake(follow->request);
    }
}

void follows_stop(struct follows *follows)
{
    struct follow *follow;

    DL_FOREACH (follows->list, follow) {
        follow->cut = true;
        request_wake(follow->request);
    }
}

struct follows *follows_new(struct site *site)
{
    struct follows *follows = xcalloc(1, sizeof *follows);

    follows->site = site;
    return follows;
}

void follows_free(struct follows *follows)
{
    free(follows);
}

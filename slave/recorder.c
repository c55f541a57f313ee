#include "slave/recorder.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/timer.h"

/* A record that waits, with what it points to. */
struct waiting {
    struct waiting *prev, *next;
    struct msg record;
    void *owned;
};

struct recorder {
    struct loop *loop;
    struct journal *journal; /* NULL once muted */
    const struct recorder_ops *ops;
    void *owner;
    struct waiting *list;
    bool refused; /* a block, since on_room */
    bool full, full_told;
    bool discarding; /* the running step's blocks, until its STEP_FINISHED */
    uint64_t full_since_ms;
    char why[ERR_MSG_MAX];
    struct timer retry;
};

static void recorder_on_retry(struct timer *timer, void *owner);

struct recorder *recorder_new(struct loop *loop, struct journal *journal,
                              const struct recorder_ops *ops, void *owner)
{
    struct recorder *r = xcalloc(1, sizeof *r);

    r->loop = loop;
    r->journal = journal;
    r->ops = ops;
    r->owner = owner;
    timer_init(&r->retry, loop, recorder_on_retry, r);
    return r;
}

static void drop_first(struct recorder *r)
{
    struct waiting *first = r->list;

    DL_DELETE(r->list, first);
    free(first->owned);
    free(first);
}

void recorder_free(struct recorder *r)
{
    if (!r)
        return;
    timer_stop(&r->retry);
    while (r->list)
        drop_first(r);
    free(r);
}

static void note_full(struct recorder *r, const struct err *err)
{
    if (!r->full) {
        log_warn("recorder.held", LOG_ID("build", journal_build(r->journal)), LOG_ERR(err));
        r->full = true;
        r->full_told = false;
        r->full_since_ms = loop_now_ms(r->loop);
    }
    (void)snprintf(r->why, sizeof r->why, "%s", err->msg);
    timer_start(&r->retry, RECORDER_RETRY_MS, 0);
}

/* False: the disk does not take it now. */
static bool append(struct recorder *r, const struct msg *record)
{
    struct err err = ERR_INIT;
    enum err_code rc = journal_append(r->journal, record, &err);

    if (rc == ERR_NOSPACE || rc == ERR_IO) {
        note_full(r, &err);
        return false;
    }
    if (rc) /* a record that does not fit the journal's state: ours, and the program's end below */
        log_error("recorder.refused", LOG_ID("build", journal_build(r->journal)), LOG_ERR(&err));
    assert(!rc);
    r->full = false;
    return true;
}

/* A copy of what the record points to. */
static void keep_pointed(struct waiting *waiting)
{
    struct msg *record = &waiting->record;
    struct view *text = record->type == REC_STEP_FINISHED      ? &record->u.step_finished.reason
                        : record->type == REC_ATTEMPT_FINISHED ? &record->u.attempt_finished.reason
                        : record->type == REC_REVISION         ? &record->u.revision.revision
                                                               : NULL;

    if (text) {
        waiting->owned = view_dup(*text);
        text->p = waiting->owned;
    } else if (record->type == REC_POINTS) {
        waiting->owned = xmemdup(record->u.points.points.v,
                                 record->u.points.points.n * sizeof *record->u.points.points.v);
        record->u.points.points.v = waiting->owned;
    }
}

void recorder_put(struct recorder *r, const struct msg *record)
{
    struct waiting *waiting;

    if (record->type == REC_STEP_STARTED || record->type == REC_STEP_FINISHED)
        r->discarding = false; /* the log that lacks something gets nothing more */
    if (!r->journal || (!r->list && append(r, record)))
        return;
    waiting = xcalloc(1, sizeof *waiting);
    waiting->record = *record;
    keep_pointed(waiting);
    DL_APPEND(r->list, waiting);
}

bool recorder_block(struct recorder *r, const struct msg *block)
{
    if (!r->journal || r->discarding)
        return true;
    if (!r->list && spool_has_room(journal_spool(r->journal)) && append(r, block))
        return true;
    r->refused = true;
    return false;
}

bool recorder_is_clear(const struct recorder *r)
{
    return !r->list;
}

void recorder_retry(struct recorder *r)
{
    bool waited = r->list || r->refused;

    while (r->list && (!r->journal || append(r, &r->list->record)))
        drop_first(r);
    if (r->list || !waited)
        return;
    r->refused = false;
    r->ops->on_room(r->owner);
}

/* The step is to end, and it ends only when the rest of its log is taken. */
static void tell_full(struct recorder *r)
{
    r->full_told = true;
    r->discarding = true;
    r->refused = false;
    r->ops->on_disk_full(r->owner, r->why);
    r->ops->on_room(r->owner);
}

static void recorder_on_retry(struct timer *timer, void *owner)
{
    struct recorder *r = owner;

    (void)timer;
    if (r->full && !r->full_told && loop_now_ms(r->loop) - r->full_since_ms >= RECORDER_PATIENCE_MS)
        tell_full(r);
    recorder_retry(r);
}

void recorder_mute(struct recorder *r)
{
    r->journal = NULL;
    timer_stop(&r->retry);
    while (r->list)
        drop_first(r);
    if (r->refused) /* on_room comes from the loop */
        timer_start(&r->retry, 0, 0);
}

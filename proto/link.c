#include "proto/link.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "common/io/timer.h"

enum {
    LINK_REFUSE_GRACE_MS = 1000,     /* for the last words to get out */
    LINK_OUTPUT_MAX_BYTES = 8 << 20, /* above all that a session can have queued */
};

struct link {
    struct loop *loop;
    struct stream *stream;
    struct session *session;
    const struct link_ops *ops;
    void *owner;
    struct timer timer;
    bool feeding;   /* within session_input(): what is queued goes out at its end, together */
    bool closing;   /* only on_closed is still to come */
    bool bulk_open; /* the owner knows that there is room for bulk */
};

/* --- out --- */

/* Hands frames to the stream: all, or as much as keeps it from being full. */
static void push(struct link *link, bool all)
{
    while (session_has_output(link->session) && (all || !stream_is_full(link->stream))) {
        struct str out = STR_INIT(LINK_OUTPUT_MAX_BYTES);
        size_t pending = stream_pending(link->stream);
        size_t room = pending < STREAM_HIGH_BYTES ? STREAM_HIGH_BYTES - pending : 1;
        size_t n;

        session_output(link->session, &out, all ? SIZE_MAX : room);
        n = out.n;
        stream_write(link->stream, str_detach(&out), n);
    }
}

/* The timer may well fire too early: what comes in moves the due time, but not the timer. */
static void rearm(struct link *link)
{
    uint64_t due_ms = session_next_tick_ms(link->session);
    uint64_t now_ms = loop_now_ms(link->loop);

    if (due_ms == UINT64_MAX)
        return;
    if (timer_is_running(&link->timer) && link->timer.due_ms <= due_ms)
        return;
    timer_start(&link->timer, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

void link_flush(struct link *link)
{
    if (link->closing || link->feeding)
        return;
    push(link, false);
    rearm(link);
}

bool link_can_send_bulk(const struct link *link)
{
    return !link->closing && session_bulk_room(link->session);
}

static void tell_bulk_room(struct link *link)
{
    if (link->bulk_open || !link_can_send_bulk(link))
        return;
    link->bulk_open = true;
    if (link->ops->on_bulk_room)
        link->ops->on_bulk_room(link->owner);
}

enum err_code link_send(struct link *link, const struct msg *msg)
{
    struct err err = ERR_INIT;
    enum err_code rc = session_send(link->session, msg, &err);

    if (!session_bulk_room(link->session))
        link->bulk_open = false;
    if (rc == ERR_LIMIT)
        link_close(link, &err);
    if (!rc)
        link_flush(link);
    return rc;
}

/* --- the end --- */

void link_close(struct link *link, const struct err *why)
{
    link->closing = true;
    timer_stop(&link->timer);
    session_stop(link->session);
    stream_close(link->stream, why);
}

/* Closes once what the session has still to say is out. */
static void finish(struct link *link, const struct err *why, unsigned grace_ms)
{
    link->closing = true;
    timer_stop(&link->timer);
    push(link, true);
    session_stop(link->session);
    stream_finish(link->stream, why, grace_ms);
}

void link_refuse(struct link *link, const char *code, const char *reason, uint64_t retry_ms)
{
    struct err why;

    if (link->closing)
        return;
    (void)err_set(&why, ERR_AUTH, "refused (%s): %s", code, reason);
    session_refuse(link->session, code, reason, retry_ms);
    finish(link, &why, LINK_REFUSE_GRACE_MS);
}

void link_bye(struct link *link, const char *reason, unsigned grace_ms)
{
    struct msg bye = {.type = MSG_BYE, .u.bye.reason = view_of(reason)};
    struct err why;

    if (link->closing)
        return;
    (void)err_set(&why, ERR_CANCELED, "%s", reason);
    if (session_send(link->session, &bye, NULL) == ERR_OK)
        finish(link, &why, grace_ms);
    else
        link_close(link, &why); /* not READY: there is nobody to take leave of */
}

/* --- what the stream and the clock say --- */

static void link_on_data(void *owner, struct view bytes)
{
    struct link *link = owner;
    struct err err = ERR_INIT;
    enum err_code rc;

    link->feeding = true;
    rc = session_input(link->session, bytes, loop_now_ms(link->loop), &err);
    link->feeding = false;
    if (link->closing)
        return;
    if (rc) {
        finish(link, &err, LINK_REFUSE_GRACE_MS);
        return;
    }
    link_flush(link);
    tell_bulk_room(link);
}

static void link_on_drain(void *owner)
{
    struct link *link = owner;

    link_flush(link);
    tell_bulk_room(link);
}

static void link_on_closed(void *owner, const struct err *why)
{
    struct link *link = owner;

    link->closing = true;
    timer_stop(&link->timer);
    session_stop(link->session);
    link->ops->on_closed(link->owner, why);
    session_free(link->session);
    free(link);
}

static void link_on_timer(struct timer *timer, void *owner)
{
    struct link *link = owner;
    bool was_ready = session_state(link->session) == SESSION_READY;
    struct err err = ERR_INIT;
    enum err_code rc = session_tick(link->session, loop_now_ms(link->loop), &err);

    (void)timer;
    if (!rc)
        link_flush(link);
    else if (rc == ERR_TIMEOUT && was_ready)
        link_close(link, &err); /* a dead peer hears no last words */
    else
        finish(link, &err, LINK_REFUSE_GRACE_MS);
}

struct link *link_new(struct loop *loop, struct stream *stream, const struct session_config *config,
                      const struct link_ops *ops, void *owner)
{
    static const struct stream_ops stream_ops = {
        .on_data = link_on_data,
        .on_drain = link_on_drain,
        .on_closed = link_on_closed,
    };
    struct link *link = xcalloc(1, sizeof *link);

    link->loop = loop;
    link->stream = stream;
    link->ops = ops;
    link->owner = owner;
    link->session = session_new(config, &ops->session, owner, loop_now_ms(loop));
    timer_init(&link->timer, loop, link_on_timer, link);
    stream_own(stream, &stream_ops, link);
    stream_read(stream, true);
    rearm(link);
    return link;
}

struct session *link_session(struct link *link)
{
    return link->session;
}

const char *link_peer(const struct link *link)
{
    return link->stream->peer;
}

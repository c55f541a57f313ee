#include "proto/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/session_impl.h"

static const char *const state_names[] = {
    [SESSION_EXPECT_HELLO] = "expect-hello",
    [SESSION_DECIDING] = "deciding",
    [SESSION_EXPECT_PROOF] = "expect-proof",
    [SESSION_HELLO_SENT] = "hello-sent",
    [SESSION_CHALLENGED] = "challenged",
    [SESSION_READY] = "ready",
    [SESSION_FAILED] = "failed",
};

#define TO(state) (1U << (state))

/* From each state, where it may go. */
static const unsigned moves[] = {
    [SESSION_EXPECT_HELLO] = TO(SESSION_DECIDING) | TO(SESSION_FAILED),
    [SESSION_DECIDING] = TO(SESSION_EXPECT_PROOF) | TO(SESSION_READY) | TO(SESSION_FAILED),
    [SESSION_EXPECT_PROOF] = TO(SESSION_DECIDING) | TO(SESSION_FAILED),
    [SESSION_HELLO_SENT] = TO(SESSION_CHALLENGED) | TO(SESSION_READY) | TO(SESSION_FAILED),
    [SESSION_CHALLENGED] = TO(SESSION_READY) | TO(SESSION_FAILED),
    [SESSION_READY] = TO(SESSION_FAILED),
    [SESSION_FAILED] = 0,
};

const char *session_state_name(enum session_state state)
{
    return state_names[state];
}

enum session_state session_state(const struct session *session)
{
    return session->state;
}

void session_enter(struct session *session, enum session_state to)
{
    assert(moves[session->state] & TO(to));
    session->state = to;
    if (to == SESSION_READY)
        session->reader.max_bytes = FRAME_MAX_BYTES;
    if (to == SESSION_READY || to == SESSION_FAILED) {
        handshake_free(session->handshake);
        session->handshake = NULL;
    }
    if (to == SESSION_FAILED)
        outbox_drop(&session->outbox, MSG_LANE_BULK);
}

struct session *session_new(const struct session_config *config, const struct session_ops *ops,
                            void *owner, uint64_t now_ms)
{
    struct session *session = xcalloc(1, sizeof *session);
    uint64_t ping_ms = config->ping_after_ms ? config->ping_after_ms : SESSION_PING_AFTER_MS;
    uint64_t drop_ms = config->drop_after_ms ? config->drop_after_ms : SESSION_DROP_AFTER_MS;

    session->role = config->role;
    session->state = config->role == SESSION_MASTER ? SESSION_EXPECT_HELLO : SESSION_HELLO_SENT;
    session->ops = ops;
    session->owner = owner;
    session->handshake = handshake_new(config->secret);
    frame_reader_init(&session->reader, FRAME_MAX_HANDSHAKE_BYTES);
    outbox_init(&session->outbox, SESSION_CONTROL_MAX_BYTES,
                SESSION_BULK_WAITING_BYTES + FRAME_HEADER_BYTES + FRAME_MAX_BYTES);
    heartbeat_init(&session->heartbeat, ping_ms, drop_ms, now_ms);
    session->handshake_until_ms =
        now_ms + (config->handshake_ms ? config->handshake_ms : SESSION_HANDSHAKE_MS);
    session->window_bytes = config->credit_bytes ? config->credit_bytes : SESSION_CREDIT_BYTES;
    return session;
}

void session_free(struct session *session)
{
    if (!session)
        return;
    handshake_free(session->handshake);
    frame_reader_release(&session->reader);
    outbox_release(&session->outbox);
    msg_arena_free(session->arena);
    free(session->broken);
    free(session);
}

void session_stop(struct session *session)
{
    if (session->state != SESSION_FAILED)
        session_enter(session, SESSION_FAILED);
}

/* --- what goes out --- */

void session_say(struct session *session, const struct msg *msg)
{
    struct err err = ERR_INIT;
    size_t n;

    if (outbox_add(&session->outbox, msg, &n, &err) != ERR_OK && !session->broken)
        session->broken = xmemdup(&err, sizeof err);
}

bool session_bulk_room(const struct session *session)
{
    return session->state == SESSION_READY && session->credit_bytes > 0 &&
           outbox_waiting(&session->outbox, MSG_LANE_BULK) < SESSION_BULK_WAITING_BYTES;
}

static bool may_send(enum session_role role, enum msg_type type)
{
    unsigned side = role == SESSION_MASTER ? MSG_FROM_MASTER : MSG_FROM_SLAVE;

    /* The handshake is the session's own. */
    return type > MSG_REFUSED && msg_lane(type) != MSG_LANE_RECORD && (msg_sender(type) & side);
}

enum err_code session_send(struct session *session, const struct msg *msg, struct err *err)
{
    bool bulk = msg_lane(msg->type) == MSG_LANE_BULK;
    size_t n;
    enum err_code rc;

    assert(may_send(session->role, msg->type));
    if (session->state != SESSION_READY)
        return err_set(err, ERR_CANCELED, "%s: the session is %s", msg_name(msg->type),
                       session_state_name(session->state));
    if (bulk && !session_bulk_room(session))
        return err_set(err, ERR_AGAIN, "%s: no room", msg_name(msg->type));
    rc = outbox_add(&session->outbox, msg, &n, err);
    if (!rc && bulk)
        session->credit_bytes -= (int64_t)n;
    return rc;
}

void session_output(struct session *session, struct str *out, size_t most_bytes)
{
    outbox_take(&session->outbox, out, most_bytes);
}

bool session_has_output(const struct session *session)
{
    return outbox_waiting(&session->outbox, MSG_LANE_CONTROL) > 0 ||
           outbox_waiting(&session->outbox, MSG_LANE_BULK) > 0;
}

static void say_ping(struct session *session)
{
    struct msg msg = {.type = MSG_PING, .u.ping = {session->pings++}};

    session_say(session, &msg);
}

/* --- credit --- */

/* A peer with no credit left may not send: what it used is what we still owe, in words or not. */
static enum err_code take_bulk(struct session *session, const struct msg *msg, struct err *err)
{
    uint64_t used_bytes = session->owed_bytes + session->unsaid_bytes;

    if (used_bytes >= session->window_bytes)
        return err_set(err, ERR_PROTO,
                       "%s without credit: %" PRIu64 " bytes of %" PRIu64 " are used",
                       msg_name(msg->type), used_bytes, session->window_bytes);
    session->owed_bytes += session->frame_bytes;
    return ERR_OK;
}

void session_granted(struct session *session, uint64_t bytes)
{
    struct msg msg = {.type = MSG_CREDIT};

    if (session->state == SESSION_FAILED)
        return;
    assert(session->state == SESSION_READY && bytes <= session->owed_bytes);
    session->owed_bytes -= bytes;
    session->unsaid_bytes += bytes;
    if (session->unsaid_bytes < session->window_bytes / 4)
        return;
    msg.u.credit.bytes = session->unsaid_bytes;
    session->unsaid_bytes = 0;
    session_say(session, &msg);
}

uint64_t session_owed(const struct session *session)
{
    return session->owed_bytes;
}

size_t session_frame_bytes(const struct session *session)
{
    return session->frame_bytes;
}

static void take_credit(struct session *session, uint64_t bytes)
{
    int64_t most = INT64_MAX - (session->credit_bytes > 0 ? session->credit_bytes : 0);

    session->credit_bytes += bytes > (uint64_t)most ? most : (int64_t)bytes;
}

/* --- what comes in --- */

static enum err_code ready_message(struct session *session, const struct msg *msg, struct err *err)
{
    enum session_role peer = session->role == SESSION_MASTER ? SESSION_SLAVE : SESSION_MASTER;
    struct msg answer = {.type = MSG_PONG};
    enum err_code rc = ERR_OK;

    if (!may_send(peer, msg->type))
        return err_set(err, ERR_PROTO, "%s in state ready", msg_name(msg->type));
    switch (msg->type) {
    case MSG_PING:
        answer.u.pong.token = msg->u.ping.token;
        return session_send(session, &answer, err);
    case MSG_PONG: /* any byte is a sign of life, this one has no other news */
        return ERR_OK;
    case MSG_CREDIT:
        take_credit(session, msg->u.credit.bytes);
        return ERR_OK;
    default:
        if (msg_lane(msg->type) == MSG_LANE_BULK)
            rc = take_bulk(session, msg, err);
        if (!rc)
            session->ops->on_message(session->owner, msg);
        return rc;
    }
}

static enum err_code take_frame(struct session *session, struct view body, struct err *err)
{
    struct msg msg;
    enum err_code rc;

    if (!session->arena)
        session->arena = msg_arena_new();
    rc = msg_decode(session->arena, body, &msg, err);
    if (rc)
        return rc;
    session->frame_bytes = FRAME_HEADER_BYTES + body.n;
    return session->state == SESSION_READY ? ready_message(session, &msg, err)
                                           : handshake_message(session, &msg, err);
}

/* The end because of an error; the last words tell the peer. */
static void fail(struct session *session, const struct err *why)
{
    struct msg bye = {.type = MSG_BYE, .u.bye.reason = view_of(why->msg)};

    if (session->state == SESSION_FAILED)
        return;
    if (session->state == SESSION_READY)
        session_say(session, &bye);
    else
        handshake_reject(session, why->msg);
    session_stop(session);
}

enum err_code session_input(struct session *session, struct view bytes, uint64_t now_ms,
                            struct err *err)
{
    struct err why = ERR_INIT;
    enum err_code rc = ERR_OK;
    struct view body;

    if (bytes.n > 0)
        heartbeat_seen(&session->heartbeat, now_ms);
    while (!rc && session->state != SESSION_FAILED) {
        rc = frame_next(&session->reader, &bytes, &body, &why);
        if (!rc)
            rc = take_frame(session, body, &why);
    }
    msg_arena_free(session->arena);
    session->arena = NULL;
    if (rc == ERR_AGAIN)
        return ERR_OK;
    frame_reader_release(&session->reader);
    if (!rc)
        return ERR_OK; /* ended by our own side */
    fail(session, &why);
    if (err)
        *err = why;
    return rc;
}

/* --- time --- */

enum err_code session_tick(struct session *session, uint64_t now_ms, struct err *err)
{
    struct err why = ERR_INIT;

    if (session->state == SESSION_FAILED)
        return ERR_OK;
    if (session->broken) {
        why = *session->broken;
    } else if (session->state != SESSION_READY) {
        if (now_ms < session->handshake_until_ms)
            return ERR_OK;
        (void)err_set(&why, ERR_TIMEOUT, "the handshake took too long (state %s)",
                      session_state_name(session->state));
    } else {
        switch (heartbeat_tick(&session->heartbeat, now_ms)) {
        case BEAT_NONE:
            return ERR_OK;
        case BEAT_PING:
            say_ping(session);
            return ERR_OK;
        case BEAT_DROP:
            (void)err_set(&why, ERR_TIMEOUT, "the peer has been silent for %" PRIu64 " ms",
                          now_ms - session->heartbeat.last_rx_ms);
            break;
        }
    }
    fail(session, &why);
    if (err)
        *err = why;
    return why.code;
}

void session_probe(struct session *session, uint64_t now_ms, uint64_t wait_ms)
{
    if (session->state != SESSION_READY)
        return;
    heartbeat_probe(&session->heartbeat, now_ms, wait_ms);
    say_ping(session);
}

uint64_t session_next_tick_ms(const struct session *session)
{
    if (session->state == SESSION_FAILED)
        return UINT64_MAX;
    if (session->broken)
        return 0;
    return session->state == SESSION_READY ? heartbeat_next_ms(&session->heartbeat)
                                           : session->handshake_until_ms;
}

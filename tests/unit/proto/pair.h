/*
 * pair: a master's and a slave's session joined without a stream; each side writes down what it was
 * told. For tests.
 */
#ifndef TAILRACE_TESTS_UNIT_PROTO_PAIR_H
#define TAILRACE_TESTS_UNIT_PROTO_PAIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/session.h"

enum { PAIR_SECRETS_MAX = 3, PAIR_BOX_BYTES = 16 << 20 };

struct side {
    struct session *session;
    struct str heard; /* "hello(linux-01) proved " ... */
    struct err err;   /* why it ended */
    enum err_code rc;
    struct str wire;   /* its output, on the way to the other */
    size_t bulk_bytes; /* of bulk frames delivered */
    bool grants;       /* gives bulk back at once */
    /* What a master does in on_hello and on_proved. */
    struct view secrets[PAIR_SECRETS_MAX];
    size_t n_secrets;
    bool later;               /* nothing: the test decides */
    const char *refuses_with; /* a code */
    bool stops;               /* in on_message */
};

struct pair {
    struct side master, slave;
    uint64_t now_ms;
};

static inline void side_hears(struct side *side, const char *what, struct view detail)
{
    str_printf(&side->heard, "%s(%.*s) ", what, VIEW_ARG(detail));
}

static inline void side_welcomes(struct side *side)
{
    struct msg_known known[] = {{12, 1, 40, true}};
    struct msg_welcome welcome = {.boot_id = view_of("master-boot"), .known = {known, 1}};

    session_welcome(side->session, &welcome);
}

static inline void side_on_hello(void *owner, const struct msg_hello *hello)
{
    struct side *side = owner;

    side_hears(side, "hello", hello->name);
    if (side->later)
        return;
    if (side->refuses_with)
        session_refuse(side->session, side->refuses_with, "go away", 60000);
    else if (side->n_secrets)
        session_challenge(side->session, side->secrets, side->n_secrets);
    else
        side_welcomes(side);
}

static inline void side_on_proved(void *owner)
{
    struct side *side = owner;

    side_hears(side, "proved", VIEW_NULL);
    if (!side->later)
        side_welcomes(side);
}

static inline void side_on_welcome(void *owner, const struct msg_welcome *welcome)
{
    side_hears(owner, "welcome", welcome->boot_id);
}

static inline void side_on_refused(void *owner, const struct msg_refused *refused)
{
    side_hears(owner, "refused", refused->code);
}

static inline void side_on_message(void *owner, const struct msg *msg)
{
    struct side *side = owner;

    side_hears(side, "message", view_of(msg_name(msg->type)));
    if (msg_lane(msg->type) == MSG_LANE_BULK) {
        side->bulk_bytes += session_frame_bytes(side->session);
        if (side->grants)
            session_granted(side->session, session_frame_bytes(side->session));
    }
    if (side->stops)
        session_stop(side->session);
}

static const struct session_ops side_ops = {
    .on_hello = side_on_hello,
    .on_proved = side_on_proved,
    .on_welcome = side_on_welcome,
    .on_refused = side_on_refused,
    .on_message = side_on_message,
};

static inline void side_init(struct side *side, const struct session_config *config, uint64_t now)
{
    memset(side, 0, sizeof *side);
    side->heard = (struct str)STR_INIT(1 << 20);
    side->wire = (struct str)STR_INIT(PAIR_BOX_BYTES);
    side->session = session_new(config, &side_ops, side, now);
}

static inline void side_release(struct side *side)
{
    session_free(side->session);
    str_release(&side->heard);
    str_release(&side->wire);
}

/* secret: the slave's, NULL for none. */
static inline void pair_init(struct pair *pair, const char *secret, uint64_t credit_bytes)
{
    struct session_config master = {.role = SESSION_MASTER, .credit_bytes = credit_bytes};
    struct session_config slave = {.role = SESSION_SLAVE, .secret = view_of(secret)};

    pair->now_ms = 1000;
    side_init(&pair->master, &master, pair->now_ms);
    side_init(&pair->slave, &slave, pair->now_ms);
}

static inline void pair_release(struct pair *pair)
{
    side_release(&pair->master);
    side_release(&pair->slave);
}

static inline void pair_hello(struct pair *pair)
{
    struct msg_held held[] = {{.build = 12, .attempt = 1, .last = 44}};
    struct msg_hello hello = {.name = view_of("linux-01"),
                              .boot_id = view_of("slave-boot"),
                              .slots = 2,
                              .held = {held, 1}};

    session_hello(pair->slave.session, &hello);
}

static inline void side_input(struct side *side, struct view bytes, uint64_t now_ms)
{
    struct err err = ERR_INIT;
    enum err_code rc = session_input(side->session, bytes, now_ms, &err);

    if (rc && !side->rc) {
        side->rc = rc;
        side->err = err;
    }
}

/* Moves one side's output to the other in pieces; whether there was any. */
static inline bool pair_move(struct pair *pair, struct side *from, struct side *to, size_t piece)
{
    bool any = session_has_output(from->session);

    session_output(from->session, &from->wire, SIZE_MAX);
    for (size_t at = 0; at < from->wire.n; at += piece) {
        size_t n = from->wire.n - at < piece ? from->wire.n - at : piece;

        side_input(to, view_bytes(from->wire.p + at, n), pair->now_ms);
    }
    str_clear(&from->wire);
    return any;
}

/* Until both have nothing more to say. */
static inline void pair_run_in(struct pair *pair, size_t piece)
{
    bool any = true;

    while (any) {
        any = pair_move(pair, &pair->slave, &pair->master, piece);
        any = pair_move(pair, &pair->master, &pair->slave, piece) || any;
    }
}

static inline void pair_run(struct pair *pair)
{
    pair_run_in(pair, SIZE_MAX / 2);
}

/* A message as a frame of its own, whoever may say it. */
static inline void put_frame(struct str *out, const struct msg *msg)
{
    size_t begin = 0;

    if (frame_begin(out, &begin, NULL) != ERR_OK || msg_encode(msg, out, NULL) != ERR_OK)
        abort();
    frame_end(out, begin);
}

static inline void side_input_msg(struct side *side, const struct msg *msg, uint64_t now_ms)
{
    struct str frame = STR_INIT(PAIR_BOX_BYTES);

    put_frame(&frame, msg);
    side_input(side, str_view(&frame), now_ms);
    str_release(&frame);
}

#endif

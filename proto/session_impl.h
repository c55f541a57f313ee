/*
 * session_impl: what session.c (life, order, credit, time) and handshake.c (who are you) share.
 * Internal to proto.
 */
#ifndef TAILRACE_PROTO_SESSION_IMPL_H
#define TAILRACE_PROTO_SESSION_IMPL_H

#include "proto/heartbeat.h"
#include "proto/outbox.h"
#include "proto/proof.h"
#include "proto/session.h"

/* Needed until READY only. */
struct handshake {
    struct proof_facts facts;                 /* name and boot_id are owned */
    struct view secrets[SESSION_SECRETS_MAX]; /* owned; a slave has one at most */
    size_t n_secrets;
    size_t proved_by; /* master: the secret that the proof was made with */
    bool challenged;
};

struct session {
    enum session_role role;
    enum session_state state;
    const struct session_ops *ops;
    void *owner;
    struct handshake *handshake; /* NULL from READY on */
    struct frame_reader reader;
    struct outbox outbox;
    struct msg_arena *arena; /* lives during session_input() */
    struct heartbeat heartbeat;
    uint64_t handshake_until_ms;
    uint64_t pings;        /* sent so far: the next one's token */
    uint64_t window_bytes; /* of credit */
    int64_t credit_bytes;  /* sender: the rest */
    uint64_t owed_bytes;   /* receiver: read and not yet granted */
    uint64_t unsaid_bytes; /* receiver: granted, but not yet in a CREDIT */
    size_t frame_bytes;    /* of the message being delivered */
    struct err *broken;    /* a failure that session_tick() will tell; mostly NULL */
};

/* The only writer of session->state. Frees the handshake when it is over. */
void session_enter(struct session *session, enum session_state to);
/* Queues a control message of our own; a failure goes to session->broken. */
void session_say(struct session *session, const struct msg *msg);

struct handshake *handshake_new(struct view slave_secret);
void handshake_free(struct handshake *handshake); /* NULL allowed */
/* Takes a message that came before READY. */
enum err_code handshake_message(struct session *session, const struct msg *msg,
                                struct err *err) TAILRACE_MUST_CHECK;
/* Tells the peer why it ends; only a master before READY has something to say. */
void handshake_reject(struct session *session, const char *reason);

#endif

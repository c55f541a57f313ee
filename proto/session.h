/*
 * session: one connection's conversation as a pure state machine over (bytes, now). Bytes in,
 * messages up; messages down, bytes out. Knows the handshake with its proofs, who may say what
 * when, byte credit, and the heartbeat. link.h joins it to a stream.
 *
 *   slave:   HELLO_SENT -> (CHALLENGED ->) READY
 *   master:  EXPECT_HELLO -> DECIDING -> (EXPECT_PROOF -> DECIDING ->) READY
 *
 * Callbacks come from session_input() only and may call session_send(), session_challenge(),
 * session_welcome(), session_refuse() and session_stop(), nothing else.
 */
#ifndef TAILRACE_PROTO_SESSION_H
#define TAILRACE_PROTO_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "proto/codec.h"
#include "proto/frame.h"

enum session_role { SESSION_SLAVE, SESSION_MASTER };

enum session_state {
    SESSION_EXPECT_HELLO, /* master: nothing was said yet */
    SESSION_DECIDING,     /* master: it is the owner's turn to challenge, welcome or refuse */
    SESSION_EXPECT_PROOF, /* master: CHALLENGE is out */
    SESSION_HELLO_SENT,   /* slave: until WELCOME or REFUSED */
    SESSION_CHALLENGED,   /* slave: PROOF is out */
    SESSION_READY,
    SESSION_FAILED, /* refused, or the peer broke the protocol; nothing more is read */
};

/* Defaults of DESIGN section 5. */
enum {
    SESSION_PING_AFTER_MS = 15000,
    SESSION_DROP_AFTER_MS = 45000,
    SESSION_HANDSHAKE_MS = 10000,
    SESSION_CREDIT_BYTES = 1 << 20,
    SESSION_SECRETS_MAX = 8,
    SESSION_CONTROL_MAX_BYTES =
        4 << 20, /* control frames not yet taken; then the peer is too slow */
    SESSION_BULK_WAITING_BYTES = 128 << 10, /* bulk frames not yet taken; then there is no room */
};

struct session_ops {
    /* Master: a well-formed HELLO with a version that we speak. Answer now or later. */
    void (*on_hello)(void *owner, const struct msg_hello *hello);
    /* Master: the proof was right; now session_welcome() or session_refuse(). */
    void (*on_proved)(void *owner);
    /* Slave. */
    void (*on_welcome)(void *owner, const struct msg_welcome *welcome);
    void (*on_refused)(void *owner, const struct msg_refused *refused);
    /* READY: what is not the session's own business (PING, PONG, CREDIT are). */
    void (*on_message)(void *owner, const struct msg *msg);
};

/* Zeros take the defaults above. */
struct session_config {
    enum session_role role;
    uint64_t ping_after_ms, drop_after_ms; /* the slave takes them from WELCOME */
    uint64_t handshake_ms;                 /* from the start to READY */
    uint64_t credit_bytes;                 /* master: granted by WELCOME */
    struct view secret;                    /* slave: empty for none; copied */
};

struct session;

/* Starts a conversation at now_ms. The caller frees with session_free(). */
struct session *session_new(const struct session_config *config, const struct session_ops *ops,
                            void *owner, uint64_t now_ms);
void session_free(struct session *session); /* NULL allowed */
enum session_state session_state(const struct session *session);
const char *session_state_name(enum session_state state);

/* Feeds what came in. An error is the reason to close the connection (ERR_PROTO, ERR_AUTH,
 * ERR_LIMIT; ERR_AUTH also for a slave that was refused), and ends the session; what
 * session_output() then gives still tells the peer why. In FAILED everything is ignored. */
enum err_code session_input(struct session *session, struct view bytes, uint64_t now_ms,
                            struct err *err) TAILRACE_MUST_CHECK;

/* Slave: the first message. proto_min, proto_max and nonce are filled in here. */
void session_hello(struct session *session, const struct msg_hello *hello);
/* Master, in DECIDING: ask for a proof made with one of the secrets (two are valid while they are
 * being changed), 1 to SESSION_SECRETS_MAX. They are copied. */
void session_challenge(struct session *session, const struct view *secrets, size_t n);
/* Master, in DECIDING without a secret, or after on_proved: READY. proto, mac, times and credit are
 * filled in here. */
void session_welcome(struct session *session, const struct msg_welcome *welcome);
/* Master, before READY: says why; the owner closes once the bytes are out. */
void session_refuse(struct session *session, const char *code, const char *reason,
                    uint64_t retry_ms);
/* The four above cannot fail towards their caller: when a message does not fit (a text over its
 * limit, a peer that does not read), session_tick() is due at once and says so. In FAILED they do
 * nothing. */

/* We close: nothing more is delivered. What is queued can still be taken. */
void session_stop(struct session *session);

/* Queues a message. Control messages always fit until SESSION_CONTROL_MAX_BYTES (then ERR_LIMIT:
 * close). A BULK message needs session_bulk_room(); ERR_AGAIN when it has none. ERR_CANCELED before
 * READY and after the end. Nothing is queued on failure. */
enum err_code session_send(struct session *session, const struct msg *msg,
                           struct err *err) TAILRACE_MUST_CHECK;
/* Whether a BULK message may be queued now: there is credit (any positive rest allows one frame;
 * the rest may go below zero by less than a frame) and less than 128 KiB of bulk is waiting. */
bool session_bulk_room(const struct session *session);
/* Master: the receiver is done with so many bytes of bulk (session_frame_bytes() of each); CREDIT
 * goes out once a quarter of the window is owed. */
void session_granted(struct session *session, uint64_t bytes);
/* Bytes of BULK frames read and not yet given to session_granted(). A peer that sends a BULK frame
 * when the window is used up breaks the protocol, so this stays below the window and one frame. */
uint64_t session_owed(const struct session *session);
/* The length on the wire of the message being delivered by on_message, for session_granted(). */
size_t session_frame_bytes(const struct session *session);

/* Moves whole frames that are due to go out into *out, control first, about most_bytes at a time.
 * Nothing to send leaves it empty. */
void session_output(struct session *session, struct str *out, size_t most_bytes);
bool session_has_output(const struct session *session);

/* Time passes. Queues a PING after silence (an unanswered one is never sent twice and never
 * postpones the drop). ERR_TIMEOUT: the peer is dead, or the handshake took too long. */
enum err_code session_tick(struct session *session, uint64_t now_ms,
                           struct err *err) TAILRACE_MUST_CHECK;
/* Asks for a sign of life within wait_ms: a PING now, and session_tick() fails with ERR_TIMEOUT
 * when nothing at all came by then. For a second connection under the same name. */
void session_probe(struct session *session, uint64_t now_ms, uint64_t wait_ms);
/* When session_tick() should be called next. */
uint64_t session_next_tick_ms(const struct session *session);

#endif

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "proto/session_impl.h"

enum {
    REASON_MAX_BYTES = 512, /* as in messages.def */
    CODE_MAX_BYTES = 32,
    TIMES_MAX_MS = 24 * 3600 * 1000, /* what a WELCOME may ask for */
};

static void add_secret(struct handshake *h, struct view secret)
{
    assert(h->n_secrets < SESSION_SECRETS_MAX);
    h->secrets[h->n_secrets++] = view_bytes(view_dup(secret), secret.n);
}

struct handshake *handshake_new(struct view slave_secret)
{
    struct handshake *h = xcalloc(1, sizeof *h);

    if (slave_secret.n > 0)
        add_secret(h, slave_secret);
    return h;
}

static void free_view(struct view v)
{
    free((void *)(uintptr_t)v.p);
}

void handshake_free(struct handshake *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->n_secrets; i++) {
        explicit_bzero((void *)(uintptr_t)h->secrets[i].p, h->secrets[i].n);
        free_view(h->secrets[i]);
    }
    free_view(h->facts.name);
    free_view(h->facts.boot_id);
    free(h);
}

static void set_slave(struct proof_facts *facts, struct view name, struct view boot_id)
{
    free_view(facts->name);
    free_view(facts->boot_id);
    facts->name = view_bytes(view_dup(name), name.n);
    facts->boot_id = view_bytes(view_dup(boot_id), boot_id.n);
}

static enum err_code out_of_turn(const struct session *session, const struct msg *msg,
                                 struct err *err)
{
    return err_set(err, ERR_PROTO, "%s in state %s", msg_name(msg->type),
                   session_state_name(session->state));
}

/* --- the master's side --- */

/* Refuses with a code, and gives the same sentence as the reason to close. */
static enum err_code refuse(struct session *session, const char *code, enum err_code rc,
                            const char *reason, struct err *err)
{
    session_refuse(session, code, reason, 0);
    return err_set(err, rc, "%s", reason);
}

void handshake_reject(struct session *session, const char *reason)
{
    if (session->role == SESSION_MASTER)
        session_refuse(session, "protocol", reason, 0);
}

static enum err_code refuse_version(struct session *session, const struct msg_hello *hello,
                                    struct err *err)
{
    char reason[REASON_MAX_BYTES];

    (void)snprintf(reason, sizeof reason,
                   "the slave speaks protocol %" PRIu32 " to %" PRIu32
                   ", this master %d to %d: upgrade the older of the two",
                   hello->proto_min, hello->proto_max, PROTO_MIN, PROTO_MAX);
    return refuse(session, "version", ERR_PROTO, reason, err);
}

static enum err_code take_hello(struct session *session, const struct msg_hello *hello,
                                struct err *err)
{
    struct proof_facts *facts = &session->handshake->facts;

    if (hello->proto_min > PROTO_MAX || hello->proto_max < PROTO_MIN ||
        hello->proto_min > hello->proto_max)
        return refuse_version(session, hello, err);
    if (!ident_is_name(hello->name))
        return refuse(session, "name", ERR_PROTO,
                      "HELLO.name: not 1 to 64 of letters, digits, '.', '_', '-'", err);
    /* A name's alphabet, too: the proofs separate the two by a NUL. */
    if (!ident_is_name(hello->boot_id))
        return err_set(err, ERR_PROTO,
                       "HELLO.boot_id: not 1 to 64 of letters, digits, '.', '_', '-'");
    if (hello->nonce.n != PROOF_NONCE_BYTES)
        return err_set(err, ERR_PROTO, "HELLO.nonce: %zu bytes, not %d", hello->nonce.n,
                       PROOF_NONCE_BYTES);
    set_slave(facts, hello->name, hello->boot_id);
    memcpy(facts->slave_nonce, hello->nonce.p, PROOF_NONCE_BYTES);
    session_enter(session, SESSION_DECIDING);
    session->ops->on_hello(session->owner, hello);
    return ERR_OK;
}

static enum err_code take_proof(struct session *session, const struct msg_proof *proof,
                                struct err *err)
{
    struct handshake *h = session->handshake;
    uint8_t expected[PROOF_BYTES];
    bool proved = false;

    for (size_t i = 0; i < h->n_secrets; i++) {
        proof_of_slave(&h->facts, h->secrets[i], expected);
        if (proof->mac.n == PROOF_BYTES && crypt_equal(proof->mac.p, expected, PROOF_BYTES)) {
            proved = true;
            h->proved_by = i;
        }
    }
    if (!proved)
        return refuse(session, "secret", ERR_AUTH,
                      "the slave's secret is not the one that the master has for this name", err);
    session_enter(session, SESSION_DECIDING);
    session->ops->on_proved(session->owner);
    return ERR_OK;
}

void session_challenge(struct session *session, const struct view *secrets, size_t n)
{
    struct handshake *h = session->handshake;
    struct msg msg = {.type = MSG_CHALLENGE};

    if (session->state == SESSION_FAILED)
        return;
    assert(session->state == SESSION_DECIDING && !h->challenged && n > 0);
    for (size_t i = 0; i < n; i++)
        add_secret(h, secrets[i]);
    crypt_random(h->facts.master_nonce, PROOF_NONCE_BYTES);
    h->challenged = true;
    msg.u.challenge.nonce = view_bytes(h->facts.master_nonce, PROOF_NONCE_BYTES);
    session_enter(session, SESSION_EXPECT_PROOF);
    session_say(session, &msg);
}

void session_welcome(struct session *session, const struct msg_welcome *welcome)
{
    struct msg msg = {.type = MSG_WELCOME, .u.welcome = *welcome};
    struct handshake *h = session->handshake;
    uint8_t mac[PROOF_BYTES];

    if (session->state == SESSION_FAILED)
        return;
    assert(session->state == SESSION_DECIDING);
    msg.u.welcome.proto = PROTO_MAX;
    msg.u.welcome.ping_after_ms = session->heartbeat.ping_after_ms;
    msg.u.welcome.drop_after_ms = session->heartbeat.drop_after_ms;
    msg.u.welcome.credit_bytes = session->window_bytes;
    msg.u.welcome.mac = VIEW_NULL;
    if (h->challenged) {
        proof_of_master(&h->facts, h->secrets[h->proved_by], mac);
        msg.u.welcome.mac = view_bytes(mac, sizeof mac);
    }
    session_say(session, &msg);
    session_enter(session, SESSION_READY);
}

static struct view cut(const char *text, size_t most)
{
    return view_bytes(text, strnlen(text, most));
}

void session_refuse(struct session *session, const char *code, const char *reason,
                    uint64_t retry_ms)
{
    struct msg msg = {
        .type = MSG_REFUSED,
        .u.refused = {cut(code, CODE_MAX_BYTES), cut(reason, REASON_MAX_BYTES), retry_ms},
    };

    if (session->state == SESSION_FAILED)
        return;
    assert(session->role == SESSION_MASTER && session->state != SESSION_READY);
    session_say(session, &msg);
    session_enter(session, SESSION_FAILED);
}

static enum err_code master_message(struct session *session, const struct msg *msg, struct err *err)
{
    if (msg->type == MSG_HELLO && session->state == SESSION_EXPECT_HELLO)
        return take_hello(session, &msg->u.hello, err);
    if (msg->type == MSG_PROOF && session->state == SESSION_EXPECT_PROOF)
        return take_proof(session, &msg->u.proof, err);
    return out_of_turn(session, msg, err);
}

/* --- the slave's side --- */

void session_hello(struct session *session, const struct msg_hello *hello)
{
    struct msg msg = {.type = MSG_HELLO, .u.hello = *hello};
    struct proof_facts *facts;

    if (session->state == SESSION_FAILED)
        return;
    assert(session->state == SESSION_HELLO_SENT);
    facts = &session->handshake->facts;
    set_slave(facts, hello->name, hello->boot_id);
    crypt_random(facts->slave_nonce, PROOF_NONCE_BYTES);
    msg.u.hello.proto_min = PROTO_MIN;
    msg.u.hello.proto_max = PROTO_MAX;
    msg.u.hello.nonce = view_bytes(facts->slave_nonce, PROOF_NONCE_BYTES);
    session_say(session, &msg);
}

static enum err_code take_challenge(struct session *session, const struct msg_challenge *challenge,
                                    struct err *err)
{
    struct handshake *h = session->handshake;
    struct msg msg = {.type = MSG_PROOF};
    uint8_t mac[PROOF_BYTES];

    if (h->n_secrets == 0)
        return err_set(err, ERR_AUTH, "the master asks for a secret, and this slave has none");
    if (challenge->nonce.n != PROOF_NONCE_BYTES)
        return err_set(err, ERR_PROTO, "CHALLENGE.nonce: %zu bytes, not %d", challenge->nonce.n,
                       PROOF_NONCE_BYTES);
    memcpy(h->facts.master_nonce, challenge->nonce.p, PROOF_NONCE_BYTES);
    proof_of_slave(&h->facts, h->secrets[0], mac);
    msg.u.proof.mac = view_bytes(mac, sizeof mac);
    session_enter(session, SESSION_CHALLENGED);
    session_say(session, &msg);
    return ERR_OK;
}

/* A slave with a secret talks to nobody who does not know it. */
static enum err_code check_master(const struct session *session, const struct msg_welcome *welcome,
                                  struct err *err)
{
    const struct handshake *h = session->handshake;
    uint8_t expected[PROOF_BYTES];

    if (h->n_secrets == 0)
        return ERR_OK;
    if (session->state != SESSION_CHALLENGED)
        return err_set(err, ERR_AUTH, "the master did not ask for this slave's secret");
    proof_of_master(&h->facts, h->secrets[0], expected);
    if (welcome->mac.n != PROOF_BYTES || !crypt_equal(welcome->mac.p, expected, PROOF_BYTES))
        return err_set(err, ERR_AUTH, "the master does not know this slave's secret");
    return ERR_OK;
}

static enum err_code take_welcome(struct session *session, const struct msg_welcome *welcome,
                                  struct err *err)
{
    enum err_code rc = check_master(session, welcome, err);

    if (rc)
        return rc;
    if (welcome->proto < PROTO_MIN || welcome->proto > PROTO_MAX)
        return err_set(err, ERR_PROTO,
                       "the master chose protocol %" PRIu32 ", this slave speaks %d to %d",
                       welcome->proto, PROTO_MIN, PROTO_MAX);
    if (welcome->ping_after_ms == 0 || welcome->ping_after_ms >= welcome->drop_after_ms ||
        welcome->drop_after_ms > TIMES_MAX_MS)
        return err_set(err, ERR_PROTO, "WELCOME: PING after %" PRIu64 " ms, end after %" PRIu64,
                       welcome->ping_after_ms, welcome->drop_after_ms);
    session->heartbeat.ping_after_ms = welcome->ping_after_ms;
    session->heartbeat.drop_after_ms = welcome->drop_after_ms;
    session->window_bytes = welcome->credit_bytes;
    session->credit_bytes =
        welcome->credit_bytes > INT64_MAX ? INT64_MAX : (int64_t)welcome->credit_bytes;
    session_enter(session, SESSION_READY);
    session->ops->on_welcome(session->owner, welcome);
    return ERR_OK;
}

static enum err_code take_refused(struct session *session, const struct msg_refused *refused,
                                  struct err *err)
{
    struct str shown = STR_INIT(8 * (CODE_MAX_BYTES + REASON_MAX_BYTES));

    session_enter(session, SESSION_FAILED);
    session->ops->on_refused(session->owner, refused);
    str_put(&shown, "the master refused (");
    text_escape(&shown, refused->code, CODE_MAX_BYTES);
    str_put(&shown, "): ");
    text_escape(&shown, refused->reason, REASON_MAX_BYTES);
    (void)err_set(err, ERR_AUTH, "%s", str_cstr(&shown));
    str_release(&shown);
    return ERR_AUTH;
}

static enum err_code slave_message(struct session *session, const struct msg *msg, struct err *err)
{
    if (!session->handshake->facts.name.p)
        return err_set(err, ERR_PROTO, "%s before HELLO", msg_name(msg->type));
    if (msg->type == MSG_CHALLENGE && session->state == SESSION_HELLO_SENT)
        return take_challenge(session, &msg->u.challenge, err);
    if (msg->type == MSG_WELCOME)
        return take_welcome(session, &msg->u.welcome, err);
    if (msg->type == MSG_REFUSED)
        return take_refused(session, &msg->u.refused, err);
    return out_of_turn(session, msg, err);
}

enum err_code handshake_message(struct session *session, const struct msg *msg, struct err *err)
{
    return session->role == SESSION_MASTER ? master_message(session, msg, err)
                                           : slave_message(session, msg, err);
}

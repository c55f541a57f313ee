#include "slave/uplink.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crypt.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/vec.h"
#include "common/io/fsx.h"
#include "common/io/timer.h"
#include "proto/link.h"

enum { SECRET_MAX_BYTES = 4096 };

struct uplink {
    struct loop *loop;
    struct uplink_config config;
    struct spool *spool;
    const struct uplink_ops *ops;
    void *owner;
    enum uplink_state state;
    struct timer timer; /* WAITING: the next try; STOPPED: on_stopped is due */
    struct timer damage_timer;
    struct dialer *dialer;
    struct link *link;
    unsigned tries;      /* since a connection settled */
    uint64_t waited_ms;  /* between them, in all */
    uint64_t ready_ms;   /* when READY was reached */
    uint64_t refused_ms; /* the wait that the last refusal asked for; 0: it was none */
    bool stopping, draining;
    /* A journal whose files cannot be read: given up from the loop, because it was found out inside
     * an append. */
    bool damaged;
    uint64_t damaged_build;
    uint32_t damaged_attempt;
};

static void dial(struct uplink *uplink);

static uint64_t random_below(const struct uplink *uplink, uint64_t most)
{
    uint64_t number = 0;

    uplink->config.random(&number, sizeof number);
    return number % (most + 1);
}

/* Full jitter, anywhere below a cap; a refusal's wait is a least. The cap is twice what was waited
 * so far, not a power of the number of tries: short waits in a row must not drive it up, or an
 * outage of a second is followed by a wait of many. */
static uint64_t next_wait_ms(const struct uplink *uplink)
{
    uint64_t cap = uplink->waited_ms * 2;
    uint64_t wait;

    if (cap < UPLINK_BACKOFF_FIRST_MS)
        cap = UPLINK_BACKOFF_FIRST_MS;
    if (cap > uplink->config.backoff_max_ms)
        cap = uplink->config.backoff_max_ms;
    wait = random_below(uplink, cap);
    if (uplink->refused_ms && wait < uplink->refused_ms)
        wait = uplink->refused_ms + random_below(uplink, uplink->refused_ms / 4);
    return wait;
}

static void stopped(struct uplink *uplink)
{
    uplink->state = UPLINK_STOPPED;
    timer_start(&uplink->timer, 0, 0);
}

/* The try or the connection is over. */
static void wait_for_next(struct uplink *uplink, const char *event, const struct err *why)
{
    uint64_t wait;

    if (uplink->stopping) {
        stopped(uplink);
        return;
    }
    wait = next_wait_ms(uplink);
    uplink->tries++;
    uplink->waited_ms += wait;
    /* A refusal was logged with its reason when it came. */
    if (!uplink->refused_ms)
        log_warn(event, LOG_STR("master", uplink->config.host),
                 LOG_INT("port", uplink->config.port), LOG_ERR(why), LOG_MS("retry", wait));
    uplink->refused_ms = 0;
    uplink->state = UPLINK_WAITING;
    timer_start(&uplink->timer, wait, 0);
}

static void on_timer(struct timer *timer, void *owner)
{
    struct uplink *uplink = owner;

    (void)timer;
    if (uplink->state == UPLINK_STOPPED)
        uplink->ops->on_stopped(uplink->owner);
    else
        dial(uplink);
}

static void give_up_damaged(struct timer *timer, void *owner)
{
    struct uplink *uplink = owner;
    struct err why;

    (void)timer;
    if (!uplink->damaged)
        return;
    uplink->damaged = false;
    uplink->ops->on_forget(uplink->owner, uplink->damaged_build, uplink->damaged_attempt);
    (void)err_set(&why, ERR_CANCELED, "a journal was given up");
    uplink_reconnect(uplink, &why);
}

/* The master learns from the next HELLO that the attempt is no longer held, and starts another. */
static void damaged(struct uplink *uplink, const struct journal *journal, const char *why)
{
    log_error("uplink.journal_damaged", LOG_ID("build", journal_build(journal)),
              LOG_ID("attempt", journal_attempt(journal)), LOG_STR("error", why));
    uplink->damaged = true;
    uplink->damaged_build = journal_build(journal);
    uplink->damaged_attempt = journal_attempt(journal);
    timer_start(&uplink->damage_timer, 0, 0);
}

static bool send_one(struct uplink *uplink, struct journal *journal)
{
    struct msg msg = {.type = MSG_RECORD};
    struct journal_entry entry;
    struct err err = ERR_INIT;

    if (journal_peek(journal, &entry, &err) != ERR_OK) {
        damaged(uplink, journal, err.msg);
        return false;
    }
    msg.u.record.build = journal_build(journal);
    msg.u.record.attempt = journal_attempt(journal);
    msg.u.record.number = entry.number;
    msg.u.record.body = entry.body;
    if (link_send(uplink->link, &msg) != ERR_OK)
        return false;
    journal_sent(journal);
    return true;
}

void uplink_kick(struct uplink *uplink)
{
    while (uplink->state == UPLINK_READY && !uplink->damaged && !uplink->stopping &&
           link_can_send_bulk(uplink->link)) {
        struct journal *journal = spool_sendable(uplink->spool);

        if (!journal || !send_one(uplink, journal))
            return;
    }
}

static const struct msg_known *find_known(const struct msg_welcome *welcome,
                                          const struct journal *journal)
{
    size_t i;

    for (i = 0; i < welcome->known.n; i++)
        if (welcome->known.v[i].build == journal_build(journal) &&
            welcome->known.v[i].attempt == journal_attempt(journal))
            return &welcome->known.v[i];
    return NULL;
}

/* Sets every journal to what the master has of it. */
static void resume(struct uplink *uplink, const struct msg_welcome *welcome)
{
    struct journal *journal, *next;

    for (journal = spool_first(uplink->spool); journal; journal = next) {
        const struct msg_known *known = find_known(welcome, journal);
        uint64_t build = journal_build(journal);
        uint32_t attempt = journal_attempt(journal);

        next = journal_next_of(journal);
        if (journal_is_retired(journal))
            continue;
        if (!known || !known->keep) {
            log_info("uplink.attempt_void", LOG_ID("build", build), LOG_ID("attempt", attempt));
            uplink->ops->on_forget(uplink->owner, build, attempt);
        } else if (!journal_rewind(journal, known->stored)) {
            damaged(uplink, journal, "the master's copy does not fit to this one");
        }
    }
}

static void on_welcome(void *owner, const struct msg_welcome *welcome)
{
    struct uplink *uplink = owner;

    uplink->state = UPLINK_READY;
    uplink->ready_ms = loop_now_ms(uplink->loop);
    log_info("uplink.ready", LOG_STR("master", link_peer(uplink->link)),
             LOG_INT("held", welcome->known.n));
    resume(uplink, welcome);
    uplink->ops->on_ready(uplink->owner);
    uplink_kick(uplink);
}

static void on_refused(void *owner, const struct msg_refused *refused)
{
    struct uplink *uplink = owner;
    struct err why;

    uplink->refused_ms =
        refused->retry_ms > UPLINK_REFUSED_MAX_MS ? UPLINK_REFUSED_MAX_MS : refused->retry_ms;
    if (uplink->refused_ms == 0)
        uplink->refused_ms = UPLINK_REFUSED_MS;
    log_error("uplink.refused", LOG_STR("master", link_peer(uplink->link)),
              LOG_VIEW("code", refused->code), LOG_VIEW("reason", refused->reason),
              LOG_MS("retry_at_least", uplink->refused_ms));
    (void)err_set(&why, ERR_AUTH, "refused");
    link_close(uplink->link, &why);
}

static void on_ack(struct uplink *uplink, const struct msg_ack *ack)
{
    struct journal *journal = spool_find(uplink->spool, ack->build, ack->attempt);

    if (!journal)
        return;
    journal_ack(journal, ack->number);
    uplink->ops->on_acked(uplink->owner);
}

static void on_message(void *owner, const struct msg *msg)
{
    struct uplink *uplink = owner;

    switch (msg->type) {
    case MSG_ACK:
        on_ack(uplink, &msg->u.ack);
        break;
    case MSG_START:
        uplink->ops->on_start(uplink->owner, &msg->u.start);
        break;
    case MSG_CANCEL:
        uplink->ops->on_cancel(uplink->owner, msg->u.cancel.build, msg->u.cancel.attempt,
                               msg->u.cancel.reason);
        break;
    case MSG_FORGET:
        uplink->ops->on_forget(uplink->owner, msg->u.forget.build, msg->u.forget.attempt);
        break;
    case MSG_BYE:
        log_info("uplink.bye", LOG_VIEW("reason", msg->u.bye.reason));
        break;
    default:
        break;
    }
}

static void on_closed(void *owner, const struct err *why)
{
    struct uplink *uplink = owner;
    bool was_ready = uplink->state == UPLINK_READY;

    uplink->link = NULL;
    if (was_ready && loop_now_ms(uplink->loop) - uplink->ready_ms >= UPLINK_SETTLED_MS) {
        uplink->tries = 0;
        uplink->waited_ms = 0;
    }
    wait_for_next(uplink, was_ready ? "uplink.lost" : "uplink.handshake_failed", why);
}

static void on_bulk_room(void *owner)
{
    uplink_kick(owner);
}

static const struct link_ops link_callbacks = {
    .session = {.on_welcome = on_welcome, .on_refused = on_refused, .on_message = on_message},
    .on_bulk_room = on_bulk_room,
    .on_closed = on_closed,
};

static void say_hello(struct uplink *uplink)
{
    const struct uplink_config *config = &uplink->config;
    const struct facts *facts = config->facts;
    VEC(struct msg_held) held = {0};
    struct msg_hello hello = {
        .name = view_of(config->name),
        .boot_id = view_of(config->boot_id),
        .slots = config->slots,
        .draining = uplink->draining,
        .machine_boot = view_of(facts->machine_boot),
        .version = view_of(TAILRACE_VERSION),
        .os = view_of(facts->os),
        .arch = view_of(facts->arch),
        .cpu_model = view_of(facts->cpu_model),
        .cores = facts->cores,
        .memory_bytes = facts->memory_bytes,
    };
    struct journal *journal;

    for (journal = spool_first(uplink->spool); journal; journal = journal_next_of(journal)) {
        struct msg_held one = {
            .build = journal_build(journal),
            .attempt = journal_attempt(journal),
            .last = journal_last(journal),
            .asked_ms = journal_asked_ms(journal),
        };

        if (!journal_is_retired(journal))
            vec_push(&held, one);
    }
    hello.held.v = held.v;
    hello.held.n = held.n;
    session_hello(link_session(uplink->link), &hello);
    link_flush(uplink->link);
    vec_release(&held);
}

static void on_dialed(void *owner, struct stream *stream, const struct err *why)
{
    struct session_config config = {
        .role = SESSION_SLAVE,
        .ping_after_ms = SESSION_PING_AFTER_MS,
        .drop_after_ms = SESSION_DROP_AFTER_MS,
        .handshake_ms = SESSION_HANDSHAKE_MS,
    };
    struct str secret = STR_INIT(SECRET_MAX_BYTES);
    struct uplink *uplink = owner;
    struct err err = ERR_INIT;

    uplink->dialer = NULL;
    if (!stream) {
        wait_for_next(uplink, "uplink.dial_failed", why);
        return;
    }
    uplink->state = UPLINK_HANDSHAKE;
    if (uplink->config.secret_file &&
        fs_read_secret(uplink->config.secret_file, &secret, &err) != ERR_OK) {
        /* The connection is closed through a link all the same: one way to end. */
        str_clear(&secret);
    }
    config.secret = str_view(&secret);
    uplink->link = link_new(uplink->loop, stream, &config, &link_callbacks, uplink);
    if (err.code)
        link_close(uplink->link, &err);
    else
        say_hello(uplink);
    if (secret.n)
        explicit_bzero(secret.p, secret.n);
    str_release(&secret);
}

static void dial(struct uplink *uplink)
{
    uplink->state = UPLINK_DIALING;
    log_debug("uplink.dial", LOG_STR("master", uplink->config.host),
              LOG_INT("port", uplink->config.port), LOG_INT("try", uplink->tries + 1));
    uplink->dialer = uplink->config.dial(uplink->loop, uplink->config.host, uplink->config.port,
                                         UPLINK_DIAL_MS, on_dialed, uplink);
}

struct uplink *uplink_new(struct loop *loop, const struct uplink_config *config,
                          struct spool *spool, const struct uplink_ops *ops, void *owner)
{
    struct uplink *uplink = xcalloc(1, sizeof *uplink);

    uplink->loop = loop;
    uplink->config = *config;
    if (!uplink->config.dial) {
        uplink->config.dial = dialer_start;
        uplink->config.dial_cancel = dialer_cancel;
    }
    if (!uplink->config.random)
        uplink->config.random = crypt_random;
    uplink->spool = spool;
    uplink->ops = ops;
    uplink->owner = owner;
    uplink->state = UPLINK_STOPPED;
    timer_init(&uplink->timer, loop, on_timer, uplink);
    timer_init(&uplink->damage_timer, loop, give_up_damaged, uplink);
    return uplink;
}

void uplink_free(struct uplink *uplink)
{
    if (!uplink)
        return;
    assert(!uplink->link && !uplink->dialer);
    timer_stop(&uplink->timer);
    timer_stop(&uplink->damage_timer);
    free(uplink);
}

void uplink_start(struct uplink *uplink)
{
    assert(uplink->state == UPLINK_STOPPED);
    dial(uplink);
}

enum uplink_state uplink_state(const struct uplink *uplink)
{
    return uplink->state;
}

void uplink_drain(struct uplink *uplink)
{
    struct msg msg = {.type = MSG_STATE, .u.state = {.draining = true}};

    if (uplink->draining)
        return;
    uplink->draining = true;
    if (uplink->state == UPLINK_READY)
        (void)link_send(uplink->link, &msg);
}

void uplink_reconnect(struct uplink *uplink, const struct err *why)
{
    if (uplink->link)
        link_close(uplink->link, why);
}

void uplink_stop(struct uplink *uplink, const char *reason)
{
    if (uplink->stopping)
        return;
    uplink->stopping = true;
    if (uplink->link) {
        link_bye(uplink->link, reason, UPLINK_BYE_MS);
        return;
    }
    if (uplink->dialer)
        uplink->config.dial_cancel(uplink->dialer);
    uplink->dialer = NULL;
    stopped(uplink);
}

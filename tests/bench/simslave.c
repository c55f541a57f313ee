#include "tests/bench/simslave.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/base/crypt.h"
#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/vec.h"
#include "common/io/dialer.h"
#include "common/io/timer.h"
#include "proto/link.h"
#include "tests/bench/instant.h"

enum {
    DIAL_MS = 10000,
    BYE_MS = 500,
    BACKOFF_FIRST_MS = 250,
    BACKOFF_DOUBLINGS = 5,
    BODY_MAX_BYTES = 128 << 10,
};

struct running {
    struct simslave *slave;
    struct simbuild build;
    uint64_t sent;
    double start_ms;
    bool ended;
    struct timer hold;
    struct running *prev, *next;
};

struct simslave {
    struct simslave_group *group;
    char *name;
    char boot_id[IDENT_MAX];
    struct timer timer; /* the next dial, or on_stopped */
    struct dialer *dialer;
    struct link *link;
    bool ready, stopping;
    unsigned tries;
    struct running *builds; /* the first is the next to send */
};

static void running_end(struct running *run, const char *result)
{
    struct simslave_group *group = run->slave->group;
    struct simslave_ended ended = {
        .slave = run->slave->name,
        .build = run->build.id,
        .attempt = run->build.attempt,
        .start_ms = run->start_ms,
        .end_ms = instant_ms(),
        .result = result,
    };

    if (run->ended)
        return;
    run->ended = true;
    group->counts.ended++;
    group->on_ended(group->owner, &ended);
}

static void running_drop(struct running *run)
{
    running_end(run, "dropped");
    timer_stop(&run->hold);
    DL_DELETE(run->slave->builds, run);
    free(run);
}

static struct running *find_running(struct simslave *slave, uint64_t build, uint32_t attempt)
{
    struct running *run;

    DL_FOREACH (slave->builds, run) {
        if (run->build.id == build && run->build.attempt == attempt)
            return run;
    }
    return NULL;
}

/* False when the connection did not take it. */
static bool send_record(struct simslave *slave, struct running *run)
{
    struct simslave_group *group = slave->group;
    struct str body = STR_INIT(BODY_MAX_BYTES);
    struct msg msg = {.type = MSG_RECORD};
    struct err err = ERR_INIT;
    struct msg record;
    bool sent;

    simbuild_record(&run->build, run->sent + 1, loop_wall_ms(group->loop), &record);
    if (msg_encode(&record, &body, &err)) {
        log_error("sim.encode", LOG_ERR(&err));
        abort();
    }
    msg.u.record =
        (struct msg_record){run->build.id, run->build.attempt, run->sent + 1, str_view(&body)};
    sent = link_send(slave->link, &msg) == ERR_OK;
    if (sent) {
        run->sent++;
        if (record.type == REC_LOG_BLOCK)
            group->counts.log_bytes += record.u.log_block.size;
    }
    str_release(&body);
    return sent;
}

static struct running *next_to_send(struct simslave *slave)
{
    struct running *run;

    DL_FOREACH (slave->builds, run) {
        if (run->sent < run->build.ready)
            return run;
    }
    return NULL;
}

/* Builds take turns, record by record. */
static void pump(struct simslave *slave)
{
    struct running *run;

    while (slave->ready && link_can_send_bulk(slave->link) && (run = next_to_send(slave))) {
        if (!send_record(slave, run))
            return;
        if (run->sent == run->build.total)
            running_end(run, result_name(simbuild_result(&run->build)));
        DL_DELETE(slave->builds, run);
        DL_APPEND(slave->builds, run);
    }
}

static void on_held_long_enough(struct timer *timer, void *owner)
{
    struct running *run = owner;

    (void)timer;
    simbuild_go_on(&run->build);
    pump(run->slave);
}

static void start_build(struct simslave *slave, const struct msg_start *start)
{
    struct simslave_group *group = slave->group;
    struct running *run;

    if (find_running(slave, start->build, start->attempt))
        return;
    run = xcalloc(1, sizeof *run);
    run->slave = slave;
    run->start_ms = instant_ms();
    simbuild_init(&run->build, start, group->log, group->hold_ms > 0);
    timer_init(&run->hold, group->loop, on_held_long_enough, run);
    if (group->hold_ms > 0)
        timer_start(&run->hold, group->hold_ms, 0);
    DL_APPEND(slave->builds, run);
    group->counts.started++;
    pump(slave);
}

static void cancel_build(struct simslave *slave, const struct msg_cancel *cancel)
{
    struct running *run = find_running(slave, cancel->build, cancel->attempt);

    if (!run)
        return;
    timer_stop(&run->hold);
    simbuild_cancel(&run->build);
    pump(slave);
}

static void forget_build(struct simslave *slave, const struct msg_forget *forget)
{
    struct running *run = find_running(slave, forget->build, forget->attempt);

    if (!run)
        return;
    running_drop(run);
    slave->group->counts.forgotten++;
    slave->group->on_forgotten(slave->group->owner);
}

static void on_message(void *owner, const struct msg *msg)
{
    switch (msg->type) {
    case MSG_START:
        start_build(owner, &msg->u.start);
        break;
    case MSG_CANCEL:
        cancel_build(owner, &msg->u.cancel);
        break;
    case MSG_FORGET:
        forget_build(owner, &msg->u.forget);
        break;
    default: /* an ACK changes nothing: records are made again, not kept */
        break;
    }
}

static void on_bulk_room(void *owner)
{
    pump(owner);
}

/* Every attempt goes on from what the master has of it, or is dropped. */
static void resume(struct simslave *slave, const struct msg_welcome *welcome)
{
    struct running *run;
    struct running *next;

    DL_FOREACH_SAFE (slave->builds, run, next) {
        const struct msg_known *known = NULL;

        for (size_t i = 0; i < welcome->known.n; i++) {
            if (welcome->known.v[i].build == run->build.id &&
                welcome->known.v[i].attempt == run->build.attempt)
                known = &welcome->known.v[i];
        }
        if (!known || !known->keep || known->stored > run->build.ready)
            running_drop(run);
        else
            run->sent = known->stored;
    }
}

static void on_welcome(void *owner, const struct msg_welcome *welcome)
{
    struct simslave *slave = owner;
    struct simslave_group *group = slave->group;

    slave->ready = true;
    slave->tries = 0;
    resume(slave, welcome);
    group->counts.connected++;
    group->on_connected(group->owner);
    pump(slave);
}

static void on_refused(void *owner, const struct msg_refused *refused)
{
    struct simslave *slave = owner;

    slave->group->counts.refused++;
    log_warn("sim.refused", LOG_STR("slave", slave->name), LOG_VIEW("code", refused->code),
             LOG_VIEW("reason", refused->reason));
}

static void say_hello(struct simslave *slave)
{
    VEC(struct msg_held) held = {0};
    struct msg_hello hello = {
        .name = view_of(slave->name),
        .boot_id = view_of(slave->boot_id),
        .slots = slave->group->slots,
        .machine_boot = view_of("simulated"),
        .version = view_of(TAILRACE_VERSION),
        .os = view_of("simulated"),
        .arch = view_of("none"),
        .cpu_model = view_of("none"),
        .cores = 1,
    };
    struct running *run;

    DL_FOREACH (slave->builds, run) {
        struct msg_held one = {
            .build = run->build.id, .attempt = run->build.attempt, .last = run->build.ready};

        vec_push(&held, one);
    }
    hello.held.v = held.v;
    hello.held.n = held.n;
    session_hello(link_session(slave->link), &hello);
    link_flush(slave->link);
    vec_release(&held);
}

/* Dials again later: anywhere below a bound that doubles, so that they do not come all at once. */
static void come_back(struct simslave *slave)
{
    uint64_t most_ms = (uint64_t)BACKOFF_FIRST_MS << slave->tries;
    uint64_t number = 0;

    if (slave->stopping) {
        timer_start(&slave->timer, 0, 0);
        return;
    }
    if (slave->tries < BACKOFF_DOUBLINGS)
        slave->tries++;
    crypt_random(&number, sizeof number);
    timer_start(&slave->timer, number % (most_ms + 1), 0);
}

static void on_closed(void *owner, const struct err *why)
{
    struct simslave *slave = owner;

    slave->link = NULL;
    if (slave->ready) {
        slave->group->counts.connected--;
        if (!slave->stopping)
            slave->group->counts.breaks++;
    }
    slave->ready = false;
    if (!slave->stopping)
        log_warn("sim.closed", LOG_STR("slave", slave->name), LOG_ERR(why));
    come_back(slave);
}

static const struct link_ops link_callbacks = {
    .session = {.on_welcome = on_welcome, .on_refused = on_refused, .on_message = on_message},
    .on_bulk_room = on_bulk_room,
    .on_closed = on_closed,
};

static void on_dialed(void *owner, struct stream *stream, const struct err *why)
{
    struct simslave *slave = owner;
    struct session_config config = {.role = SESSION_SLAVE, .secret = slave->group->secret};

    slave->dialer = NULL;
    if (!stream) {
        slave->group->counts.dial_failures++;
        log_warn("sim.dial_failed", LOG_STR("slave", slave->name), LOG_ERR(why));
        come_back(slave);
        return;
    }
    slave->link = link_new(slave->group->loop, stream, &config, &link_callbacks, slave);
    say_hello(slave);
}

static void on_timer(struct timer *timer, void *owner)
{
    struct simslave *slave = owner;
    struct simslave_group *group = slave->group;

    (void)timer;
    if (slave->stopping) {
        group->on_stopped(group->owner);
        return;
    }
    group->counts.dials++;
    slave->dialer = dialer_start(group->loop, group->host, group->port, DIAL_MS, on_dialed, slave);
}

struct simslave *simslave_new(struct simslave_group *group, const char *name, uint64_t delay_ms)
{
    struct simslave *slave = xcalloc(1, sizeof *slave);

    slave->group = group;
    slave->name = xstrdup(name);
    ident_new(loop_wall_ms(group->loop), slave->boot_id);
    timer_init(&slave->timer, group->loop, on_timer, slave);
    timer_start(&slave->timer, delay_ms, 0);
    return slave;
}

void simslave_stop(struct simslave *slave)
{
    if (slave->stopping)
        return;
    slave->stopping = true;
    if (slave->link) {
        link_bye(slave->link, "the simulation is over", BYE_MS);
        return;
    }
    if (slave->dialer)
        dialer_cancel(slave->dialer);
    slave->dialer = NULL;
    timer_start(&slave->timer, 0, 0);
}

void simslave_free(struct simslave *slave)
{
    assert(!slave->link && !slave->dialer);
    timer_stop(&slave->timer);
    while (slave->builds) {
        struct running *run = slave->builds;

        timer_stop(&run->hold);
        DL_DELETE(slave->builds, run);
        free(run);
    }
    free(slave->name);
    free(slave);
}

#include "master/registry.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/agent.h"
#include "master/attempt.h"
#include "master/builds.h"
#include "master/registry_private.h"

enum {
    RIVAL_WAIT_MS = 5000, /* for the earlier connection under a name to answer a PING */
    RETRY_SLOW_MS = 30000,
};

static void slave_set_reason(struct slave *slave, const char *reason)
{
    free(slave->reason);
    slave->reason = reason ? xstrdup(reason) : NULL;
}

static void slave_save(struct registry *registry, const struct slave *slave)
{
    struct store_op *op = store_op_new(STORE_SLAVE, NULL, NULL);

    slave_fill(slave, &op->slave);
    op->flag = slave->drained;
    store_post(registry->hub->store, op);
}

struct slave *registry_find_slave(struct registry *registry, const char *name)
{
    struct slave *slave;

    HASH_FIND_STR(registry->slaves, name, slave);
    return slave;
}

static void slave_fit(struct slave *slave, struct config *config)
{
    config_unref(&slave->config);
    slave->def = config_find_slave(config, slave->name);
    if (!slave->def)
        return; /* what it may still have to do is proved with the secrets that it had */
    slave->config = config_ref(config);
    text_list_release(&slave->secrets);
    for (size_t i = 0; i < slave->def->secrets.n; i++)
        vec_push(&slave->secrets, xstrdup(slave->def->secrets.v[i]));
}

static struct slave *slave_new(struct registry *registry, const char *name)
{
    struct slave *slave = xcalloc(1, sizeof *slave);

    slave->name = xstrdup(name);
    slave_fit(slave, registry->hub->config);
    HASH_ADD_KEYPTR(hh, registry->slaves, slave->name, strlen(slave->name), slave);
    return slave;
}

static void slave_free(struct registry *registry, struct slave *slave)
{
    HASH_DEL(registry->slaves, slave);
    sched_slave_free(slave->seat);
    config_unref(&slave->config);
    text_list_release(&slave->secrets);
    free(slave->name);
    free(slave->reason);
    free(slave->version);
    free(slave->platform);
    free(slave);
}

/* The scheduler's picture of the slave, made anew. */
static void slave_seat(struct registry *registry, struct slave *slave)
{
    sched_slave_free(slave->seat);
    slave->seat = NULL;
    if (!slave_takes_work(slave) || registry->closing)
        return;
    slave->seat = sched_slave_new(builds_sched(registry->hub->builds), &slave->def->pools,
                                  &slave->def->labels, slave->agent);
    registry_slots_changed(registry, slave->agent);
}

struct registry *registry_new(struct hub *hub, const struct store_snapshot *snapshot)
{
    struct registry *registry = xcalloc(1, sizeof *registry);
    struct config_slave *def, *next;

    registry->hub = hub;
    timer_init(&registry->tell_timer, hub->loop, registry_on_tell, registry);
    HASH_ITER (hh, hub->config->slaves, def, next) {
        slave_new(registry, def->name);
    }
    for (size_t i = 0; i < snapshot->n_drained; i++) {
        struct slave *slave = registry_find_slave(registry, snapshot->drained_slaves[i]);

        if (slave)
            slave->drained = true;
    }
    return registry;
}

void registry_free(struct registry *registry)
{
    struct slave *slave, *next;

    if (!registry)
        return;
    HASH_ITER (hh, registry->slaves, slave, next) {
        slave_free(registry, slave);
    }
    timer_stop(&registry->tell_timer);
    text_list_release(&registry->slaves_due);
    text_list_release(&registry->pools_due);
    free(registry);
}

void registry_close(struct registry *registry, const char *why)
{
    struct agent *agent, *next;

    registry->closing = true;
    HASH_ITER (hh, registry->agents, agent, next) {
        agent->closing = true;
        if (agent->slave)
            link_bye(agent->link, why, 300);
        else
            link_close(agent->link, NULL);
    }
}

bool registry_is_closed(const struct registry *registry)
{
    return !registry->agents;
}

/* The agent becomes its slave's connection. */
static void registry_admit(struct registry *registry, struct agent *agent)
{
    struct slave *slave = registry_find_slave(registry, agent->hello.name);

    agent->slave = slave;
    slave->agent = agent;
    slave->incompatible = false;
    slave->connected_ms = slave->last_seen_ms = loop_wall_ms(registry->hub->loop);
    free(slave->version);
    free(slave->platform);
    slave->version = xstrdup(agent->hello.version);
    slave->platform = xstrdup(agent->hello.platform);
    if (!slave->drained)
        slave_set_reason(slave, NULL);
    log_info("slave.connected", LOG_STR("slave", slave->name),
             LOG_STR("peer", link_peer(agent->link)), LOG_INT("slots", agent->hello.slots),
             LOG_INT("held", agent->hello.n_held));
    agent_welcome(agent);
    if (!agent->slave)
        return; /* it brought nothing of the work that had kept it here */
    slave_seat(registry, slave);
    registry_emit_slave(registry, slave);
    slave_save(registry, slave);
    builds_dispatch(registry->hub->builds);
}

/* A slave that the configuration has no more, and that has nothing left to do. */
static void registry_leave(struct registry *registry, struct slave *slave)
{
    struct event *event = event_new(EVENT_SLAVE_GONE);

    event->slave.name = xstrdup(slave->name);
    hub_emit(registry->hub, event);
    log_info("slave.left", LOG_STR("slave", slave->name));
    if (slave->agent) {
        slave->agent->slave = NULL;
        slave->agent->closing = true;
        link_bye(slave->agent->link, "the slave left the configuration", 300);
    }
    slave_free(registry, slave);
}

/* A slave that is in the configuration no more leaves once nothing is left of its work. */
static void registry_let_leave(struct registry *registry, struct slave *slave)
{
    if (!slave->def && !registry->closing &&
        !builds_slave_works(registry->hub->builds, slave->name))
        registry_leave(registry, slave);
}

void registry_work_gone(struct registry *registry, const char *name)
{
    struct slave *slave = registry_find_slave(registry, name);

    if (slave)
        registry_let_leave(registry, slave);
}

/* The connection is the slave's no more. */
static void registry_part(struct registry *registry, struct agent *agent, const char *why)
{
    struct slave *slave = agent->slave;
    struct attempt *attempt, *next;

    if (!slave)
        return;
    agent->slave = NULL;
    slave->agent = NULL;
    slave->last_seen_ms = loop_wall_ms(registry->hub->loop);
    sched_slave_free(slave->seat);
    slave->seat = NULL;
    if (!slave->drained)
        slave_set_reason(slave, why);
    log_warn("slave.lost", LOG_STR("slave", slave->name), LOG_STR("why", why));
    registry_emit_slave(registry, slave);
    DL_FOREACH_SAFE (agent->attempts, attempt, next) {
        attempt_detach(attempt, why);
    }
    registry_work_gone(registry, agent->hello.name); /* it may have left with the last of them */
}

static void on_rival_wait(struct timer *timer, void *owner)
{
    struct agent *agent = owner;

    (void)timer;
    agent_refuse(agent, "duplicate", RETRY_SLOW_MS,
                 "another machine is connected as %s and answers; give this one a name of its own",
                 agent->hello.name);
}

/* Who it is has been settled; whether the name is free has not. */
static void registry_claim(struct registry *registry, struct agent *agent)
{
    struct slave *slave = registry_find_slave(registry, agent->hello.name);
    struct agent *earlier = slave ? slave->agent : NULL;

    if (session_state(link_session(agent->link)) != SESSION_DECIDING)
        return; /* it broke the protocol while it waited, and is about to close */
    if (earlier && strcmp(earlier->hello.boot_id, agent->hello.boot_id) == 0) {
        agent_close(earlier, ERR_EXISTS, "the slave has connected anew");
        registry_part(registry, earlier, "it connected anew");
        slave = registry_find_slave(registry, agent->hello.name);
        earlier = NULL;
    }
    if (!slave) {
        agent_refuse(agent, "name", RETRY_SLOW_MS, "the configuration has no slave %s any more",
                     agent->hello.name);
    } else if (!earlier) {
        registry_admit(registry, agent);
    } else {
        session_probe(link_session(earlier->link), loop_now_ms(registry->hub->loop), RIVAL_WAIT_MS);
        link_flush(earlier->link);
        timer_init(&agent->rival_timer, registry->hub->loop, on_rival_wait, agent);
        timer_start(&agent->rival_timer, RIVAL_WAIT_MS + 500, 0);
    }
}

void registry_hello(struct registry *registry, struct agent *agent)
{
    struct slave *slave = registry_find_slave(registry, agent->hello.name);
    struct view secrets[SESSION_SECRETS_MAX];
    size_t n = 0;

    if (!ident_is_name(view_of(agent->hello.name)) || !slave) {
        agent_refuse(agent, "name", RETRY_SLOW_MS,
                     "the configuration has no slave of this name; add it under `slaves:`");
        return;
    }
    for (size_t i = 0; i < slave->secrets.n && n < SESSION_SECRETS_MAX; i++)
        secrets[n++] = view_of(slave->secrets.v[i]);
    if (n == 0) {
        registry_claim(registry, agent);
        return;
    }
    agent->challenged = true;
    session_challenge(link_session(agent->link), secrets, n);
    link_flush(agent->link);
}

void registry_proved(struct registry *registry, struct agent *agent)
{
    agent->challenged = false;
    registry_claim(registry, agent);
}

void registry_state(struct registry *registry, struct agent *agent, bool draining)
{
    if (!agent->slave)
        return;
    agent->hello.draining = draining;
    if (!agent->slave->drained)
        slave_set_reason(agent->slave, draining ? "the slave was asked to stop" : NULL);
    log_info("slave.state", LOG_STR("slave", agent->slave->name),
             LOG_STR("state", draining ? "draining" : "ready"));
    slave_seat(registry, agent->slave);
    registry_emit_slave(registry, agent->slave);
    builds_dispatch(registry->hub->builds);
}

/* The rival that waited for this slave's earlier connection to show no life. */
static struct agent *registry_rival(struct registry *registry, const struct slave *slave)
{
    struct agent *agent, *next;

    HASH_ITER (hh, registry->agents, agent, next) {
        if (!agent->slave && !agent->closing && timer_is_running(&agent->rival_timer) &&
            strcmp(agent->hello.name, slave->name) == 0)
            return agent;
    }
    return NULL;
}

/* A slave that is away says why its last try was turned away. */
static void note_turned_away(struct registry *registry, const struct agent *agent,
                             const struct err *why)
{
    struct slave *slave =
        agent->hello.name ? registry_find_slave(registry, agent->hello.name) : NULL;
    char *reason;

    if (!slave || slave->agent || slave->drained || registry->closing)
        return;
    reason = agent->challenged ? xstrdup("turned away: it has no secret, or a wrong one")
                               : xasprintf("turned away: %s", why->msg);
    slave_set_reason(slave, reason);
    registry_emit_slave(registry, slave);
    free(reason);
}

void registry_lost(struct registry *registry, struct agent *agent, const struct err *why)
{
    struct slave *slave = agent->slave;
    struct agent *rival = slave ? registry_rival(registry, slave) : NULL;

    if (agent->ack_due)
        LL_DELETE2(registry->ack_first, agent, ack_next);
    HASH_DEL(registry->agents, agent);
    if (!slave) {
        registry_say_turned_away(registry, agent, why);
        note_turned_away(registry, agent, why);
    }
    registry_part(registry, agent, why->msg[0] ? why->msg : "the connection was closed");
    if (!rival || registry->closing)
        return;
    timer_stop(&rival->rival_timer);
    registry_claim(registry, rival);
}

void registry_slots_changed(struct registry *registry, struct agent *agent)
{
    struct slave *slave = agent->slave;
    uint32_t slots, running;

    if (!slave)
        return;
    if (slave->seat) {
        slots = slave_slots(slave);
        running = agent_running(agent);
        sched_slave_set_free(slave->seat, slots > running ? slots - running : 0);
    }
    registry_emit_slave(registry, slave);
}

void registry_ack_later(struct registry *registry, struct agent *agent)
{
    if (agent->ack_due)
        return;
    agent->ack_due = true;
    LL_PREPEND2(registry->ack_first, agent, ack_next);
}

static struct agent *agent_find(struct registry *registry, uint64_t serial)
{
    struct agent *agent;

    HASH_FIND(hh, registry->agents, &serial, sizeof serial, agent);
    return agent;
}

void registry_granted(struct registry *registry, uint64_t serial, size_t bytes)
{
    struct agent *agent = agent_find(registry, serial);

    if (agent)
        agent_granted(agent, bytes);
}

void registry_forget(struct registry *registry, uint64_t serial, uint64_t build, uint32_t attempt)
{
    struct agent *agent = agent_find(registry, serial);

    if (agent)
        agent_forget(agent, build, attempt);
}

void registry_flush_acks(struct registry *registry)
{
    struct agent *agent = registry->ack_first;

    registry->ack_first = NULL;
    while (agent) {
        struct agent *next = agent->ack_next;

        agent->ack_due = false;
        agent->ack_next = NULL;
        agent_send_acks(agent);
        agent = next;
    }
}

enum err_code registry_drain(struct registry *registry, const char *name, bool drain,
                             const char *reason, struct slave_info *info, struct err *err)
{
    struct slave *slave = registry_find_slave(registry, name);

    if (!slave)
        return err_set(err, ERR_NOTFOUND, "there is no slave %s", name);
    slave->drained = drain;
    slave_set_reason(slave, drain ? (reason ? reason : "drained by hand") : NULL);
    log_info("slave.drain", LOG_STR("slave", name), LOG_STR("to", drain ? "draining" : "ready"),
             LOG_STR("reason", slave->reason ? slave->reason : ""));
    slave_save(registry, slave);
    slave_seat(registry, slave);
    registry_emit_slave(registry, slave);
    slave_fill(slave, info);
    builds_dispatch(registry->hub->builds);
    return ERR_OK;
}

void registry_reconfigure(struct registry *registry, text_list *draining)
{
    struct config *config = registry->hub->config;
    struct slave *slave, *next;
    struct config_slave *def, *next_def;

    HASH_ITER (hh, config->slaves, def, next_def) {
        if (!registry_find_slave(registry, def->name))
            slave_new(registry, def->name);
    }
    HASH_ITER (hh, registry->slaves, slave, next) {
        registry_emit_slave(registry, slave); /* and the pools that it is in no more */
        slave_fit(slave, config);
        slave_seat(registry, slave);
        if (slave->def)
            continue;
        slave_set_reason(slave, "it left the configuration");
        if (builds_slave_works(registry->hub->builds, slave->name))
            vec_push(draining, xasprintf("slave %s", slave->name));
        registry_let_leave(registry, slave);
    }
}

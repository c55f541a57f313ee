#include "master/agent.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/attempt.h"
#include "master/builds.h"
#include "master/registry.h"

enum { SLOTS_MAX = 1024 }; /* as many as a configuration may ask for */

static void hello_release(struct agent_hello *hello)
{
    free(hello->name);
    free(hello->boot_id);
    free(hello->version);
    free(hello->platform);
    free(hello->held);
    memset(hello, 0, sizeof *hello);
}

static char *platform_of(const struct msg_hello *hello)
{
    return xasprintf("%.*s, %.*s, %u x %.*s, %llu MiB", VIEW_ARG(hello->os), VIEW_ARG(hello->arch),
                     hello->cores, VIEW_ARG(hello->cpu_model),
                     (unsigned long long)(hello->memory_bytes >> 20));
}

static void on_hello(void *owner, const struct msg_hello *hello)
{
    struct agent *agent = owner;

    hello_release(&agent->hello);
    agent->hello = (struct agent_hello){
        .name = view_dup(hello->name),
        .boot_id = view_dup(hello->boot_id),
        .version = view_dup(hello->version),
        .platform = platform_of(hello),
        .slots = hello->slots < 1           ? 1
                 : hello->slots > SLOTS_MAX ? SLOTS_MAX
                                            : hello->slots,
        .draining = hello->draining,
        .held = xmemdup(hello->held.v, hello->held.n * sizeof *hello->held.v),
        .n_held = hello->held.n,
    };
    registry_hello(agent->registry, agent);
}

static void on_proved(void *owner)
{
    struct agent *agent = owner;

    registry_proved(agent->registry, agent);
}

static void on_record(struct agent *agent, const struct msg_record *record)
{
    struct build *build = builds_find(agent->hub->builds, record->build);
    struct attempt *attempt = build ? build->attempt : NULL;
    size_t wire_bytes = session_frame_bytes(link_session(agent->link));
    struct err err = ERR_INIT;

    if (attempt && attempt->number == record->attempt && attempt->agent == agent) {
        if (attempt_record(attempt, record->number, record->body, wire_bytes, &err)) {
            err_prefix(&err, "build %llu, record %llu", (unsigned long long)record->build,
                       (unsigned long long)record->number);
            agent_close(agent, ERR_PROTO, err.msg);
        }
        return;
    }
    agent_granted(agent, wire_bytes);
    if (attempt && attempt->number == record->attempt && attempt->ended &&
        attempt->last_agent == agent->serial)
        return; /* all of it was received; FORGET follows once that is durable */
    agent_forget(agent, record->build, record->attempt);
}

static void on_message(void *owner, const struct msg *msg)
{
    struct agent *agent = owner;

    if (agent->closing)
        return;
    switch (msg->type) {
    case MSG_RECORD:
        on_record(agent, &msg->u.record);
        break;
    case MSG_STATE:
        registry_state(agent->registry, agent, msg->u.state.draining);
        break;
    case MSG_BYE:
        log_info("slave.bye", LOG_STR("slave", agent->hello.name),
                 LOG_VIEW("reason", msg->u.bye.reason));
        break;
    default:
        break;
    }
}

static void on_closed(void *owner, const struct err *why)
{
    struct agent *agent = owner;

    agent->closing = true;
    timer_stop(&agent->rival_timer);
    registry_lost(agent->registry, agent, why);
    hello_release(&agent->hello);
    free(agent);
}

struct agent *agent_new(struct registry *registry, struct hub *hub, uint64_t serial,
                        struct stream *stream)
{
    static const struct link_ops ops = {
        .session = {.on_hello = on_hello, .on_proved = on_proved, .on_message = on_message},
        .on_closed = on_closed,
    };
    struct session_config config = {
        .role = SESSION_MASTER,
        .ping_after_ms = hub->config->ping_after_ms,
        .drop_after_ms = hub->config->drop_after_ms,
        .handshake_ms = SESSION_HANDSHAKE_MS,
        .credit_bytes = SESSION_CREDIT_BYTES,
    };
    struct agent *agent = xcalloc(1, sizeof *agent);

    agent->registry = registry;
    agent->hub = hub;
    agent->serial = serial;
    agent->link = link_new(hub->loop, stream, &config, &ops, agent);
    return agent;
}

const char *agent_name(const struct agent *agent)
{
    return agent->hello.name;
}

uint64_t agent_serial(const struct agent *agent)
{
    return agent->serial;
}

/* A slave that claims builds of pools that it is not in does not get them. */
static bool is_in_pool(const struct agent *agent, const struct config_pool *pool)
{
    const struct config_slave *def = agent->slave->def;

    for (size_t i = 0; def && i < def->pools.n; i++) {
        if (strcmp(def->pools.v[i], pool->name) == 0)
            return true;
    }
    return false;
}

/* What becomes of one attempt that the slave says it holds. */
static struct msg_known agent_known(struct agent *agent, const struct msg_held *held)
{
    struct build *build = builds_find(agent->hub->builds, held->build);
    struct attempt *attempt = build ? build->attempt : NULL;
    struct msg_known known = {held->build, held->attempt, 0, false};

    if (build && held->asked_ms && held->asked_ms != build->info.queued_ms)
        return known; /* another build had this id, in a database that is gone */
    if (attempt && attempt->number == held->attempt) {
        known.keep = strcmp(attempt->slave, agent->hello.name) == 0;
        known.stored = attempt->durable;
    } else if (build && !attempt && build->info.state == BUILD_QUEUED && build->def) {
        known.keep =
            build->info.attempt + 1 == held->attempt && is_in_pool(agent, build->def->pool);
    }
    return known;
}

/* Takes up an attempt that goes on. */
static void agent_resume(struct agent *agent, const struct msg_known *known)
{
    struct build *build = builds_find(agent->hub->builds, known->build);

    if (!build)
        return;
    if (!build->attempt)
        attempt_adopt(build, agent);
    else if (build->attempt->ended)
        build->attempt->last_agent = agent->serial;
    else if (!build->attempt->agent) /* it may have been listed twice */
        attempt_attach(build->attempt, agent);
}

void agent_welcome(struct agent *agent)
{
    struct msg_known *known = xcalloc(agent->hello.n_held, sizeof *known);
    struct msg_welcome welcome = {
        .boot_id = view_of(agent->hub->boot_id),
        .known = {known, agent->hello.n_held},
    };

    for (size_t i = 0; i < agent->hello.n_held; i++)
        known[i] = agent_known(agent, &agent->hello.held[i]);
    session_welcome(link_session(agent->link), &welcome);
    for (size_t i = 0; i < agent->hello.n_held; i++) {
        if (known[i].keep)
            agent_resume(agent, &known[i]);
    }
    builds_not_held(agent->hub->builds, agent);
    link_flush(agent->link);
    free(known);
    free(agent->hello.held);
    agent->hello.held = NULL;
    agent->hello.n_held = 0;
}

void agent_refuse(struct agent *agent, const char *code, uint64_t retry_ms, const char *fmt, ...)
{
    char reason[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    agent->closing = true;
    link_refuse(agent->link, code, reason, retry_ms);
}

void agent_close(struct agent *agent, enum err_code code, const char *why)
{
    struct err err = ERR_INIT;

    (void)err_set(&err, code, "%s", why);
    agent->closing = true;
    link_close(agent->link, &err);
}

void agent_send(struct agent *agent, const struct msg *msg)
{
    if (!agent->closing)
        (void)link_send(agent->link, msg); /* a failure closes the link, which reports it */
}

void agent_forget(struct agent *agent, uint64_t build, uint32_t attempt)
{
    struct msg msg = {.type = MSG_FORGET};

    msg.u.forget = (struct msg_forget){build, attempt};
    agent_send(agent, &msg);
}

void agent_add(struct agent *agent, struct attempt *attempt)
{
    attempt->agent = agent;
    DL_APPEND(agent->attempts, attempt);
    registry_slots_changed(agent->registry, agent);
}

void agent_remove(struct agent *agent, struct attempt *attempt)
{
    DL_DELETE(agent->attempts, attempt);
    attempt->agent = NULL;
    registry_slots_changed(agent->registry, agent);
}

uint32_t agent_running(const struct agent *agent)
{
    struct attempt *attempt;
    uint32_t n = 0;

    DL_FOREACH (agent->attempts, attempt) {
        n++;
    }
    return n;
}

void agent_ack_later(struct agent *agent)
{
    registry_ack_later(agent->registry, agent);
}

void agent_send_acks(struct agent *agent)
{
    struct attempt *attempt;

    DL_FOREACH (agent->attempts, attempt) {
        struct msg msg = {.type = MSG_ACK};

        if (!attempt->ack_due)
            continue;
        attempt->ack_due = false;
        msg.u.ack = (struct msg_ack){attempt->build->info.id, attempt->number, attempt->durable};
        agent_send(agent, &msg);
    }
    if (!agent->closing)
        link_flush(agent->link);
}

void agent_granted(struct agent *agent, size_t bytes)
{
    if (agent->closing)
        return;
    session_granted(link_session(agent->link), bytes);
    registry_ack_later(agent->registry, agent);
}

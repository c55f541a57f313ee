/* The registry's door: how many connections may stand in it, and what is said of those that went.
 */
#include "common/base/log.h"
#include "master/agent.h"
#include "master/registry_private.h"

enum {
    CONNECTIONS_SPARE = 256, /* above two for each configured slave */
    SAY_WINDOW_MS = 10000,
    SAY_MOST = 20, /* in each window: whoever can reach the port must not fill the disk with logs */
};

/* The longest here of those that are no slave's connection. */
static struct agent *oldest_stranger(struct registry *registry)
{
    struct agent *agent, *next;

    HASH_ITER (hh, registry->agents, agent, next) { /* in the order they came */
        if (!agent->slave && !agent->displaced)
            return agent;
    }
    return NULL;
}

/* Whoever holds connections open without a word makes room for those who come to speak: a slave is
 * in after two round trips, long before it would be its turn. */
static bool make_room(struct registry *registry)
{
    unsigned most = 2 * HASH_COUNT(registry->slaves) + CONNECTIONS_SPARE;
    struct agent *stranger;

    if (HASH_COUNT(registry->agents) < most)
        return true;
    stranger = oldest_stranger(registry);
    if (!stranger)
        return false;
    stranger->displaced = true;
    agent_close(stranger, ERR_LIMIT, "too many connections, and this one was the oldest");
    return true;
}

void registry_accept(struct registry *registry, struct stream *stream)
{
    struct agent *agent;
    struct err err = ERR_INIT;

    if (registry->closing || !make_room(registry)) {
        (void)err_set(&err, ERR_LIMIT, "too many connections");
        stream_own(stream, NULL, NULL);
        stream_close(stream, &err);
        return;
    }
    agent = agent_new(registry, registry->hub, ++registry->last_serial, stream);
    HASH_ADD(hh, registry->agents, serial, sizeof agent->serial, agent);
}

void registry_say_turned_away(struct registry *registry, const struct agent *agent,
                              const struct err *why)
{
    uint64_t now_ms = loop_now_ms(registry->hub->loop);

    if (registry->closing)
        return;
    if (now_ms - registry->say_since_ms >= SAY_WINDOW_MS) {
        if (registry->say_n > SAY_MOST)
            log_warn("slave.turned_away_more", LOG_INT("connections", registry->say_n - SAY_MOST));
        registry->say_since_ms = now_ms;
        registry->say_n = 0;
    }
    if (registry->say_n++ < SAY_MOST)
        log_warn("slave.turned_away", LOG_STR("slave", agent->hello.name ? agent->hello.name : ""),
                 LOG_STR("peer", link_peer(agent->link)), LOG_ERR(why));
}

/* What the web is told of slaves and pools. */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "master/agent.h"
#include "master/attempt.h"
#include "master/builds.h"
#include "master/registry_private.h"

enum { TELL_MS = 50 }; /* changes of slaves and pools are told together, at most so often */

uint32_t slave_slots(const struct slave *slave)
{
    uint32_t configured = slave->def ? slave->def->slots : 0;
    uint32_t offered = slave->agent ? slave->agent->hello.slots : 0;

    if (!slave->agent)
        return configured ? configured : 1;
    return configured && configured < offered ? configured : offered;
}

bool slave_takes_work(const struct slave *slave)
{
    return slave->agent && slave->def && !slave->drained && !slave->agent->hello.draining &&
           !slave->agent->closing;
}

static enum slave_state slave_state(const struct slave *slave)
{
    if (!slave->agent)
        return slave->incompatible ? SLAVE_INCOMPATIBLE : SLAVE_OFFLINE;
    if (!slave_takes_work(slave))
        return SLAVE_DRAINING;
    return slave->agent->attempts ? SLAVE_BUSY : SLAVE_IDLE;
}

static void list_copy(text_list *to, const text_list *from)
{
    for (size_t i = 0; i < from->n; i++)
        vec_push(to, xstrdup(from->v[i]));
}

void slave_fill(const struct slave *slave, struct slave_info *info)
{
    struct attempt *attempt;

    memset(info, 0, sizeof *info);
    info->name = xstrdup(slave->name);
    info->state = slave_state(slave);
    if (slave->def) {
        list_copy(&info->pools, &slave->def->pools);
        list_copy(&info->labels, &slave->def->labels);
    }
    info->slots = slave_slots(slave);
    info->version = slave->version ? xstrdup(slave->version) : NULL;
    info->platform = slave->platform ? xstrdup(slave->platform) : NULL;
    info->connected_ms = slave->agent ? slave->connected_ms : 0;
    info->last_seen_ms = slave->last_seen_ms;
    info->reason = slave->reason ? xstrdup(slave->reason) : NULL;
    if (!slave->agent)
        return;
    DL_FOREACH (slave->agent->attempts, attempt) {
        vec_push(&info->builds, attempt->build->info.id);
        info->running++;
    }
}

static bool list_has(const text_list *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->v[i], word) == 0)
            return true;
    }
    return false;
}

static void tell_later(struct registry *registry, text_list *due, const char *name)
{
    vec_push(due, xstrdup(name));
    if (!timer_is_running(&registry->tell_timer))
        timer_start(&registry->tell_timer, TELL_MS, 0);
}

void registry_emit_slave(struct registry *registry, struct slave *slave)
{
    if (!slave->tell)
        tell_later(registry, &registry->slaves_due, slave->name);
    slave->tell = true;
    for (size_t i = 0; slave->def && i < slave->def->pools.n; i++)
        registry_emit_pool(registry, slave->def->pools.v[i]);
}

static void tell_slaves(struct registry *registry)
{
    text_list due = registry->slaves_due;

    memset(&registry->slaves_due, 0, sizeof registry->slaves_due);
    for (size_t i = 0; i < due.n; i++) {
        struct slave *slave = registry_find_slave(registry, due.v[i]);
        struct event *event;

        if (!slave || !slave->tell)
            continue;
        slave->tell = false;
        event = event_new(EVENT_SLAVE);
        slave_fill(slave, &event->slave);
        hub_emit(registry->hub, event);
    }
    text_list_release(&due);
}

void registry_tell(struct registry *registry)
{
    text_list due = registry->pools_due;

    timer_stop(&registry->tell_timer);
    tell_slaves(registry);
    memset(&registry->pools_due, 0, sizeof registry->pools_due);
    for (size_t i = 0; i < due.n; i++) {
        const struct config_pool *pool = config_find_pool(registry->hub->config, due.v[i]);
        struct event *event = event_new(pool ? EVENT_POOL : EVENT_POOL_GONE);

        if (pool)
            registry_pool_info(registry, pool, &event->pool);
        else
            event->pool.name = xstrdup(due.v[i]);
        hub_emit(registry->hub, event);
    }
    text_list_release(&due);
}

void registry_on_tell(struct timer *timer, void *owner)
{
    (void)timer;
    registry_tell(owner);
}

void registry_pool_info(struct registry *registry, const struct config_pool *pool,
                        struct pool_info *info)
{
    struct slave *slave, *next;

    memset(info, 0, sizeof *info);
    info->name = xstrdup(pool->name);
    info->backlog_latest = pool->backlog_latest;
    info->paused = sched_is_paused(builds_sched(registry->hub->builds), pool->name);
    builds_count(registry->hub->builds, pool->name, &info->queued, &info->running);
    HASH_ITER (hh, registry->slaves, slave, next) {
        if (!slave_takes_work(slave) || !list_has(&slave->def->pools, pool->name))
            continue;
        info->slaves++;
        info->slots += slave_slots(slave);
    }
}

void registry_emit_pool(struct registry *registry, const char *pool)
{
    if (!list_has(&registry->pools_due, pool))
        tell_later(registry, &registry->pools_due, pool);
}

void registry_emit_all(struct registry *registry)
{
    struct slave *slave, *next;
    struct config_pool *pool, *next_pool;

    HASH_ITER (hh, registry->slaves, slave, next) {
        registry_emit_slave(registry, slave);
    }
    HASH_ITER (hh, registry->hub->config->pools, pool, next_pool) {
        registry_emit_pool(registry, pool->name);
    }
    registry_tell(registry);
}

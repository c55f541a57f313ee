#include "master/http/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

void mirror_init(struct mirror *mirror, struct config *config)
{
    *mirror = (struct mirror){.config = config_ref(config)};
}

static void forget_build(struct mirror *mirror, struct mirror_build *build)
{
    HASH_DEL(mirror->builds, build);
    build_info_release(&build->info);
    vec_release(&build->waits);
    free(build);
}

static void forget_slave(struct mirror *mirror, struct mirror_slave *slave)
{
    HASH_DEL(mirror->slaves, slave);
    slave_info_release(&slave->info);
    free(slave);
}

static void forget_pool(struct mirror *mirror, struct mirror_pool *pool)
{
    HASH_DEL(mirror->pools, pool);
    pool_info_release(&pool->info);
    free(pool);
}

void mirror_release(struct mirror *mirror)
{
    while (mirror->builds)
        forget_build(mirror, mirror->builds);
    while (mirror->slaves)
        forget_slave(mirror, mirror->slaves);
    while (mirror->pools)
        forget_pool(mirror, mirror->pools);
    config_unref(&mirror->config);
    free(mirror->config_error);
    free(mirror->store_error);
}

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = text ? xstrdup(text) : NULL;
}

static struct mirror_slave *find_slave(const struct mirror *mirror, const char *name)
{
    struct mirror_slave *slave;

    HASH_FIND_STR(mirror->slaves, name, slave);
    return slave;
}

static struct mirror_pool *find_pool(const struct mirror *mirror, const char *name)
{
    struct mirror_pool *pool;

    HASH_FIND_STR(mirror->pools, name, pool);
    return pool;
}

struct mirror_build *mirror_find_build(const struct mirror *mirror, uint64_t id)
{
    struct mirror_build *build;

    HASH_FIND(hh, mirror->builds, &id, sizeof id, build);
    return build;
}

const struct slave_info *mirror_find_slave(const struct mirror *mirror, const char *name)
{
    const struct mirror_slave *slave = find_slave(mirror, name);

    return slave ? &slave->info : NULL;
}

const struct pool_info *mirror_find_pool(const struct mirror *mirror, const char *name)
{
    const struct mirror_pool *pool = find_pool(mirror, name);

    return pool ? &pool->info : NULL;
}

static void apply_build(struct mirror *mirror, const struct build_info *info)
{
    struct mirror_build *build = mirror_find_build(mirror, info->id);

    if (info->state == BUILD_FINISHED) {
        if (build)
            forget_build(mirror, build);
        return;
    }
    if (build) {
        build_info_release(&build->info);
        build_info_copy(&build->info, info);
        return;
    }
    build = xcalloc(1, sizeof *build);
    build_info_copy(&build->info, info);
    HASH_ADD(hh, mirror->builds, info.id, sizeof build->info.id, build);
}

static void apply_slave(struct mirror *mirror, const struct slave_info *info)
{
    struct mirror_slave *old = find_slave(mirror, info->name);
    struct mirror_slave *slave = xcalloc(1, sizeof *slave);

    slave_info_copy(&slave->info, info);
    if (old)
        forget_slave(mirror, old);
    HASH_ADD_KEYPTR(hh, mirror->slaves, slave->info.name, strlen(slave->info.name), slave);
    mirror->unsorted = true;
}

static void apply_pool(struct mirror *mirror, const struct pool_info *info)
{
    struct mirror_pool *old = find_pool(mirror, info->name);
    struct mirror_pool *pool = xcalloc(1, sizeof *pool);

    pool_info_copy(&pool->info, info);
    if (old)
        forget_pool(mirror, old);
    HASH_ADD_KEYPTR(hh, mirror->pools, pool->info.name, strlen(pool->info.name), pool);
    mirror->unsorted = true;
}

static void apply_config(struct mirror *mirror, const struct event *event)
{
    struct config *old = mirror->config;

    if (event->config) {
        mirror->config = config_ref(event->config);
        config_unref(&old);
    }
    set_text(&mirror->config_error, event->text);
}

void mirror_apply(struct mirror *mirror, const struct event *event)
{
    struct mirror_slave *slave;
    struct mirror_pool *pool;

    switch (event->kind) {
    case EVENT_BUILD:
        apply_build(mirror, &event->build);
        break;
    case EVENT_SLAVE:
        apply_slave(mirror, &event->slave);
        break;
    case EVENT_SLAVE_GONE:
        slave = find_slave(mirror, event->slave.name);
        if (slave)
            forget_slave(mirror, slave);
        break;
    case EVENT_POOL:
        apply_pool(mirror, &event->pool);
        break;
    case EVENT_POOL_GONE:
        pool = find_pool(mirror, event->pool.name);
        if (pool)
            forget_pool(mirror, pool);
        break;
    case EVENT_CONFIG:
        apply_config(mirror, event);
        break;
    case EVENT_HEALTH:
        set_text(&mirror->store_error, event->text);
        break;
    case EVENT_STEP:
    case EVENT_LOG:
    case EVENT_POINTS:
    case EVENT_CHANGE:
        break;
    }
}

static int by_slave_name(const struct mirror_slave *a, const struct mirror_slave *b)
{
    return strcmp(a->info.name, b->info.name);
}

static int by_pool_name(const struct mirror_pool *a, const struct mirror_pool *b)
{
    return strcmp(a->info.name, b->info.name);
}

/* Only when somebody looks: slaves change much more often. */
static void sort(struct mirror *mirror)
{
    if (!mirror->unsorted)
        return;
    HASH_SORT(mirror->slaves, by_slave_name);
    HASH_SORT(mirror->pools, by_pool_name);
    mirror->unsorted = false;
}

struct mirror_slave *mirror_slaves(struct mirror *mirror)
{
    sort(mirror);
    return mirror->slaves;
}

struct mirror_pool *mirror_pools(struct mirror *mirror)
{
    sort(mirror);
    return mirror->pools;
}

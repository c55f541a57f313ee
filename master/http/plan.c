#include "master/http/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

static const int64_t UNKNOWN_MS = INT64_MAX;

struct slot {
    const text_list *labels;
    int64_t free_ms; /* UNKNOWN_MS: nobody knows when */
};

struct plan_pool {
    const char *name;
    VEC(struct slot) slots; /* of the slaves that take work */
    unsigned busy;
    bool paused;
    bool draining; /* a connected slave takes none */
    size_t simulated;
};

/* The ends of a limited builder's builds that run or are planned. */
struct limit {
    const struct config_builder *builder;
    VEC(int64_t) ends;
};

typedef VEC(struct limit) limits;

static int64_t end_of(const struct plan_input *input, int64_t start_ms, const char *builder)
{
    double seconds = input->expected(input->arg, builder);
    int64_t end_ms;

    if (seconds < 0 || start_ms == UNKNOWN_MS)
        return UNKNOWN_MS;
    end_ms = start_ms + (int64_t)(seconds * 1000);
    return end_ms > input->now_ms ? end_ms : input->now_ms;
}

static bool is_running(const struct mirror_build *build)
{
    return build->info.state == BUILD_RUNNING || build->info.state == BUILD_DETACHED;
}

static bool has(const text_list *list, const char *word)
{
    for (size_t i = 0; list && i < list->n; i++) {
        if (strcmp(list->v[i], word) == 0)
            return true;
    }
    return false;
}

/* Whether labels hold all needs. */
static bool fits(const text_list *labels, const text_list *needs)
{
    for (size_t i = 0; needs && i < needs->n; i++) {
        if (!has(labels, needs->v[i]))
            return false;
    }
    return true;
}

/* ---- pools ---- */

static void pool_add_slave(struct plan_pool *pool, const struct mirror *mirror,
                           const struct slave_info *slave)
{
    size_t first = pool->slots.n;
    size_t used = 0;

    for (uint32_t i = 0; i < slave->slots; i++) {
        struct slot slot = {&slave->labels, 0};

        vec_push(&pool->slots, slot);
    }
    for (size_t i = 0; i < slave->builds.n && used < slave->slots; i++) {
        const struct mirror_build *build = mirror_find_build(mirror, slave->builds.v[i]);

        pool->slots.v[first + used++].free_ms = build ? build->ends_ms : UNKNOWN_MS;
        pool->busy++;
    }
}

static struct plan_pool *pool_new(const struct plan_input *input, const char *name)
{
    struct plan_pool *pool = xcalloc(1, sizeof *pool);
    const struct pool_info *info = mirror_find_pool(input->mirror, name);
    const struct mirror_slave *slave;

    pool->name = name;
    pool->paused = info && info->paused;
    for (slave = input->mirror->slaves; slave; slave = slave->hh.next) {
        if (!has(&slave->info.pools, name))
            continue;
        if (slave->info.state == SLAVE_IDLE || slave->info.state == SLAVE_BUSY)
            pool_add_slave(pool, input->mirror, &slave->info);
        else if (slave->info.state == SLAVE_DRAINING || slave->info.state == SLAVE_QUARANTINED)
            pool->draining = true;
    }
    return pool;
}

/* ---- the order ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_order(const void *a, const void *b)
{
    const struct build_info *left = &((const struct plan_entry *)a)->build->info;
    const struct build_info *right = &((const struct plan_entry *)b)->build->info;
    int order = strcmp(left->pool, right->pool);

    if (!order)
        order = (left->state == BUILD_WAITING) - (right->state == BUILD_WAITING);
    if (!order)
        order = (int)left->priority - (int)right->priority;
    return order ? order : compare_u64(left->id, right->id);
}

static int by_id(const void *a, const void *b)
{
    const struct plan_entry *const *left = a;
    const struct plan_entry *const *right = b;

    return compare_u64((*left)->build->info.id, (*right)->build->info.id);
}

static void collect(const struct plan_input *input, struct plan *plan)
{
    struct mirror_build *build;

    for (build = input->mirror->builds; build; build = build->hh.next) {
        struct plan_entry entry = {.build = build};

        build->ends_ms = 0;
        if (is_running(build))
            build->ends_ms = end_of(input, build->info.started_ms, build->info.builder);
        else
            vec_push(&plan->entries, entry);
    }
    if (plan->entries.n > 0)
        qsort(plan->entries.v, plan->entries.n, sizeof *plan->entries.v, by_order);
}

static void number(const struct plan_input *input, struct plan *plan)
{
    struct plan_pool *pool = NULL;
    unsigned position = 0;

    for (size_t i = 0; i < plan->entries.n; i++) {
        struct plan_entry *entry = &plan->entries.v[i];

        if (!pool || strcmp(pool->name, entry->build->info.pool) != 0) {
            pool = pool_new(input, entry->build->info.pool);
            vec_push(&plan->pools, pool);
            position = 0;
        }
        entry->pool = plan->pools.n - 1;
        entry->position = ++position;
    }
}

/* ---- the simulation ---- */

static struct limit *limit_get(limits *all, const struct config_builder *builder)
{
    struct limit *limit;

    VEC_FOREACH (all, limit) {
        if (limit->builder == builder)
            return limit;
    }
    limit = vec_add(all);
    limit->builder = builder;
    return limit;
}

static const struct config_builder *limited(const struct mirror *mirror, const char *name)
{
    const struct config_builder *builder = config_find_builder(mirror->config, name);

    return builder && builder->max_running > 0 ? builder : NULL;
}

static int later_first(const void *a, const void *b)
{
    const int64_t *left = a;
    const int64_t *right = b;

    return (*left < *right) - (*left > *right);
}

/* When one more build may run. */
static int64_t limit_open_ms(struct limit *limit)
{
    if (limit->ends.n < limit->builder->max_running)
        return 0;
    qsort(limit->ends.v, limit->ends.n, sizeof *limit->ends.v, later_first);
    return limit->ends.v[limit->builder->max_running - 1];
}

/* When all that it waits for has ended. */
static int64_t ready_ms(const struct plan_input *input, struct mirror_build *build)
{
    int64_t ready = 0;

    if (build->info.state != BUILD_WAITING)
        return 0;
    if (!build->waits_known)
        input->read_waits(input->arg, build);
    for (size_t i = 0; i < build->waits.n; i++) {
        const struct mirror_build *first = mirror_find_build(input->mirror, build->waits.v[i]);

        if (first && (first->ends_ms == 0 || first->ends_ms == UNKNOWN_MS))
            return UNKNOWN_MS;
        if (first && first->ends_ms > ready)
            ready = first->ends_ms;
    }
    return ready;
}

static struct slot *first_slot(struct plan_pool *pool, const text_list *needs)
{
    struct slot *slot, *best = NULL;

    VEC_FOREACH (&pool->slots, slot) {
        if ((!best || slot->free_ms < best->free_ms) && fits(slot->labels, needs))
            best = slot;
    }
    return best;
}

static void place(const struct plan_input *input, struct plan_pool *pool, struct plan_entry *entry,
                  limits *all)
{
    struct mirror_build *build = entry->build;
    const struct config_builder *def =
        config_find_builder(input->mirror->config, build->info.builder);
    const struct config_builder *narrow = limited(input->mirror, build->info.builder);
    struct slot *slot = first_slot(pool, def ? &def->needs : NULL);
    int64_t start_ms = input->now_ms;
    int64_t bounds[3];

    /* Also for one that has no time: its reason names a build that it waits for. */
    bounds[1] = ready_ms(input, build);
    if (pool->paused || !slot || pool->simulated++ >= PLAN_SIMULATED)
        return;
    bounds[0] = slot->free_ms;
    bounds[2] = narrow ? limit_open_ms(limit_get(all, narrow)) : 0;
    for (size_t i = 0; i < 3; i++) {
        if (bounds[i] > start_ms)
            start_ms = bounds[i];
    }
    build->ends_ms = end_of(input, start_ms, build->info.builder);
    if (narrow)
        vec_push(&limit_get(all, narrow)->ends, build->ends_ms);
    /* A build that has to wait for others holds no slot until then. */
    if (start_ms != UNKNOWN_MS || build->info.state == BUILD_QUEUED)
        slot->free_ms = build->ends_ms;
    if (start_ms != UNKNOWN_MS)
        entry->starts_ms = start_ms;
}

/* Those that wait come last, by id: a build's id is above those it waits for. */
static void simulate_waiting(const struct plan_input *input, struct plan *plan, limits *all)
{
    VEC(struct plan_entry *) waiting = {NULL, 0, 0};

    for (size_t i = 0; i < plan->entries.n; i++) {
        struct plan_entry *entry = &plan->entries.v[i];

        if (entry->build->info.state == BUILD_WAITING)
            vec_push(&waiting, entry);
    }
    if (waiting.n > 0)
        qsort(waiting.v, waiting.n, sizeof *waiting.v, by_id);
    for (size_t i = 0; i < waiting.n; i++)
        place(input, plan->pools.v[waiting.v[i]->pool], waiting.v[i], all);
    vec_release(&waiting);
}

static void simulate(const struct plan_input *input, struct plan *plan)
{
    const struct mirror_build *build;
    struct limit *limit;
    limits all = {NULL, 0, 0};

    for (build = input->mirror->builds; build; build = build->hh.next) {
        const struct config_builder *narrow =
            is_running(build) ? limited(input->mirror, build->info.builder) : NULL;

        if (narrow)
            vec_push(&limit_get(&all, narrow)->ends, build->ends_ms);
    }
    for (size_t i = 0; i < plan->entries.n; i++) {
        struct plan_entry *entry = &plan->entries.v[i];

        if (entry->build->info.state == BUILD_QUEUED)
            place(input, plan->pools.v[entry->pool], entry, &all);
    }
    simulate_waiting(input, plan, &all);
    VEC_FOREACH (&all, limit) {
        vec_release(&limit->ends);
    }
    vec_release(&all);
}

void plan_make(const struct plan_input *input, struct plan *out)
{
    struct plan plan = {.entries = {NULL, 0, 0}};

    collect(input, &plan);
    number(input, &plan);
    simulate(input, &plan);
    *out = plan;
}

void plan_release(struct plan *plan)
{
    for (size_t i = 0; i < plan->pools.n; i++) {
        vec_release(&plan->pools.v[i]->slots);
        free(plan->pools.v[i]);
    }
    vec_release(&plan->pools);
    vec_release(&plan->entries);
}

/* ---- the sentence ---- */

static void reason_waiting(const struct mirror *mirror, const struct mirror_build *build,
                           struct str *out)
{
    const struct mirror_build *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < build->waits.n; i++) {
        const struct mirror_build *other = mirror_find_build(mirror, build->waits.v[i]);

        if (!other)
            continue;
        first = first ? first : other;
        n++;
    }
    if (!first) {
        str_put(out, "the builds it waited for have ended");
        return;
    }
    str_printf(out, "waiting for build %" PRIu64 " (%s), which is %s", first->info.id,
               first->info.builder, build_state_name(first->info.state));
    if (n > 1)
        str_printf(out, ", and %zu more", n - 1);
}

static bool reason_limit(const struct mirror *mirror, const struct build_info *info,
                         struct str *out)
{
    const struct config_builder *narrow = limited(mirror, info->builder);
    const struct mirror_build *build;
    uint32_t running = 0;

    for (build = narrow ? mirror->builds : NULL; build; build = build->hh.next)
        running += is_running(build) && strcmp(build->info.builder, info->builder) == 0;
    if (!narrow || running < narrow->max_running)
        return false;
    str_printf(out, "builder %s runs at most %" PRIu32 " at once, %" PRIu32 " running",
               info->builder, narrow->max_running, running);
    return true;
}

static bool any_fits(struct plan_pool *pool, const text_list *needs)
{
    return first_slot(pool, needs) != NULL;
}

static const char *ordinal(unsigned n)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};

    return n % 10 < 4 && n / 10 % 10 != 1 ? ends[n % 10] : ends[0];
}

static void reason_labels(const struct plan_pool *pool, const text_list *needs, struct str *out)
{
    str_printf(out, "no connected slave of pool %s has ", pool->name);
    for (size_t i = 0; i < needs->n; i++)
        str_printf(out, "%s%s", i ? ", " : "", needs->v[i]);
}

void plan_reason(const struct mirror *mirror, const struct plan *plan,
                 const struct plan_entry *entry, struct str *out)
{
    struct plan_pool *pool = plan->pools.v[entry->pool];
    const struct build_info *info = &entry->build->info;
    const struct config_builder *def = config_find_builder(mirror->config, info->builder);

    if (info->state == BUILD_WAITING)
        reason_waiting(mirror, entry->build, out);
    else if (pool->paused)
        str_printf(out, "pool %s is paused", pool->name);
    else if (mirror->store_error)
        str_printf(out, "nothing starts while the store cannot write: %.400s", mirror->store_error);
    else if (pool->slots.n == 0 && pool->draining)
        str_printf(out, "every connected slave of pool %s is draining", pool->name);
    else if (pool->slots.n == 0)
        str_printf(out, "no slave of pool %s is connected", pool->name);
    else if (def && !any_fits(pool, &def->needs))
        reason_labels(pool, &def->needs, out);
    else if (!reason_limit(mirror, info, out))
        str_printf(out, "%u%s in pool %s, %u slot%s of %zu busy", entry->position,
                   ordinal(entry->position), pool->name, pool->busy, pool->busy == 1 ? "" : "s",
                   pool->slots.n);
}

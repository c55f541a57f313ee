#include "master/builds.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/agent.h"
#include "master/attempt.h"
#include "master/builds_private.h"
#include "master/registry.h"
#include "proto/codec.h"

static bool may_start(void *owner, const char *builder)
{
    struct builds *builds = owner;
    const struct config_builder *def = config_find_builder(builds->hub->config, builder);
    struct build *build;
    uint32_t running = 0;

    if (!def || def->max_running == 0)
        return true;
    DL_FOREACH (builds_line(builds, builder)->running, build) {
        if (++running >= def->max_running)
            return false;
    }
    return true;
}

struct builds *builds_new(struct hub *hub)
{
    struct builds *builds = xcalloc(1, sizeof *builds);

    builds->hub = hub;
    builds->sched = sched_new(may_start, builds);
    builds->arena = msg_arena_new();
    return builds;
}

void builds_free(struct builds *builds)
{
    struct build *build, *next;
    struct builder_line *line, *next_line;

    if (!builds)
        return;
    HASH_ITER (hh, builds->table, build, next) {
        HASH_DEL(builds->table, build);
        build_leave_queue(build);
        if (build->attempt)
            attempt_free(build->attempt);
        build_free(build);
    }
    HASH_ITER (hh, builds->lines, line, next_line) {
        HASH_DEL(builds->lines, line);
        free(line->name);
        free(line);
    }
    msg_arena_free(builds->arena);
    sched_free(builds->sched);
    free(builds);
}

struct hub *builds_hub(struct builds *builds)
{
    return builds->hub;
}

struct sched *builds_sched(struct builds *builds)
{
    return builds->sched;
}

struct msg_arena *builds_arena(struct builds *builds)
{
    return builds->arena;
}

struct builder_line *builds_line(struct builds *builds, const char *builder)
{
    struct builder_line *line;

    HASH_FIND_STR(builds->lines, builder, line);
    if (line)
        return line;
    line = xcalloc(1, sizeof *line);
    line->name = xstrdup(builder);
    HASH_ADD_KEYPTR(hh, builds->lines, line->name, strlen(line->name), line);
    return line;
}

struct build *builds_find(struct builds *builds, uint64_t id)
{
    struct build *build;

    HASH_FIND(hh, builds->table, &id, sizeof id, build);
    return build;
}

struct build *builds_add(struct builds *builds, const struct build_info *info)
{
    struct build_info copy = {0};
    struct build *build;

    build_info_copy(&copy, info);
    build = build_new(builds, &copy);
    build_fit(build, builds->hub->config);
    HASH_ADD(hh, builds->table, info.id, sizeof build->info.id, build);
    return build;
}

void builds_emit_build(struct builds *builds, const struct build_info *info)
{
    struct event *event = event_new(EVENT_BUILD);

    build_info_copy(&event->build, info);
    hub_emit(builds->hub, event);
    registry_emit_pool(builds->hub->registry, info->pool);
}

static void on_dependency_limit(struct timer *timer, void *owner)
{
    struct build *build = owner;
    uint64_t limit_ms = build->builds->hub->config->dependency_timeout_ms;
    char shown[TEXT_SHORT_MAX];
    char *note = xasprintf("dependency limit: waited %s for another build",
                           text_show_duration(limit_ms, shown));

    (void)timer;
    builds_finish(build, RESULT_EXCEPTION, note, NULL);
    free(note);
}

void builds_wait(struct build *build, const char *why)
{
    struct hub *hub = build->builds->hub;

    build_enter(build, BUILD_WAITING, why);
    timer_init(&build->deadline, hub->loop, on_dependency_limit, build);
    timer_start(&build->deadline, hub->config->dependency_timeout_ms, 0);
}

void builds_link(struct builds *builds, uint64_t id, uint64_t waits_for)
{
    struct build *build = builds_find(builds, id);
    struct build *before = builds_find(builds, waits_for);

    if (!build || !before)
        return;
    vec_push(&build->waits_for, waits_for);
    vec_push(&before->dependents, id);
}

static void builds_replace(struct build *older, const struct build *by)
{
    char *note = xasprintf("build %llu took its place: pool %s keeps the latest only",
                           (unsigned long long)by->info.id, by->info.pool);

    older->info.stands_for_id = by->info.id;
    builds_finish(older, RESULT_SKIPPED, note, NULL);
    free(note);
}

/* Under a backlog, a pool with `backlog: latest` keeps only the newest request of each builder and
 * branch. A rebuild takes nobody's place. */
static void builds_keep_latest(struct build *build)
{
    struct build *other, *next;

    if (!build->def->pool->backlog_latest || build->info.rebuild_of_id)
        return;
    DL_FOREACH_SAFE (build->line->queued, other, next) {
        if (other == build || other->info.state != BUILD_QUEUED || other->info.attempt > 0 ||
            strcmp(other->info.branch, build->info.branch) != 0)
            continue;
        if (other->info.id < build->info.id) {
            builds_replace(other, build);
        } else if (!other->info.rebuild_of_id) {
            builds_replace(build, other); /* it waited for another build too long */
            return;
        }
    }
}

void builds_enqueue(struct build *build, const char *why)
{
    build_enter(build, BUILD_QUEUED, why);
    if (build->def)
        builds_keep_latest(build);
    else
        builds_finish(build, RESULT_EXCEPTION, "its builder is no longer configured", NULL);
}

/* Adds the build's row, as it is to become, to the operation. */
static void op_push_row(struct store_op *op, const struct build_info *info)
{
    op->builds = xrealloc(op->builds, (op->n_builds + 1) * sizeof *op->builds);
    memset(&op->builds[op->n_builds], 0, sizeof *op->builds);
    build_info_copy(&op->builds[op->n_builds++], info);
}

static void on_ended(struct store_op *op, void *owner)
{
    struct builds *builds = owner;

    for (size_t i = 0; i < op->n_builds; i++) {
        struct build *build = builds_find(builds, op->builds[i].id);

        builds_emit_build(builds, &op->builds[i]);
        if (op->builds[i].state == BUILD_FINISHED) {
            if (build->attempt) {
                registry_forget(builds->hub->registry, build->attempt->last_agent, build->info.id,
                                build->attempt->number);
                attempt_drop(build->attempt);
            }
            HASH_DEL(builds->table, build);
            build_free(build);
        } else if (build && !build->ending && op->builds[i].state == BUILD_QUEUED) {
            timer_stop(&build->deadline);
            builds_enqueue(build, "what it waited for has succeeded");
        }
    }
    sched_unblock(builds->sched);
    builds_dispatch(builds);
}

static void finish_into(struct build *build, enum build_result result, const char *note,
                        struct store_op *op);

/* A build that `build` waited for is ending: once none is left it is queued; when one did not
 * succeed it is skipped. */
static void release_into(struct build *build, const struct build_info *ended, struct store_op *op)
{
    bool good = ended->result == RESULT_SUCCESS || ended->result == RESULT_WARNINGS;
    bool learned = false; /* the revision that the first of them found holds for all */
    struct build_info row;
    char *note;
    size_t left = 0;

    for (size_t i = 0; i < build->waits_for.n; i++) {
        if (build->waits_for.v[i] != ended->id)
            build->waits_for.v[left++] = build->waits_for.v[i];
    }
    build->waits_for.n = left;
    if (build->info.state != BUILD_WAITING || build->ending)
        return;
    if (!good) {
        note = xasprintf("%s (build %llu) ended with %s", ended->builder,
                         (unsigned long long)ended->id, result_name(ended->result));
        finish_into(build, RESULT_SKIPPED, note, op);
        free(note);
        return;
    }
    if (!build->info.revision && ended->revision) {
        build->info.revision = xstrdup(ended->revision);
        learned = true;
    }
    row = build->info;
    row.state = left > 0 ? BUILD_WAITING : BUILD_QUEUED;
    if (left == 0 || learned)
        op_push_row(op, &row);
}

static void finish_into(struct build *build, enum build_result result, const char *note,
                        struct store_op *op)
{
    struct builds *builds = build->builds;

    build->ending = true;
    timer_stop(&build->deadline);
    build->info.result = result;
    build->info.finished_ms = loop_wall_ms(builds->hub->loop);
    if (note && note[0]) {
        free(build->info.note);
        build->info.note = xstrdup(note);
    }
    build_enter(build, BUILD_FINISHED, note && note[0] ? note : result_name(result));
    op_push_row(op, &build->info);
    for (size_t i = 0; i < build->dependents.n; i++) {
        struct build *waiting = builds_find(builds, build->dependents.v[i]);

        if (waiting)
            release_into(waiting, &build->info, op);
    }
}

void builds_finish(struct build *build, enum build_result result, const char *note,
                   struct store_op *op)
{
    struct builds *builds = build->builds;

    if (!op)
        op = store_op_new(STORE_BUILD, NULL, NULL);
    op->done = on_ended;
    op->owner = builds;
    finish_into(build, result, note, op);
    store_post(builds->hub->store, op);
}

enum err_code builds_cancel(struct builds *builds, uint64_t id, const char *reason, bool *already,
                            struct err *err)
{
    struct build *build = builds_find(builds, id);

    if (!build || (build->ending && !build->info.cancel))
        return err_set(err, ERR_NOTFOUND, "build %llu is not running or queued",
                       (unsigned long long)id);
    *already = build->info.cancel != NULL;
    if (*already)
        return ERR_OK;
    build->info.cancel = xstrdup(reason);
    if (build->attempt) {
        build_save(build); /* a master that dies before the end is to know of it */
        attempt_cancel(build->attempt);
    } else {
        builds_finish(build, RESULT_CANCELLED, reason, NULL);
    }
    return ERR_OK;
}

void builds_dispatch(struct builds *builds)
{
    struct sched_match match;

    if (builds->hub->stopping || builds->hub->store_error)
        return;
    while (sched_next(builds->sched, &match)) {
        struct build *build = match.request->owner;

        attempt_begin(build, match.slave);
    }
}

void builds_not_held(struct builds *builds, struct agent *agent)
{
    struct build *build, *next;

    HASH_ITER (hh, builds->table, build, next) {
        struct attempt *attempt = build->attempt;

        if (!attempt || attempt->agent || attempt->ended ||
            strcmp(attempt->slave, agent_name(agent)) != 0)
            continue;
        if (attempt->fold.last > 0) {
            attempt_lose(attempt, "its slave came back without it");
            continue;
        }
        attempt_attach(attempt, agent);
        attempt_send_start(attempt);
    }
}

void builds_reconfigure(struct builds *builds)
{
    struct build *build, *next;

    HASH_ITER (hh, builds->table, build, next) {
        bool queued = build->request.lane != NULL;
        bool moved;

        /* What runs, and what a removed builder had queued, goes on as it was asked for. */
        if (build->attempt || build->ending ||
            !config_find_builder(builds->hub->config, build->info.builder))
            continue;
        if (queued)
            build_leave_queue(build);
        moved = build_fit(build, builds->hub->config);
        if (queued)
            build_join_queue(build);
        if (moved)
            build_save(build);
    }
    sched_unblock(builds->sched);
    builds_dispatch(builds);
}

void builds_emit_all(struct builds *builds)
{
    struct build *build, *next;

    HASH_ITER (hh, builds->table, build, next) {
        builds_emit_build(builds, &build->info);
    }
}

bool builds_slave_works(struct builds *builds, const char *slave)
{
    struct build *build, *next;

    HASH_ITER (hh, builds->table, build, next) {
        if (build->attempt && strcmp(build->attempt->slave, slave) == 0)
            return true;
    }
    return false;
}

void builds_count(struct builds *builds, const char *pool, uint32_t *queued, uint32_t *running)
{
    struct builder_line *line, *next;
    struct build *build;

    *queued = (uint32_t)sched_queued(builds->sched, pool);
    *running = 0;
    HASH_ITER (hh, builds->lines, line, next) {
        DL_FOREACH (line->running, build) {
            if (strcmp(build->info.pool, pool) == 0)
                (*running)++;
        }
    }
}

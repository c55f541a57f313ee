#include "master/builds.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/agent.h"
#include "master/attempt.h"
#include "master/registry.h"
#include "proto/codec.h"

struct builds {
    struct hub *hub;
    struct sched *sched;
    struct msg_arena *arena;
    struct build *table; /* by id */
    struct builder_line *lines;
    uint64_t last_set, last_build, last_change;
};

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

static void builds_insert(struct builds *builds, struct build *build)
{
    HASH_ADD(hh, builds->table, info.id, sizeof build->info.id, build);
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

static void builds_wait(struct build *build)
{
    struct hub *hub = build->builds->hub;

    timer_init(&build->deadline, hub->loop, on_dependency_limit, build);
    timer_start(&build->deadline, hub->config->dependency_timeout_ms, 0);
}

static void builds_link(struct builds *builds, uint64_t id, uint64_t waits_for)
{
    struct build *build = builds_find(builds, id);
    struct build *before = builds_find(builds, waits_for);

    if (!build || !before)
        return;
    vec_push(&build->waits_for, waits_for);
    vec_push(&before->dependents, id);
}

/* Under a backlog, a pool with `backlog: latest` keeps only the newest request of each builder and
 * branch. */
static void builds_replace_older(struct build *build)
{
    struct build *other, *next;
    char *note;

    if (!build->def || !build->def->pool->backlog_latest || build->info.rebuild_of_id)
        return;
    DL_FOREACH_SAFE (build->line->queued, other, next) {
        if (other == build || other->info.state != BUILD_QUEUED || other->ending ||
            other->info.id > build->info.id || other->info.attempt > 0 ||
            strcmp(other->info.branch, build->info.branch) != 0)
            continue;
        other->info.stands_for_id = build->info.id;
        note = xasprintf("build %llu took its place: pool %s keeps the latest only",
                         (unsigned long long)build->info.id, build->info.pool);
        builds_finish(other, RESULT_SKIPPED, note, NULL);
        free(note);
    }
}

static void builds_enqueue(struct build *build, const char *why)
{
    build_enter(build, BUILD_QUEUED, why);
    builds_replace_older(build);
}

struct builds_answer {
    struct builds *builds;
    builds_created created;
    void *owner;
};

static void on_created(struct store_op *op, void *owner)
{
    struct builds_answer *answer = owner;
    struct builds *builds = answer->builds;

    if (op->rc == ERR_OK) {
        for (size_t i = 0; i < op->n_builds; i++) {
            struct build_info info = {0};
            struct build *build;
            bool waits = op->builds[i].state == BUILD_WAITING;

            build_info_copy(&info, &op->builds[i]);
            build = build_new(builds, &info);
            build_fit(build, builds->hub->config);
            builds_insert(builds, build);
            if (waits) {
                build_enter(build, BUILD_WAITING, build->info.reason);
                builds_wait(build);
            }
        }
        for (size_t i = 0; i < op->n_waits; i++)
            builds_link(builds, op->waits[i][0], op->waits[i][1]);
        if (op->change.id) {
            struct event *event = event_new(EVENT_CHANGE);

            change_info_copy(&event->change, &op->change);
            hub_emit(builds->hub, event);
        }
        for (size_t i = 0; i < op->n_builds; i++) {
            builds_emit_build(builds, &op->builds[i]);
            if (op->builds[i].state == BUILD_QUEUED)
                builds_enqueue(builds_find(builds, op->builds[i].id), op->builds[i].reason);
        }
    }
    if (answer->created)
        answer->created(answer->owner, op);
    free(answer);
    builds_dispatch(builds);
}

/* The place in op->builds of the builder's build, or -1. */
static int op_find(const struct store_op *op, const char *builder)
{
    for (size_t i = 0; i < op->n_builds; i++) {
        if (strcmp(op->builds[i].builder, builder) == 0)
            return (int)i;
    }
    return -1;
}

static void op_add_build(struct builds *builds, struct store_op *op,
                         const struct builds_request *request, const struct config_builder *def)
{
    struct build_info *info = &op->builds[op->n_builds];

    op->n_builds++;
    info->id = ++builds->last_build;
    info->set_id = op->set.id;
    info->builder = xstrdup(def->name);
    info->project = xstrdup(request->project->name);
    info->branch = xstrdup(request->branch);
    info->revision = request->revision ? xstrdup(request->revision) : NULL;
    info->state = BUILD_QUEUED;
    info->pool = xstrdup(def->pool->name);
    info->priority = request->priority ? *request->priority : def->priority;
    info->reason = xstrdup(request->reason);
    info->author = request->author ? xstrdup(request->author) : NULL;
    info->queued_ms = op->set.created_ms;
    info->rebuild_of_id = request->rebuild_of_id;
}

/* Whether the request means this builder: asked for by name, or after one that is already in the
 * set, or (for a change) any of the branch. */
static bool request_means(const struct builds_request *request, const struct store_op *op,
                          const struct config_builder *def)
{
    if (def->project != request->project || op_find(op, def->name) >= 0)
        return false;
    if (request->only == def)
        return true;
    if (!config_builds_branch(def, request->branch))
        return false;
    if (!request->only)
        return true;
    if (request->rebuild_of_id)
        return false;
    for (size_t i = 0; i < def->after.n; i++) {
        if (op_find(op, def->after.v[i]->name) >= 0)
            return true;
    }
    return false;
}

/* Fills in the builds of the set, and who waits for whom. */
static void op_add_builds(struct builds *builds, struct store_op *op,
                          const struct builds_request *request)
{
    struct config *config = builds->hub->config;
    size_t n = HASH_COUNT(config->builders);
    struct config_builder *def, *next;
    size_t most_waits = 0;
    size_t before;

    op->builds = xcalloc(n, sizeof *op->builds);
    HASH_ITER (hh, config->builders, def, next) {
        most_waits += def->after.n;
    }
    op->waits = xcalloc(most_waits, sizeof *op->waits);
    do {
        before = op->n_builds;
        HASH_ITER (hh, config->builders, def, next) {
            if (request_means(request, op, def))
                op_add_build(builds, op, request, def);
        }
    } while (op->n_builds > before && request->only);
    for (size_t i = 0; i < op->n_builds; i++) {
        const struct config_builder *of = config_find_builder(config, op->builds[i].builder);

        for (size_t k = 0; k < of->after.n; k++) {
            int first = op_find(op, of->after.v[k]->name);

            if (first < 0 || request->only == of)
                continue;
            op->builds[i].state = BUILD_WAITING;
            op->waits[op->n_waits][0] = op->builds[i].id;
            op->waits[op->n_waits][1] = op->builds[first].id;
            op->n_waits++;
        }
    }
}

enum err_code builds_create(struct builds *builds, const struct builds_request *request,
                            builds_created created, void *owner, struct err *err)
{
    struct hub *hub = builds->hub;
    struct builds_answer *answer;
    struct store_op *op;

    if (hub->store_error)
        return err_set(err, ERR_NOSPACE, "the store cannot write now: %s", hub->store_error);
    answer = xcalloc(1, sizeof *answer);
    *answer = (struct builds_answer){builds, created, owner};
    op = store_op_new(STORE_CREATE, on_created, answer);
    op->set.id = ++builds->last_set;
    op->set.reason = xstrdup(request->reason);
    op->set.project = xstrdup(request->project->name);
    op->set.branch = xstrdup(request->branch);
    op->set.revision = request->revision ? xstrdup(request->revision) : NULL;
    op->set.created_ms = loop_wall_ms(hub->loop);
    op_add_builds(builds, op, request);
    if (op->n_builds == 0 && !request->change) {
        store_op_free(op);
        free(answer);
        return err_set(err, ERR_CONFIG, "no builder of project %s builds branch %s",
                       request->project->name, request->branch);
    }
    if (request->change) {
        change_info_copy(&op->change, request->change);
        op->change.id = ++builds->last_change;
        op->change.set_id = op->set.id;
    }
    op->idempotency_key = request->idempotency_key ? xstrdup(request->idempotency_key) : NULL;
    store_post(hub->store, op);
    return ERR_OK;
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
                attempt_free(build->attempt);
            }
            HASH_DEL(builds->table, build);
            build_free(build);
        } else if (build && !build->ending) {
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
    if (!build->info.revision && ended->revision)
        build->info.revision = xstrdup(ended->revision);
    row = build->info;
    row.state = left > 0 ? BUILD_WAITING : BUILD_QUEUED;
    if (left == 0)
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

    if (!build || (build->ending && !build->cancel_reason))
        return err_set(err, ERR_NOTFOUND, "build %llu is not running or queued",
                       (unsigned long long)id);
    *already = build->cancel_reason != NULL;
    if (*already)
        return ERR_OK;
    build->cancel_reason = xstrdup(reason);
    if (build->attempt)
        attempt_cancel(build->attempt);
    else
        builds_finish(build, RESULT_CANCELLED, reason, NULL);
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

        /* What runs, and what a removed builder had queued, goes on as it was asked for. */
        if (build->attempt || !config_find_builder(builds->hub->config, build->info.builder))
            continue;
        if (queued)
            build_leave_queue(build);
        build_fit(build, builds->hub->config);
        if (queued)
            build_join_queue(build);
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

static void restore_build(struct builds *builds, const struct build_info *stored)
{
    struct build_info info = {0};
    struct build *build;
    enum build_state state = stored->state;

    build_info_copy(&info, stored);
    build = build_new(builds, &info);
    build_fit(build, builds->hub->config);
    builds_insert(builds, build);
    if (state == BUILD_WAITING) {
        build_enter(build, BUILD_WAITING, "the master started");
        builds_wait(build);
    } else if (state == BUILD_QUEUED) {
        build_enter(build, BUILD_QUEUED, "the master started");
        if (!build->def)
            builds_finish(build, RESULT_EXCEPTION, "its builder is no longer configured", NULL);
    } else {
        build_enter(build, BUILD_DETACHED, "the master started");
    }
}

void builds_restore(struct builds *builds, const struct store_snapshot *snapshot)
{
    struct build *build, *next;

    builds->last_set = snapshot->last_set;
    builds->last_build = snapshot->last_build;
    builds->last_change = snapshot->last_change;
    for (size_t i = 0; i < snapshot->n_builds; i++)
        restore_build(builds, &snapshot->builds[i]);
    for (size_t i = 0; i < snapshot->n_attempts; i++) {
        build = builds_find(builds, snapshot->attempts[i].build_id);
        if (build && build->info.state == BUILD_DETACHED)
            attempt_restore(build, &snapshot->attempts[i], snapshot->attempt_steps[i]);
    }
    for (size_t i = 0; i < snapshot->n_waits; i++)
        builds_link(builds, snapshot->waits[i][0], snapshot->waits[i][1]);
    for (size_t i = 0; i < snapshot->n_paused; i++)
        sched_pause(builds->sched, snapshot->paused_pools[i], true);
    HASH_ITER (hh, builds->table, build, next) {
        /* Running by its row, but no attempt of it is: nothing of that one was ever heard. */
        if (build->info.state == BUILD_DETACHED && !build->attempt) {
            build_enter(build, BUILD_QUEUED, "it had no attempt");
            build_save(build);
        }
    }
}

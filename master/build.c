#include "master/build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/builds.h"
#include "master/hub.h"

/* allowed[from] is a set of states, one bit each; row 0 is a build that was just made. */
#define TO(state) (1u << (state))
static const unsigned allowed[] = {
    [0] = TO(BUILD_WAITING) | TO(BUILD_QUEUED) | TO(BUILD_DETACHED),
    [BUILD_WAITING] = TO(BUILD_QUEUED) | TO(BUILD_FINISHED),
    [BUILD_QUEUED] = TO(BUILD_RUNNING) | TO(BUILD_FINISHED),
    [BUILD_RUNNING] = TO(BUILD_DETACHED) | TO(BUILD_QUEUED) | TO(BUILD_FINISHED),
    [BUILD_DETACHED] = TO(BUILD_RUNNING) | TO(BUILD_QUEUED) | TO(BUILD_FINISHED),
    [BUILD_FINISHED] = 0,
};

struct build *build_new(struct builds *builds, struct build_info *info)
{
    struct build *build = xcalloc(1, sizeof *build);

    build->builds = builds;
    build->info = *info;
    build->info.state = 0;
    memset(info, 0, sizeof *info);
    build->line = builds_line(builds, build->info.builder);
    return build;
}

void build_free(struct build *build)
{
    assert(!build->request.lane && !build->attempt);
    timer_stop(&build->deadline);
    build_info_release(&build->info);
    config_unref(&build->config);
    vec_release(&build->waits_for);
    vec_release(&build->dependents);
    free(build);
}

static struct build **build_list(struct build *build, enum build_state state)
{
    switch (state) {
    case BUILD_WAITING:
    case BUILD_QUEUED:
        return &build->line->queued;
    case BUILD_RUNNING:
    case BUILD_DETACHED:
        return &build->line->running;
    case BUILD_FINISHED:
        break;
    }
    return NULL;
}

static bool is_running(enum build_state state)
{
    return state == BUILD_RUNNING || state == BUILD_DETACHED;
}

void build_enter(struct build *build, enum build_state to, const char *why)
{
    enum build_state from = build->info.state;
    struct build **list;

    if (!(allowed[from] & TO(to))) {
        log_error("build.impossible", LOG_ID("build", build->info.id),
                  LOG_STR("from", build_state_name(from)), LOG_STR("to", build_state_name(to)));
        abort();
    }
    if (from == BUILD_QUEUED)
        build_leave_queue(build);
    list = from ? build_list(build, from) : NULL;
    if (list)
        DL_DELETE(*list, build);
    build->info.state = to;
    list = build_list(build, to);
    if (list)
        DL_APPEND(*list, build);
    if (to == BUILD_QUEUED)
        build_join_queue(build);
    if (is_running(from) && !is_running(to)) /* one less against max_running */
        sched_unblock(builds_sched(build->builds));
    log_info("build.state", LOG_ID("build", build->info.id),
             LOG_STR("builder", build->info.builder),
             LOG_STR("from", from ? build_state_name(from) : "new"),
             LOG_STR("to", build_state_name(to)), LOG_STR("why", why));
}

bool build_fit(struct build *build, struct config *config)
{
    const struct config_builder *def = config_find_builder(config, build->info.builder);

    config_unref(&build->config);
    build->def = def;
    if (!def)
        return false;
    build->config = config_ref(config);
    if (strcmp(build->info.pool, def->pool->name) == 0)
        return false;
    free(build->info.pool);
    build->info.pool = xstrdup(def->pool->name);
    return true;
}

void build_join_queue(struct build *build)
{
    const struct config_builder *def = build->def;

    build->request = (struct sched_request){
        .pool = build->info.pool,
        .builder = build->info.builder,
        .needs = def ? &def->needs : NULL,
        .limited = def && def->max_running > 0,
        .priority = build->info.priority,
        .id = build->info.id,
        .owner = build,
    };
    sched_add(builds_sched(build->builds), &build->request);
}

void build_leave_queue(struct build *build)
{
    sched_remove(builds_sched(build->builds), &build->request);
}

struct store_op *build_op(struct build *build, enum store_kind kind, store_done done)
{
    struct store_op *op = store_op_new(kind, done, build->builds);

    op->builds = xcalloc(1, sizeof *op->builds);
    op->n_builds = 1;
    build_info_copy(&op->builds[0], &build->info);
    op->attempt.build_id = build->info.id;
    op->attempt.attempt = build->info.attempt;
    return op;
}

static void on_saved(struct store_op *op, void *owner)
{
    builds_emit_build(owner, &op->builds[0]);
}

void build_save(struct build *build)
{
    store_post(builds_hub(build->builds)->store, build_op(build, STORE_BUILD, on_saved));
}

/* What somebody asks for: a set with its builds, and who waits for whom. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "master/builds_private.h"

struct builds_answer {
    struct builds *builds;
    builds_created created;
    void *owner;
};

/* What was asked for is on the disk: from here on it lives. */
static void take_up(struct builds *builds, const struct store_op *op)
{
    for (size_t i = 0; i < op->n_builds; i++) {
        struct build *build = builds_add(builds, &op->builds[i]);

        if (op->builds[i].state == BUILD_WAITING)
            builds_wait(build, build->info.reason);
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

static void on_created(struct store_op *op, void *owner)
{
    struct builds_answer *answer = owner;
    struct builds *builds = answer->builds;

    if (op->rc == ERR_OK)
        take_up(builds, op);
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

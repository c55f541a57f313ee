#include "master/desk.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/builds.h"
#include "master/registry.h"

enum { BRANCH_MAX_BYTES = 255, REVISION_MAX_BYTES = 128, WORDS_MAX_BYTES = 4096 };

struct desk {
    struct hub *hub;
    const struct desk_ops *ops;
    void *owner;
};

struct desk *desk_new(struct hub *hub, const struct desk_ops *ops, void *owner)
{
    struct desk *desk = xcalloc(1, sizeof *desk);

    desk->hub = hub;
    desk->ops = ops;
    desk->owner = owner;
    return desk;
}

void desk_free(struct desk *desk)
{
    free(desk);
}

void desk_answer(struct desk *desk, struct command *command)
{
    desk->ops->answer(desk->owner, command);
}

struct errand {
    struct desk *desk;
    struct command *command;
};

static struct errand *errand_new(struct desk *desk, struct command *command)
{
    struct errand *errand = xcalloc(1, sizeof *errand);

    *errand = (struct errand){desk, command};
    return errand;
}

static void on_durable(struct store_op *op, void *owner)
{
    struct errand *errand = owner;

    (void)op;
    registry_tell(errand->desk->hub->registry); /* who was answered finds it so when they look */
    desk_answer(errand->desk, errand->command);
    free(errand);
}

/* Answers once all that was posted so far is on disk. */
static void answer_when_durable(struct desk *desk, struct command *command)
{
    store_post(desk->hub->store,
               store_op_new(STORE_BARRIER, on_durable, errand_new(desk, command)));
}

/* What reaches git and the environment as a branch: not empty, no control characters or spaces, no
 * "..". */
static bool is_branch(const char *branch)
{
    size_t n = strlen(branch);

    if (n == 0 || n > BRANCH_MAX_BYTES || branch[0] == '-' || branch[0] == '/' ||
        strstr(branch, "..") || branch[n - 1] == '/')
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)branch[i] <= ' ' || strchr("~^:?*[\\\x7f", branch[i]))
            return false;
    }
    return true;
}

static bool is_revision(const char *revision)
{
    size_t n = strlen(revision);
    size_t good = strspn(revision, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "._/-");

    return n > 0 && n <= REVISION_MAX_BYTES && good == n && revision[0] != '-';
}

static enum err_code check_asked(const char *branch, const char *revision, const char *words,
                                 struct err *err)
{
    if (!is_branch(branch))
        return err_set(err, ERR_CONFIG, "\"%.80s\" is not a branch name", branch);
    if (revision && !is_revision(revision))
        return err_set(err, ERR_CONFIG, "\"%.80s\" is not a revision", revision);
    if (words && strlen(words) > WORDS_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "text of %zu bytes, at most %d", strlen(words),
                       WORDS_MAX_BYTES);
    return ERR_OK;
}

/* Says so when the store refused what was asked: our bug, but the asker must not believe that it
 * was done. */
static bool was_refused(const struct store_op *op, struct command *command)
{
    if (op->rc == ERR_OK || op->rc == ERR_EXISTS)
        return false;
    (void)err_set(&command->err, ERR_IO, "the store refused it; the master's log says why");
    return true;
}

/* Says so when the key already stands for something of another kind: its answer would be none to
 * what was asked now. */
static bool was_another_key(bool same_kind, struct command *command)
{
    if (!same_kind)
        (void)err_set(&command->err, ERR_EXISTS,
                      "the Idempotency-Key was used for something else: use a new one");
    return !same_kind;
}

static void on_forced(void *owner, const struct store_op *op)
{
    struct errand *errand = owner;
    struct command *command = errand->command;

    if (was_refused(op, command)) {
        /* nothing was made */
    } else if (op->rc == ERR_EXISTS &&
               was_another_key(op->existing_build && !op->existing_change, command)) {
        /* nothing was made */
    } else if (op->rc == ERR_EXISTS) {
        command->already = true;
        command->build.id = op->existing_build;
    } else {
        for (size_t i = 0; i < op->n_builds; i++) {
            if (strcmp(op->builds[i].builder, command->name) == 0)
                build_info_copy(&command->build, &op->builds[i]);
        }
    }
    desk_answer(errand->desk, command);
    free(errand);
}

static enum err_code desk_force(struct desk *desk, struct command *command)
{
    const struct config_builder *def = config_find_builder(desk->hub->config, command->name);
    enum priority high = PRIORITY_HIGH;
    struct builds_request request;
    struct errand *errand;
    const char *branch = command->branch;

    if (!def)
        return err_set(&command->err, ERR_NOTFOUND, "there is no builder %.80s", command->name);
    if (!branch)
        branch = config_default_branch(def->project);
    if (!branch)
        return err_set(&command->err, ERR_CONFIG,
                       "project %s lists its branches as patterns only: say which branch",
                       def->project->name);
    if (check_asked(branch, command->revision, command->reason, &command->err))
        return command->err.code;
    request = (struct builds_request){
        .project = def->project,
        .only = def,
        .branch = branch,
        .revision = command->revision,
        .reason = command->reason ? command->reason : "forced",
        .author = command->author,
        .priority = command->has_priority ? &command->priority : &high,
        .idempotency_key = command->idempotency_key,
        .rebuild_of_id = command->kind == COMMAND_REBUILD ? command->build_id : 0,
    };
    errand = errand_new(desk, command);
    if (builds_create(desk->hub->builds, &request, on_forced, errand, &command->err))
        free(errand);
    return command->err.code;
}

static void on_change(void *owner, const struct store_op *op)
{
    struct errand *errand = owner;
    struct command *command = errand->command;

    if (was_refused(op, command)) {
        /* nothing was made */
    } else if (op->rc == ERR_EXISTS && was_another_key(op->existing_change != 0, command)) {
        /* nothing was made */
    } else if (op->rc == ERR_EXISTS) {
        command->already = true;
        command->change.id = op->existing_change;
        command->change.set_id = op->existing_set;
    } else {
        change_info_copy(&command->change, &op->change);
        command->build_ids = xcalloc(op->n_builds, sizeof *command->build_ids);
        for (size_t i = 0; i < op->n_builds; i++)
            command->build_ids[command->n_build_ids++] = op->builds[i].id;
    }
    desk_answer(errand->desk, command);
    free(errand);
}

static enum err_code desk_change(struct desk *desk, struct command *command)
{
    struct change_info *asked = &command->change_asked;
    const struct config_project *project = config_find_project(desk->hub->config, asked->project);
    struct builds_request request;
    struct errand *errand;

    if (!project)
        return err_set(&command->err, ERR_NOTFOUND, "there is no project %.80s", asked->project);
    if (check_asked(asked->branch, asked->revision, asked->comment, &command->err))
        return command->err.code;
    asked->at_ms = loop_wall_ms(desk->hub->loop);
    request = (struct builds_request){
        .project = project,
        .branch = asked->branch,
        .revision = asked->revision,
        .reason = "change",
        .author = asked->author,
        .change = asked,
        .idempotency_key = command->idempotency_key,
    };
    errand = errand_new(desk, command);
    if (builds_create(desk->hub->builds, &request, on_change, errand, &command->err))
        free(errand);
    return command->err.code;
}

static enum err_code desk_cancel(struct desk *desk, struct command *command)
{
    struct build *build = builds_find(desk->hub->builds, command->build_id);
    const char *reason = command->reason ? command->reason : "cancelled by hand";

    if (strlen(reason) > WORDS_MAX_BYTES)
        return err_set(&command->err, ERR_LIMIT, "a reason of %zu bytes, at most %d",
                       strlen(reason), WORDS_MAX_BYTES);
    if (builds_cancel(desk->hub->builds, command->build_id, reason, &command->already,
                      &command->err))
        return command->err.code;
    build_info_copy(&command->build, &build->info);
    answer_when_durable(desk, command);
    return ERR_OK;
}

static enum err_code desk_drain(struct desk *desk, struct command *command)
{
    bool drain = command->kind == COMMAND_SLAVE_DRAIN;

    if (registry_drain(desk->hub->registry, command->name, drain, command->reason, &command->slave,
                       &command->err))
        return command->err.code;
    answer_when_durable(desk, command);
    return ERR_OK;
}

static enum err_code desk_pause(struct desk *desk, struct command *command)
{
    const struct config_pool *pool = config_find_pool(desk->hub->config, command->name);
    bool pause = command->kind == COMMAND_POOL_PAUSE;
    struct store_op *op;

    if (!pool)
        return err_set(&command->err, ERR_NOTFOUND, "there is no pool %.80s", command->name);
    sched_pause(builds_sched(desk->hub->builds), pool->name, pause);
    op = store_op_new(STORE_POOL, NULL, NULL);
    op->pool = xstrdup(pool->name);
    op->flag = pause;
    store_post(desk->hub->store, op);
    log_info("pool.paused", LOG_STR("pool", pool->name), LOG_STR("paused", pause ? "yes" : "no"));
    registry_pool_info(desk->hub->registry, pool, &command->pool);
    registry_emit_pool(desk->hub->registry, pool->name);
    answer_when_durable(desk, command);
    builds_dispatch(desk->hub->builds);
    return ERR_OK;
}

/* ERR_OK: the command is answered later. */
static enum err_code desk_run(struct desk *desk, struct command *command)
{
    switch (command->kind) {
    case COMMAND_FORCE:
    case COMMAND_REBUILD:
        return desk_force(desk, command);
    case COMMAND_CHANGE:
        return desk_change(desk, command);
    case COMMAND_CANCEL:
        return desk_cancel(desk, command);
    case COMMAND_SLAVE_DRAIN:
    case COMMAND_SLAVE_RESUME:
        return desk_drain(desk, command);
    case COMMAND_POOL_PAUSE:
    case COMMAND_POOL_RESUME:
        return desk_pause(desk, command);
    case COMMAND_RELOAD:
        desk->ops->reload(desk->owner, command);
        return ERR_OK;
    case COMMAND_PROBE:
        desk_answer(desk, command);
        return ERR_OK;
    }
    return err_set(&command->err, ERR_CONFIG, "unknown command");
}

void desk_take(struct desk *desk, struct command *command)
{
    struct hub *hub = desk->hub;
    bool writes = command->kind != COMMAND_RELOAD && command->kind != COMMAND_PROBE;

    err_clear(&command->err);
    if (writes && hub->stopping)
        (void)err_set(&command->err, ERR_NOSPACE, "the master is stopping");
    else if (writes && hub->store_error)
        (void)err_set(&command->err, ERR_NOSPACE, "the store cannot write now: %s",
                      hub->store_error);
    else if (desk_run(desk, command) == ERR_OK)
        return;
    desk_answer(desk, command);
}

/* START: what the slave is told to run. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "master/agent.h"
#include "master/attempt.h"
#include "master/builds.h"

static void pairs_of(const config_env_list *env, struct msg_pair *pairs)
{
    for (size_t i = 0; i < env->n; i++)
        pairs[i] = (struct msg_pair){view_of(env->v[i].name), view_of(env->v[i].value)};
}

static void step_of(const struct config_step *from, struct msg_step *to, struct msg_pair *pairs,
                    struct view *argv)
{
    pairs_of(&from->env, pairs);
    for (size_t i = 0; i < from->argv.n; i++)
        argv[i] = view_of(from->argv.v[i]);
    *to = (struct msg_step){
        .name = view_of(from->name),
        .kind = from->kind,
        .shell = view_of(from->shell),
        .argv = {argv, from->argv.n},
        .dir = view_of(from->dir),
        .env = {pairs, from->env.n},
        .timeout_ms = from->timeout_ms,
        .idle_timeout_ms = from->idle_timeout_ms,
        .grace_ms = from->grace_ms,
        .always = from->always,
        .on_failure = from->on_failure,
        .log_limit = from->log_limit,
        .separate_stderr = from->separate_stderr,
        .iterations = from->iterations,
        .warmup = from->warmup,
        .submodules = from->submodules,
        .keep_tree = from->keep_tree,
    };
}

static void start_send(struct attempt *attempt)
{
    struct build *build = attempt->build;
    const struct config_builder *def = build->def;
    struct msg_step *steps = xcalloc(def->steps.n, sizeof *steps);
    struct msg_pair *env = xcalloc(def->env.n, sizeof *env);
    struct msg_pair **step_env = xcalloc(def->steps.n, sizeof *step_env);
    struct view **step_argv = xcalloc(def->steps.n, sizeof *step_argv);
    char *url = xasprintf("%sbuilds/%llu", builds_hub(build->builds)->url,
                          (unsigned long long)build->info.id);
    struct msg msg = {.type = MSG_START};

    pairs_of(&def->env, env);
    for (size_t i = 0; i < def->steps.n; i++) {
        step_env[i] = xcalloc(def->steps.v[i].env.n, sizeof **step_env);
        step_argv[i] = xcalloc(def->steps.v[i].argv.n, sizeof **step_argv);
        step_of(&def->steps.v[i], &steps[i], step_env[i], step_argv[i]);
    }
    msg.u.start = (struct msg_start){
        .build = build->info.id,
        .attempt = attempt->number,
        .builder = view_of(build->info.builder),
        .project = view_of(build->info.project),
        .branch = view_of(build->info.branch),
        .revision = view_of(build->info.revision),
        .url = view_of(url),
        .steps = {steps, def->steps.n},
        .git = view_of(def->project->git),
        .env = {env, def->env.n},
        .asked_ms = build->info.queued_ms,
    };
    attempt_set_limit(attempt, LIMIT_START);
    if (attempt->starts++ == 0)
        attempt->first_start_ms = loop_now_ms(builds_hub(build->builds)->loop);
    agent_send(attempt->agent, &msg);
    for (size_t i = 0; i < def->steps.n; i++) {
        free(step_env[i]);
        free(step_argv[i]);
    }
    free(step_env);
    free(step_argv);
    free(steps);
    free(env);
    free(url);
}

/* Whether the builder still has the steps that were stored with the attempt. */
static bool has_its_steps(const struct attempt *attempt)
{
    const struct config_builder *def = attempt->build->def;

    if (!def || def->steps.n != attempt->n_steps)
        return false;
    for (size_t i = 0; i < attempt->n_steps; i++) {
        if (strcmp(def->steps.v[i].name, attempt->steps[i].name) != 0 ||
            def->steps.v[i].kind != attempt->steps[i].kind)
            return false;
    }
    return true;
}

static bool has_been_started_enough(const struct attempt *attempt)
{
    const struct hub *hub = builds_hub(attempt->build->builds);

    return attempt->starts >= ATTEMPT_STARTS_MAX &&
           loop_now_ms(hub->loop) - attempt->first_start_ms >= hub->config->start_timeout_ms;
}

void attempt_send_start(struct attempt *attempt)
{
    if (!has_its_steps(attempt))
        attempt_lose(attempt, "its builder was changed before it began");
    else if (has_been_started_enough(attempt))
        attempt_lose(attempt, "its slave was told to start it again and again, and never did");
    else
        start_send(attempt);
}

#include "master/http/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/str.h"

void show_key_id(struct json_out *json, const char *key, uint64_t id)
{
    json_key(json, key);
    if (id)
        json_u64(json, id);
    else
        json_null(json);
}

static void key_result(struct json_out *json, enum build_result result)
{
    json_kv_str(json, "result", result == RESULT_NONE ? NULL : result_name(result));
}

static void key_seconds(struct json_out *json, const char *key, double seconds)
{
    json_key(json, key);
    if (seconds < 0)
        json_null(json);
    else
        json_double(json, seconds);
}

void show_texts(struct json_out *json, const text_list *list)
{
    json_array(json);
    for (size_t i = 0; i < list->n; i++)
        json_str(json, list->v[i]);
    json_end(json);
}

void show_build_open(struct json_out *json, const struct build_info *build,
                     const struct show_context *context)
{
    char *url = xasprintf("%sbuilds/%" PRIu64, context->base, build->id);

    json_object(json);
    json_kv_u64(json, "id", build->id);
    show_key_id(json, "set", build->set_id);
    json_kv_str(json, "builder", build->builder);
    json_kv_str(json, "project", build->project);
    json_kv_str(json, "branch", build->branch);
    json_kv_str(json, "revision", build->revision);
    json_kv_str(json, "state", build_state_name(build->state));
    key_result(json, build->result);
    json_kv_u64(json, "attempt", build->attempt);
    json_kv_str(json, "slave", build->slave);
    json_kv_str(json, "pool", build->pool);
    json_kv_str(json, "priority", priority_name(build->priority));
    json_kv_str(json, "reason", build->reason);
    json_kv_str(json, "author", build->author);
    json_kv_str(json, "note", build->note);
    json_kv_time(json, "queued_at", build->queued_ms);
    json_kv_time(json, "started_at", build->started_ms);
    json_kv_time(json, "finished_at", build->finished_ms);
    key_seconds(json, "expected_s", context->expected_s);
    show_key_id(json, "stands_for", build->stands_for_id);
    show_key_id(json, "rebuild_of", build->rebuild_of_id);
    json_kv_str(json, "url", url);
    free(url);
}

void show_build(struct json_out *json, const struct build_info *build,
                const struct show_context *context)
{
    show_build_open(json, build, context);
    json_kv_str(json, "steps", NULL);
    json_end(json);
}

static void key_log(struct json_out *json, const char *key, const struct log_info *log,
                    const char *url)
{
    json_key(json, key);
    if (log->bytes == 0) {
        json_null(json);
        return;
    }
    json_object(json);
    json_kv_u64(json, "bytes", log->bytes);
    json_kv_u64(json, "lines", log->lines);
    json_kv_str(json, "url", url);
    json_end(json);
}

static void keys_logs(struct json_out *json, const struct step_info *step,
                      const struct show_step_of *of)
{
    struct str url = STR_INIT(4096);

    str_printf(&url, "%.2048sapi/v1/builds/%" PRIu64 "/steps/%" PRIu32 "/log?attempt=%" PRIu32,
               of->base, of->build, step->number, of->attempt);
    key_log(json, "log", &step->log[0], str_cstr(&url));
    str_put(&url, "&stream=stderr");
    key_log(json, "stderr", &step->log[1], str_cstr(&url));
    str_release(&url);
}

void show_step(struct json_out *json, const struct step_info *step, const struct show_step_of *of)
{
    json_object(json);
    json_kv_u64(json, "number", step->number);
    json_kv_str(json, "name", step->name);
    json_kv_str(json, "kind", step_kind_name(step->kind));
    json_kv_str(json, "state", step_state_name(step->state));
    key_result(json, step->result);
    json_key(json, "exit_code");
    if (step->has_exit)
        json_i64(json, step->exit_code);
    else
        json_null(json);
    json_kv_str(json, "reason", step->reason);
    json_kv_time(json, "started_at", step->started_ms);
    json_kv_time(json, "finished_at", step->finished_ms);
    json_key(json, "user_s");
    json_double(json, step->user_s);
    json_key(json, "system_s");
    json_double(json, step->system_s);
    json_kv_u64(json, "max_rss_bytes", step->max_rss_bytes);
    keys_logs(json, step, of);
    json_end(json);
}

void show_attempt(struct json_out *json, const struct attempt_info *attempt)
{
    json_object(json);
    json_kv_u64(json, "attempt", attempt->attempt);
    json_kv_str(json, "slave", attempt->slave);
    json_kv_time(json, "started_at", attempt->started_ms);
    json_kv_time(json, "finished_at", attempt->finished_ms);
    if (attempt->lost)
        json_kv_str(json, "result", "lost");
    else
        key_result(json, attempt->result);
    json_kv_str(json, "reason", attempt->reason);
    json_end(json);
}

void show_slave(struct json_out *json, const struct slave_info *slave)
{
    json_object(json);
    json_kv_str(json, "name", slave->name);
    json_kv_str(json, "state", slave_state_name(slave->state));
    json_key(json, "pools");
    show_texts(json, &slave->pools);
    json_key(json, "labels");
    show_texts(json, &slave->labels);
    json_kv_u64(json, "slots", slave->slots);
    json_kv_u64(json, "running", slave->running);
    json_kv_str(json, "version", slave->version);
    json_kv_str(json, "platform", slave->platform);
    json_kv_time(json, "connected_at", slave->connected_ms);
    json_kv_time(json, "last_seen_at", slave->last_seen_ms);
    json_kv_str(json, "reason", slave->reason);
    json_key(json, "builds");
    json_array(json);
    for (size_t i = 0; i < slave->builds.n; i++)
        json_u64(json, slave->builds.v[i]);
    json_end(json);
    json_end(json);
}

void show_pool(struct json_out *json, const struct pool_info *pool)
{
    json_object(json);
    json_kv_str(json, "name", pool->name);
    json_kv_u64(json, "queued", pool->queued);
    json_kv_u64(json, "running", pool->running);
    json_kv_u64(json, "slots", pool->slots);
    json_kv_u64(json, "slaves", pool->slaves);
    json_kv_bool(json, "paused", pool->paused);
    json_kv_str(json, "backlog", pool->backlog_latest ? "latest" : "fifo");
    json_end(json);
}

void show_change_open(struct json_out *json, const struct change_info *change)
{
    json_object(json);
    json_kv_u64(json, "id", change->id);
    json_kv_str(json, "project", change->project);
    json_kv_str(json, "branch", change->branch);
    json_kv_str(json, "revision", change->revision);
    json_kv_str(json, "author", change->author);
    json_kv_str(json, "comment", change->comment);
    json_kv_time(json, "at", change->at_ms);
    json_key(json, "files");
    show_texts(json, &change->files);
    show_key_id(json, "set", change->set_id);
}

void show_change(struct json_out *json, const struct change_info *change)
{
    show_change_open(json, change);
    json_end(json);
}

void show_point(struct json_out *json, const struct point_row *point)
{
    static const char *const better[] = {NULL, "lower", "higher"};

    json_object(json);
    json_kv_u64(json, "step", point->step);
    json_kv_str(json, "suite", point->suite);
    json_kv_str(json, "test", point->test);
    json_kv_str(json, "metric", point->metric);
    json_kv_str(json, "unit", point->unit);
    json_kv_str(json, "better", point->better < 3 ? better[point->better] : NULL);
    json_kv_u64(json, "iteration", point->iteration);
    json_key(json, "value");
    json_double(json, point->value);
    json_end(json);
}

static void show_globs(struct json_out *json, struct glob *const *globs, size_t n)
{
    json_array(json);
    for (size_t i = 0; i < n; i++)
        json_str(json, glob_text(globs[i]));
    json_end(json);
}

/* Each kind of step once, in the order of the steps. */
static void show_kinds(struct json_out *json, const struct config_builder *builder)
{
    bool seen[STEP_KIND_LAST + 1] = {false};

    json_array(json);
    for (size_t i = 0; i < builder->steps.n; i++) {
        enum step_kind kind = builder->steps.v[i].kind;

        if (!seen[kind])
            json_str(json, step_kind_name(kind));
        seen[kind] = true;
    }
    json_end(json);
}

void show_builder_open(struct json_out *json, const struct config_builder *builder)
{
    json_object(json);
    json_kv_str(json, "name", builder->name);
    json_kv_str(json, "project", builder->project->name);
    json_kv_str(json, "pool", builder->pool->name);
    json_kv_str(json, "priority", priority_name(builder->priority));
    json_key(json, "branches");
    if (builder->branches.n > 0)
        show_globs(json, builder->branches.v, builder->branches.n);
    else
        show_globs(json, builder->project->branches.v, builder->project->branches.n);
    json_key(json, "after");
    json_array(json);
    for (size_t i = 0; i < builder->after.n; i++)
        json_str(json, builder->after.v[i]->name);
    json_end(json);
    json_key(json, "needs");
    show_texts(json, &builder->needs);
    json_key(json, "kinds");
    show_kinds(json, builder);
    json_key(json, "max_running");
    if (builder->max_running)
        json_u64(json, builder->max_running);
    else
        json_null(json);
}

static void key_limit(struct json_out *json, const char *key, uint64_t ms)
{
    json_key(json, key);
    if (ms)
        json_double(json, (double)ms / 1000);
    else
        json_null(json);
}

/* Not the environment: values there may be nobody's business. */
static void show_config_step(struct json_out *json, const struct config_step *step)
{
    json_object(json);
    json_kv_str(json, "name", step->name);
    json_kv_str(json, "kind", step_kind_name(step->kind));
    json_key(json, "command");
    if (step->shell)
        json_str(json, step->shell);
    else if (step->argv.n > 0)
        show_texts(json, &step->argv);
    else
        json_null(json);
    json_kv_str(json, "dir", step->dir);
    key_limit(json, "timeout_s", step->timeout_ms);
    key_limit(json, "idle_timeout_s", step->idle_timeout_ms);
    json_kv_bool(json, "always", step->always);
    json_end(json);
}

void show_builder_steps(struct json_out *json, const struct config_builder *builder)
{
    json_array(json);
    for (size_t i = 0; i < builder->steps.n; i++)
        show_config_step(json, &builder->steps.v[i]);
    json_end(json);
}

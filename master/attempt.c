#include "master/attempt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/agent.h"
#include "master/builds.h"
#include "master/registry.h"
#include "proto/codec.h"

static struct hub *attempt_hub(const struct attempt *attempt)
{
    return builds_hub(attempt->build->builds);
}

/* The longest grace of its steps: how long a cancel may take by itself. */
static uint64_t attempt_grace_ms(const struct attempt *attempt)
{
    const struct config_builder *def = attempt->build->def;
    uint64_t most_ms = 10000;

    for (size_t i = 0; def && i < def->steps.n; i++) {
        if (def->steps.v[i].grace_ms > most_ms)
            most_ms = def->steps.v[i].grace_ms;
    }
    return most_ms;
}

void attempt_set_limit(struct attempt *attempt, enum attempt_limit limit)
{
    struct hub *hub = attempt_hub(attempt);
    const struct config_builder *def = attempt->build->def;
    uint64_t after_ms = 0;

    attempt->limit = limit;
    timer_stop(&attempt->deadline);
    switch (limit) {
    case LIMIT_NONE:
        return;
    case LIMIT_START:
        after_ms = hub->config->start_timeout_ms;
        break;
    case LIMIT_DETACHED:
        after_ms = def ? def->lost_after_ms : hub->config->lost_after_ms;
        break;
    case LIMIT_CANCEL:
        after_ms = attempt_grace_ms(attempt) + 30000;
        break;
    }
    timer_start(&attempt->deadline, after_ms, 0);
}

static void on_deadline(struct timer *timer, void *owner)
{
    struct attempt *attempt = owner;
    const struct config_builder *def = attempt->build->def;
    struct hub *hub = attempt_hub(attempt);
    char shown[TEXT_SHORT_MAX];
    char *why;

    (void)timer;
    if (attempt->limit == LIMIT_START)
        why = xasprintf("start limit: slave %s did not begin within %s", attempt->slave,
                        text_show_duration(hub->config->start_timeout_ms, shown));
    else if (attempt->limit == LIMIT_DETACHED)
        why = xasprintf(
            "detached limit: slave %s was out of touch for %s", attempt->slave,
            text_show_duration(def ? def->lost_after_ms : hub->config->lost_after_ms, shown));
    else
        why = xasprintf("slave %s did not end it in time", attempt->slave);
    attempt_lose(attempt, why);
    free(why);
}

static struct attempt *attempt_new(struct build *build, uint32_t number, const char *slave)
{
    struct attempt *attempt = xcalloc(1, sizeof *attempt);

    attempt->build = build;
    attempt->number = number;
    attempt->slave = xstrdup(slave);
    build->attempt = attempt;
    timer_init(&attempt->deadline, builds_hub(build->builds)->loop, on_deadline, attempt);
    return attempt;
}

void attempt_free(struct attempt *attempt)
{
    timer_stop(&attempt->deadline);
    if (attempt->agent)
        agent_remove(attempt->agent, attempt);
    attempt->build->attempt = NULL;
    for (size_t i = 0; i < attempt->n_steps; i++)
        step_info_release(&attempt->steps[i]);
    free(attempt->steps);
    fold_release(&attempt->fold);
    free(attempt->slave);
    free(attempt);
}

void attempt_restore_lost(struct build *build, const char *why)
{
    attempt_lose(attempt_new(build, build->info.attempt, build->info.slave), why);
}

void attempt_drop(struct attempt *attempt)
{
    struct registry *registry = attempt_hub(attempt)->registry;
    char *slave = attempt->slave;

    attempt->slave = NULL;
    attempt_free(attempt);
    registry_work_gone(registry, slave);
    free(slave);
}

static void attempt_plan_steps(struct attempt *attempt)
{
    const struct config_builder *def = attempt->build->def;

    attempt->n_steps = def->steps.n;
    attempt->steps = xcalloc(def->steps.n, sizeof *attempt->steps);
    for (size_t i = 0; i < def->steps.n; i++) {
        attempt->steps[i].number = (uint32_t)i + 1;
        attempt->steps[i].name = xstrdup(def->steps.v[i].name);
        attempt->steps[i].kind = def->steps.v[i].kind;
    }
    fold_init(&attempt->fold, (uint32_t)def->steps.n);
}

static void on_begun(struct store_op *op, void *owner)
{
    builds_emit_build(owner, &op->builds[0]);
}

static void attempt_store(struct attempt *attempt)
{
    struct build *build = attempt->build;
    struct store_op *op = build_op(build, STORE_ATTEMPT, on_begun);

    op->attempt.slave = xstrdup(attempt->slave);
    op->attempt.started_ms = loop_wall_ms(attempt_hub(attempt)->loop);
    op->attempt.n_steps = (uint32_t)attempt->n_steps;
    op->n_steps = attempt->n_steps;
    op->steps = xcalloc(attempt->n_steps, sizeof *op->steps);
    for (size_t i = 0; i < attempt->n_steps; i++)
        step_info_copy(&op->steps[i], &attempt->steps[i]);
    store_post(attempt_hub(attempt)->store, op);
}

static struct attempt *attempt_hand_over(struct build *build, struct agent *agent)
{
    struct attempt *attempt = attempt_new(build, build->info.attempt + 1, agent_name(agent));

    build->info.attempt = attempt->number;
    free(build->info.slave);
    build->info.slave = xstrdup(attempt->slave);
    if (!build->info.started_ms)
        build->info.started_ms = loop_wall_ms(attempt_hub(attempt)->loop);
    build_enter(build, BUILD_RUNNING, attempt->slave);
    attempt_plan_steps(attempt);
    agent_add(agent, attempt);
    attempt_store(attempt);
    return attempt;
}

void attempt_begin(struct build *build, struct agent *agent)
{
    struct attempt *attempt = attempt_hand_over(build, agent);

    /* Not waiting for the disk saves a sync for each build: a slave that holds an attempt of which
     * the database does not know is recognised when it says so (attempt_adopt). */
    attempt_send_start(attempt);
}

void attempt_adopt(struct build *build, struct agent *agent)
{
    attempt_set_limit(attempt_hand_over(build, agent), LIMIT_START);
}

void attempt_restore(struct build *build, const struct attempt_info *info,
                     const struct step_info *steps)
{
    struct attempt *attempt = attempt_new(build, info->attempt, info->slave);
    struct fold *fold = &attempt->fold;

    attempt->durable = info->last;
    attempt->n_steps = info->n_steps;
    attempt->steps = xcalloc(info->n_steps, sizeof *attempt->steps);
    fold_init(fold, info->n_steps);
    fold->last = info->last;
    fold->started = info->last > 0;
    for (size_t i = 0; i < info->n_steps; i++) {
        step_info_copy(&attempt->steps[i], &steps[i]);
        fold->steps[i].state = (enum fold_step_state)steps[i].state;
        fold->steps[i].result = steps[i].result;
        for (int stream = 0; stream < 2; stream++) {
            fold->steps[i].log_bytes[stream] = steps[i].log[stream].bytes;
            fold->steps[i].log_lines[stream] = steps[i].log[stream].lines;
        }
    }
    attempt_set_limit(attempt, LIMIT_DETACHED);
}

static void on_recorded(struct store_op *op, void *owner)
{
    struct builds *builds = owner;
    struct build *build = builds_find(builds, op->attempt.build_id);

    registry_granted(builds_hub(builds)->registry, op->tag, op->wire_bytes);
    if (!build || !build->attempt || build->attempt->number != op->attempt.attempt)
        return;
    if (op->rc == ERR_OK)
        attempt_recorded(build->attempt, op);
    else if (!build->attempt->ended) /* neither it nor what follows it can ever be stored */
        attempt_lose(build->attempt, "a record of it could not be stored");
}

/* The attempt's last record: what the build's end is, stored with the record itself. */
static void attempt_finish(struct attempt *attempt, const struct msg_attempt_finished *end)
{
    struct build *build = attempt->build;
    enum build_result result = (enum build_result)end->result;
    char *reason = view_dup(end->reason);
    struct store_op *op;

    if (end->interrupted && !build->info.cancel) {
        attempt_lose(attempt, reason);
    } else {
        if (build->info.cancel)
            result = RESULT_CANCELLED;
        op = store_op_new(STORE_ATTEMPT_END, NULL, NULL);
        op->attempt.build_id = build->info.id;
        op->attempt.attempt = attempt->number;
        op->attempt.result = result;
        op->attempt.finished_ms = loop_wall_ms(attempt_hub(attempt)->loop);
        op->attempt.reason = xstrdup(reason);
        attempt->ended = true;
        attempt->last_agent = agent_serial(attempt->agent);
        attempt_set_limit(attempt, LIMIT_NONE);
        agent_remove(attempt->agent,
                     attempt); /* its slot is free; the attempt stays until its end is durable */
        builds_finish(build, result, build->info.cancel ? build->info.cancel : reason, op);
    }
    free(reason);
}

static enum err_code take_record(struct attempt *attempt, uint64_t number, struct view body,
                                 size_t wire_bytes, struct err *err)
{
    struct build *build = attempt->build;
    struct builds *builds = build->builds;
    struct store_op *op;
    enum err_code rc;
    struct msg record;

    rc = msg_decode(builds_arena(builds), body, &record, err);
    if (rc)
        return rc;
    rc = fold_apply(&attempt->fold, number, &record, err);
    if (rc == ERR_EXISTS) { /* sent again after a reconnect: known, or on its way to the disk */
        registry_granted(builds_hub(builds)->registry, agent_serial(attempt->agent), wire_bytes);
        return ERR_OK;
    }
    if (rc)
        return rc;
    if (attempt->limit == LIMIT_START)
        attempt_set_limit(attempt, build->info.cancel ? LIMIT_CANCEL : LIMIT_NONE);
    op = store_op_new(STORE_RECORD, on_recorded, builds);
    op->tag = agent_serial(attempt->agent);
    op->attempt.build_id = build->info.id;
    op->attempt.attempt = attempt->number;
    op->number = number;
    op->body = xmemdup(body.p, body.n);
    op->body_bytes = body.n;
    op->wire_bytes = wire_bytes;
    store_post(builds_hub(builds)->store, op);
    if (record.type == REC_REVISION && !build->info.revision) /* for those that wait for it, too */
        build->info.revision = view_dup(record.u.revision.revision);
    if (record.type == REC_ATTEMPT_FINISHED)
        attempt_finish(attempt, &record.u.attempt_finished);
    return ERR_OK;
}

enum err_code attempt_record(struct attempt *attempt, uint64_t number, struct view body,
                             size_t wire_bytes, struct err *err)
{
    enum err_code rc = take_record(attempt, number, body, wire_bytes, err);
    char *why;

    if (!rc || ++attempt->misfits < ATTEMPT_MISFITS_MAX)
        return rc;
    registry_granted(builds_hub(attempt->build->builds)->registry, agent_serial(attempt->agent),
                     wire_bytes);
    why = xasprintf("its record %llu does not fit: %s", (unsigned long long)number, err->msg);
    attempt_lose(attempt, why);
    free(why);
    return ERR_OK;
}

static struct event *attempt_event(const struct attempt *attempt, enum event_kind kind)
{
    struct event *event = event_new(kind);

    event->build_id = attempt->build->info.id;
    event->attempt = attempt->number;
    return event;
}

static void emit_step(struct attempt *attempt, const struct step_info *step)
{
    struct event *event = attempt_event(attempt, EVENT_STEP);

    step_info_copy(&event->step, step);
    hub_emit(attempt_hub(attempt), event);
}

static void emit_log(struct attempt *attempt, const struct step_info *step)
{
    struct event *event = attempt_event(attempt, EVENT_LOG);

    event->step.number = step->number;
    memcpy(event->step.log, step->log, sizeof event->step.log);
    hub_emit(attempt_hub(attempt), event);
}

static void step_finished(struct step_info *step, const struct msg_step_finished *end)
{
    step->state = STEP_FINISHED;
    step->result = (enum build_result)end->result;
    step->has_exit = end->exit_code >= 0;
    step->exit_code = end->exit_code;
    free(step->reason);
    step->reason = end->reason.n ? view_dup(end->reason) : NULL;
    step->finished_ms = end->time_ms;
    step->user_s = end->user_s;
    step->system_s = end->system_s;
    step->max_rss_bytes = end->max_rss_bytes;
}

/* Brings steps up to the record, which the fold has found good before, and tells the web. */
static void attempt_apply(struct attempt *attempt, const struct msg *record)
{
    struct step_info *step;

    switch (record->type) {
    case REC_STEP_STARTED:
        step = &attempt->steps[record->u.step_started.step - 1];
        step->state = STEP_RUNNING;
        step->started_ms = record->u.step_started.time_ms;
        emit_step(attempt, step);
        break;
    case REC_LOG_BLOCK:
        step = &attempt->steps[record->u.log_block.step - 1];
        step->log[record->u.log_block.stream].bytes += record->u.log_block.size;
        step->log[record->u.log_block.stream].lines += record->u.log_block.lines;
        emit_log(attempt, step);
        break;
    case REC_STEP_FINISHED:
        step = &attempt->steps[record->u.step_finished.step - 1];
        step_finished(step, &record->u.step_finished);
        emit_step(attempt, step);
        break;
    case REC_REVISION:
        if (!attempt->ended)
            builds_emit_build(attempt->build->builds, &attempt->build->info);
        break;
    case REC_POINTS:
        hub_emit(attempt_hub(attempt), attempt_event(attempt, EVENT_POINTS));
        break;
    default:
        break;
    }
}

void attempt_recorded(struct attempt *attempt, const struct store_op *op)
{
    struct msg record;

    attempt->durable = op->number;
    if (attempt->agent && !attempt->ack_due) {
        attempt->ack_due = true;
        agent_ack_later(attempt->agent);
    }
    if (msg_decode(builds_arena(attempt->build->builds), view_bytes(op->body, op->body_bytes),
                   &record, NULL) == ERR_OK)
        attempt_apply(attempt, &record);
}

void attempt_detach(struct attempt *attempt, const char *why)
{
    struct build *build = attempt->build;

    agent_remove(attempt->agent, attempt);
    if (build->info.cancel) {
        attempt_lose(attempt, why);
        return;
    }
    attempt_set_limit(attempt, LIMIT_DETACHED);
    build_enter(build, BUILD_DETACHED, why);
    build_save(build);
}

void attempt_attach(struct attempt *attempt, struct agent *agent)
{
    struct build *build = attempt->build;

    agent_add(agent, attempt);
    attempt->ack_due = false;
    /* What was received and is not durable will come again, and is recognised then. */
    attempt_set_limit(attempt, attempt->fold.last > 0 ? LIMIT_NONE : LIMIT_START);
    if (build->info.state == BUILD_DETACHED) {
        build_enter(build, BUILD_RUNNING, attempt->slave);
        build_save(build);
    }
    if (build->info.cancel)
        attempt_cancel(attempt);
}

void attempt_cancel(struct attempt *attempt)
{
    struct msg msg = {.type = MSG_CANCEL};
    char *reason = attempt->build->info.cancel;

    if (!attempt->agent) {
        attempt_lose(attempt, "cancelled while its slave was out of touch");
        return;
    }
    msg.u.cancel = (struct msg_cancel){attempt->build->info.id, attempt->number, view_of(reason)};
    if (msg.u.cancel.reason.n > 512)
        msg.u.cancel.reason.n = 512;
    attempt_set_limit(attempt, LIMIT_CANCEL);
    agent_send(attempt->agent, &msg);
}

void attempt_lose(struct attempt *attempt, const char *why)
{
    struct build *build = attempt->build;
    struct builds *builds = build->builds;
    uint32_t most = build->def ? build->def->max_attempts : 1;
    struct store_op *op = store_op_new(STORE_ATTEMPT_END, NULL, NULL);
    uint32_t number = attempt->number;
    char *note;

    log_warn("attempt.lost", LOG_ID("build", build->info.id), LOG_INT("attempt", number),
             LOG_STR("slave", attempt->slave), LOG_STR("why", why));
    op->attempt.build_id = build->info.id;
    op->attempt.attempt = number;
    op->attempt.lost = true;
    op->attempt.result = RESULT_EXCEPTION;
    op->attempt.finished_ms = loop_wall_ms(builds_hub(builds)->loop);
    op->attempt.reason = xstrdup(why);
    if (attempt->agent)
        agent_forget(attempt->agent, build->info.id, number);
    attempt_drop(attempt);
    if (build->info.cancel) {
        builds_finish(build, RESULT_CANCELLED, build->info.cancel, op);
        return;
    }
    if (!build->def || number >= most) {
        note = xasprintf("lost: attempt %u of %u: %s", number, most, why);
        builds_finish(build, RESULT_EXCEPTION, note, op);
        free(note);
        return;
    }
    build_enter(build, BUILD_QUEUED, why);
    op->done = on_begun;
    op->owner = builds;
    op->builds = xcalloc(1, sizeof *op->builds);
    op->n_builds = 1;
    build_info_copy(&op->builds[0], &build->info);
    store_post(builds_hub(builds)->store, op);
    builds_dispatch(builds);
}

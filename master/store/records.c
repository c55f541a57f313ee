/* Journal records onto their attempt. The loop has checked that they may follow each other
 * (proto/journal.h); here is checked what the database must not trust the loop for: the number, and
 * that the step exists. */
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/store/apply.h"
#include "master/store/rows.h"

static struct step_info *step_find(struct running_attempt *attempt, uint32_t number)
{
    if (number < 1 || number > attempt->info.n_steps)
        return NULL;
    attempt->steps[number - 1].number = number;
    return &attempt->steps[number - 1];
}

static enum err_code no_step(struct store_op *op, uint32_t number)
{
    op->rc = ERR_PROTO;
    log_warn("store.no_step", LOG_ID("build", op->attempt.build_id),
             LOG_INT("attempt", op->attempt.attempt), LOG_INT("step", number));
    return ERR_OK;
}

static char *text_or_null(struct view text)
{
    return text.n ? view_dup(text) : NULL;
}

static enum err_code step_started(struct applier *applier, struct running_attempt *attempt,
                                  struct store_op *op, const struct msg_step_started *record)
{
    struct step_info *step = step_find(attempt, record->step);

    if (!step)
        return no_step(op, record->step);
    step->state = STEP_RUNNING;
    step->started_ms = record->time_ms;
    running_touch(applier->running, attempt, record->step);
    return ERR_OK;
}

static enum err_code step_finished(struct applier *applier, struct running_attempt *attempt,
                                   struct store_op *op, const struct msg_step_finished *record)
{
    struct step_info *step = step_find(attempt, record->step);

    if (!step)
        return no_step(op, record->step);
    step->state = STEP_FINISHED;
    step->result = (enum build_result)record->result;
    step->has_exit = record->exit_code >= 0;
    step->exit_code = record->exit_code;
    free(step->reason);
    step->reason = text_or_null(record->reason);
    step->finished_ms = record->time_ms;
    step->user_s = record->user_s;
    step->system_s = record->system_s;
    step->max_rss_bytes = record->max_rss_bytes;
    running_touch(applier->running, attempt, record->step);
    return ERR_OK;
}

static enum err_code log_block(struct applier *applier, struct running_attempt *attempt,
                               struct store_op *op, const struct msg_log_block *record,
                               struct err *err)
{
    struct step_info *step = step_find(attempt, record->step);
    struct log_name name = {attempt->info.build_id, attempt->info.attempt, record->step,
                            record->stream};
    enum err_code rc;

    if (!step || record->stream > 1)
        return no_step(op, record->step);
    rc = log_writer_append(applier->logs, name, record, &step->log[record->stream], err);
    if (rc == ERR_PROTO) {
        log_warn("store.bad_block", LOG_ID("build", name.build), LOG_INT("step", name.step),
                 LOG_ERR(err));
        op->rc = ERR_PROTO;
        return ERR_OK;
    }
    if (rc == ERR_OK)
        running_touch(applier->running, attempt, record->step);
    return rc;
}

static enum err_code points(struct applier *applier, struct running_attempt *attempt,
                            struct store_op *op, const struct msg_points *record, struct err *err)
{
    if (!step_find(attempt, record->step))
        return no_step(op, record->step);
    return points_insert(applier->db, attempt->info.build_id, attempt->info.attempt, op->number,
                         record, err);
}

/* An interrupted attempt counts as lost: the build runs again. */
static enum err_code attempt_finished(struct running_attempt *attempt,
                                      const struct msg_attempt_finished *record)
{
    attempt->info.result = (enum build_result)record->result;
    attempt->info.finished_ms = record->time_ms;
    attempt->info.lost = record->interrupted;
    free(attempt->info.reason);
    attempt->info.reason = text_or_null(record->reason);
    return ERR_OK;
}

static enum err_code fold_record(struct applier *applier, struct running_attempt *attempt,
                                 struct store_op *op, const struct msg *record, struct err *err)
{
    switch (record->type) {
    case REC_ATTEMPT_STARTED:
        return ERR_OK;
    case REC_STEP_STARTED:
        return step_started(applier, attempt, op, &record->u.step_started);
    case REC_LOG_BLOCK:
        return log_block(applier, attempt, op, &record->u.log_block, err);
    case REC_POINTS:
        return points(applier, attempt, op, &record->u.points, err);
    case REC_REVISION:
        return build_found_revision(applier->db, attempt->info.build_id,
                                    record->u.revision.revision, err);
    case REC_STEP_FINISHED:
        return step_finished(applier, attempt, op, &record->u.step_finished);
    case REC_ATTEMPT_FINISHED:
        return attempt_finished(attempt, &record->u.attempt_finished);
    default:
        op->rc = ERR_PROTO;
        return ERR_OK;
    }
}

enum err_code apply_record(struct applier *applier, struct store_op *op, struct err *err)
{
    struct running_attempt *attempt;
    struct msg record;
    enum err_code rc = running_find(applier->running, applier->db, &op->attempt, &attempt, err);

    if (rc == ERR_NOTFOUND) {
        op->rc = ERR_PROTO;
        return ERR_OK;
    }
    if (rc)
        return rc;
    if (op->number <= attempt->info.last)
        return ERR_OK;
    if (attempt->ended || op->number != attempt->info.last + 1 ||
        msg_decode(applier->arena, view_bytes(op->body, op->body_bytes), &record, err) != ERR_OK) {
        op->rc = ERR_PROTO;
        return ERR_OK;
    }
    rc = fold_record(applier, attempt, op, &record, err);
    if (rc == ERR_OK && op->rc == ERR_OK) {
        attempt->info.last = op->number;
        running_touch(applier->running, attempt, 0);
    }
    return rc;
}

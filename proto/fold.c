#include "proto/journal.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/codec.h"

void fold_init(struct fold *fold, uint32_t n_steps)
{
    assert(n_steps <= JOURNAL_STEPS_MAX);
    memset(fold, 0, sizeof *fold);
    fold->n_steps = n_steps;
    fold->steps = xcalloc(n_steps, sizeof *fold->steps);
}

void fold_release(struct fold *fold)
{
    free(fold->steps);
    memset(fold, 0, sizeof *fold);
}

static const char *step_state_name(enum fold_step_state state)
{
    static const char *const names[] = {
        [FOLD_STEP_WAITING] = "waiting",
        [FOLD_STEP_RUNNING] = "running",
        [FOLD_STEP_FINISHED] = "finished",
    };

    return names[state];
}

/* A step that must be in the given state; NULL with the reason in *err when it is not. */
static struct fold_step *find_step(const struct fold *fold, uint32_t number,
                                   enum fold_step_state expected, struct err *err)
{
    struct fold_step *step;

    if (number == 0 || number > fold->n_steps) {
        (void)err_set(err, ERR_PROTO, "step %" PRIu32 " of %" PRIu32, number, fold->n_steps);
        return NULL;
    }
    step = &fold->steps[number - 1];
    if (step->state != expected) {
        (void)err_set(err, ERR_PROTO, "step %" PRIu32 " is %s, not %s", number,
                      step_state_name(step->state), step_state_name(expected));
        return NULL;
    }
    return step;
}

static enum err_code check_result(uint32_t result, struct err *err)
{
    if (result == RESULT_NONE || result > RESULT_LAST)
        return err_set(err, ERR_PROTO, "result %" PRIu32 " is none", result);
    return ERR_OK;
}

/* None of the others may still run. */
static enum err_code check_idle(const struct fold *fold, struct err *err)
{
    for (uint32_t i = 0; i < fold->n_steps; i++) {
        if (fold->steps[i].state == FOLD_STEP_RUNNING)
            return err_set(err, ERR_PROTO, "step %" PRIu32 " is still running", i + 1);
    }
    return ERR_OK;
}

static enum err_code apply_attempt_started(struct fold *fold, struct err *err)
{
    if (fold->started)
        return err_set(err, ERR_PROTO, "the attempt has started already");
    fold->started = true;
    return ERR_OK;
}

static enum err_code apply_step_started(struct fold *fold, const struct msg_step_started *record,
                                        struct err *err)
{
    struct fold_step *step = find_step(fold, record->step, FOLD_STEP_WAITING, err);
    enum err_code rc;

    if (!step)
        return ERR_PROTO;
    rc = check_idle(fold, err);
    if (!rc)
        step->state = FOLD_STEP_RUNNING;
    return rc;
}

static enum err_code apply_log_block(struct fold *fold, const struct msg_log_block *block,
                                     struct err *err)
{
    struct fold_step *step = find_step(fold, block->step, FOLD_STEP_RUNNING, err);

    if (!step)
        return ERR_PROTO;
    if (block->stream > 1)
        return err_set(err, ERR_PROTO, "stream %" PRIu32 " of a log", block->stream);
    if (block->data.n == 0)
        return err_set(err, ERR_PROTO, "a log block of %" PRIu32 " bytes without data",
                       block->size);
    if (block->size == 0 || block->size > FOLD_BLOCK_MAX_BYTES)
        return err_set(err, ERR_PROTO, "a log block of %" PRIu32 " bytes, 1 to %d", block->size,
                       FOLD_BLOCK_MAX_BYTES);
    if (block->lines > block->size)
        return err_set(err, ERR_PROTO, "%" PRIu32 " lines in a log block of %" PRIu32 " bytes",
                       block->lines, block->size);
    if (block->offset != step->log_bytes[block->stream])
        return err_set(err, ERR_PROTO,
                       "a log block at offset %" PRIu64 " where the log ends at %" PRIu64,
                       block->offset, step->log_bytes[block->stream]);
    step->log_bytes[block->stream] += block->size;
    step->log_lines[block->stream] += block->lines;
    return ERR_OK;
}

static enum err_code apply_step_finished(struct fold *fold, const struct msg_step_finished *record,
                                         struct err *err)
{
    bool skipped = record->result == RESULT_SKIPPED;
    struct fold_step *step;
    enum err_code rc = check_result(record->result, err);

    if (rc)
        return rc;
    step = find_step(fold, record->step, skipped ? FOLD_STEP_WAITING : FOLD_STEP_RUNNING, err);
    if (!step)
        return ERR_PROTO;
    step->state = FOLD_STEP_FINISHED;
    step->result = (enum build_result)record->result;
    return ERR_OK;
}

static enum err_code apply_attempt_finished(struct fold *fold,
                                            const struct msg_attempt_finished *record,
                                            struct err *err)
{
    enum err_code rc = check_result(record->result, err);

    if (!rc)
        rc = check_idle(fold, err);
    if (rc)
        return rc;
    fold->finished = true;
    fold->result = (enum build_result)record->result;
    return ERR_OK;
}

/* It goes to other slaves, whose version control must not take it for an option or two words. */
static enum err_code check_revision(struct view revision, struct err *err)
{
    static const char marks[] = {'.', '_', '/', '-'};

    for (size_t i = 0; i < revision.n; i++) {
        if (!isalnum((unsigned char)revision.p[i]) && !memchr(marks, revision.p[i], sizeof marks))
            return err_set(err, ERR_PROTO, "byte 0x%02x in a revision",
                           (unsigned)(unsigned char)revision.p[i]);
    }
    if (revision.n == 0 || revision.p[0] == '-')
        return err_set(err, ERR_PROTO, "a revision that is empty or begins with '-'");
    return ERR_OK;
}

static enum err_code apply(struct fold *fold, const struct msg *record, struct err *err)
{
    switch (record->type) {
    case REC_ATTEMPT_STARTED:
        return apply_attempt_started(fold, err);
    case REC_STEP_STARTED:
        return apply_step_started(fold, &record->u.step_started, err);
    case REC_LOG_BLOCK:
        return apply_log_block(fold, &record->u.log_block, err);
    case REC_POINTS:
        return find_step(fold, record->u.points.step, FOLD_STEP_RUNNING, err) ? ERR_OK : ERR_PROTO;
    case REC_REVISION:
        return check_revision(record->u.revision.revision, err);
    case REC_STEP_FINISHED:
        return apply_step_finished(fold, &record->u.step_finished, err);
    case REC_ATTEMPT_FINISHED:
        return apply_attempt_finished(fold, &record->u.attempt_finished, err);
    default:
        return err_set(err, ERR_PROTO, "it is no record");
    }
}

/* What holds for every record, whatever it says. */
static enum err_code check_order(const struct fold *fold, uint64_t number, const struct msg *record,
                                 struct err *err)
{
    if (number == 0)
        return err_set(err, ERR_PROTO, "records count from 1");
    if (number <= fold->last)
        return err_set(err, ERR_EXISTS, "the newest record is %" PRIu64, fold->last);
    if (number != fold->last + 1)
        return err_set(err, ERR_PROTO, "the newest record is %" PRIu64, fold->last);
    if (fold->finished)
        return err_set(err, ERR_PROTO, "the attempt has finished");
    if (!fold->started && record->type != REC_ATTEMPT_STARTED)
        return err_set(err, ERR_PROTO, "the attempt has not started");
    return ERR_OK;
}

enum err_code fold_apply(struct fold *fold, uint64_t number, const struct msg *record,
                         struct err *err)
{
    enum err_code rc = check_order(fold, number, record, err);

    if (!rc)
        rc = apply(fold, record, err);
    if (!rc)
        fold->last = number;
    else
        err_prefix(err, "record %" PRIu64 " (%s)", number, msg_name(record->type));
    return rc;
}

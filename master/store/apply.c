#include "master/store/apply.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "master/store/rows.h"

/* The same was asked for before: says so in op. */
static enum err_code find_earlier(struct db *db, struct store_op *op, struct err *err)
{
    struct key_info known;
    bool found = false, known_head = false;
    enum err_code rc = ERR_OK;

    if (op->idempotency_key) {
        rc = key_find(db, op->idempotency_key, op->set.created_ms, &found, &known, err);
        if (rc == ERR_OK && found) {
            op->rc = ERR_EXISTS;
            op->existing_build = known.build;
            op->existing_change = known.change;
            op->existing_set = known.set_id;
        }
    }
    /* The same push told twice, by a webhook and by the poller. A branch that was deleted and has
     * come back has no head here, and one that was moved back has another, so both are built again.
     */
    if (rc == ERR_OK && op->rc == ERR_OK && op->change.id && op->change.revision)
        rc = head_was_told(db, &op->change, &known_head, err);
    if (rc == ERR_OK && known_head) {
        rc = change_find_head(db, &op->change, &op->existing_change, &op->existing_set, err);
        if (rc == ERR_OK && op->existing_change)
            op->rc = ERR_EXISTS;
    }
    return rc;
}

static enum err_code insert_all(struct db *db, const struct store_op *op, struct err *err)
{
    enum err_code rc = set_insert(db, &op->set, err);

    if (rc == ERR_OK && op->change.id)
        rc = change_insert(db, &op->change, err);
    if (rc == ERR_OK && op->change.id)
        rc = head_tell(db, &op->change, err);
    for (size_t i = 0; rc == ERR_OK && i < op->n_builds; i++)
        rc = build_insert(db, &op->builds[i], err);
    for (size_t i = 0; rc == ERR_OK && i < op->n_waits; i++)
        rc = build_wait_insert(db, op->waits[i][0], op->waits[i][1], err);
    return rc;
}

static enum err_code apply_create(struct applier *applier, struct store_op *op, struct err *err)
{
    struct key_info key = {
        .set_id = op->set.id,
        .build = op->n_builds ? op->builds[0].id : 0,
        .change = op->change.id,
    };
    enum err_code rc = find_earlier(applier->db, op, err);

    if (rc || op->rc)
        return rc;
    rc = insert_all(applier->db, op, err);
    if (rc == ERR_OK && op->idempotency_key)
        rc = key_insert(applier->db, op->idempotency_key, op->set.created_ms, &key, err);
    return rc;
}

static enum err_code update_builds(struct db *db, const struct store_op *op, struct err *err)
{
    enum err_code rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < op->n_builds; i++)
        rc = build_update(db, &op->builds[i], err);
    return rc;
}

static enum err_code apply_attempt(struct applier *applier, struct store_op *op, struct err *err)
{
    struct attempt_info *info = &op->attempt;
    enum err_code rc;

    info->n_steps = (uint32_t)op->n_steps;
    rc = attempt_insert(applier->db, info, err);
    for (size_t i = 0; rc == ERR_OK && i < op->n_steps; i++)
        rc = step_insert(applier->db, info->build_id, info->attempt, &op->steps[i], err);
    if (rc == ERR_OK)
        rc = update_builds(applier->db, op, err);
    if (rc == ERR_OK)
        running_add(applier->running, info, op->steps);
    return rc;
}

static void replace(char **text, const char *by)
{
    free(*text);
    *text = xstrdup(by);
}

/* Nothing of an ended attempt is left waiting or running. */
static void close_steps(struct running *running, struct running_attempt *attempt)
{
    for (size_t i = 0; i < attempt->info.n_steps; i++) {
        struct step_info *step = &attempt->steps[i];

        if (step->state == STEP_FINISHED)
            continue;
        if (step->state == STEP_WAITING) {
            step->result = RESULT_SKIPPED;
        } else {
            step->result =
                attempt->info.result == RESULT_CANCELLED ? RESULT_CANCELLED : RESULT_EXCEPTION;
            step->finished_ms = attempt->info.finished_ms;
            if (!step->reason && attempt->info.reason)
                replace(&step->reason, attempt->info.reason);
        }
        step->state = STEP_FINISHED;
        running_touch(running, attempt, step->number);
    }
}

/* What op says of the attempt stands; what it leaves out stays as the last record said. */
static enum err_code apply_attempt_end(struct applier *applier, struct store_op *op,
                                       struct err *err)
{
    const struct attempt_info *end = &op->attempt;
    struct running_attempt *attempt;
    enum err_code rc = running_find(applier->running, applier->db, end, &attempt, err);

    if (rc == ERR_NOTFOUND) { /* the build's row counts all the same */
        op->rc = ERR_NOTFOUND;
        return update_builds(applier->db, op, err);
    }
    if (rc)
        return rc;
    if (end->finished_ms)
        attempt->info.finished_ms = end->finished_ms;
    if (end->result != RESULT_NONE)
        attempt->info.result = end->result;
    if (end->reason)
        replace(&attempt->info.reason, end->reason);
    attempt->info.lost = end->lost;
    attempt->ended = true;
    running_touch(applier->running, attempt, 0);
    close_steps(applier->running, attempt);
    return update_builds(applier->db, op, err);
}

enum err_code apply_op(struct applier *applier, struct store_op *op, struct err *err)
{
    switch (op->kind) {
    case STORE_CREATE:
        return apply_create(applier, op, err);
    case STORE_BUILD:
        return update_builds(applier->db, op, err);
    case STORE_ATTEMPT:
        return apply_attempt(applier, op, err);
    case STORE_RECORD:
        return apply_record(applier, op, err);
    case STORE_ATTEMPT_END:
        return apply_attempt_end(applier, op, err);
    case STORE_HEAD:
        return head_set(applier->db, op->project, op->branch, op->revision, err);
    case STORE_SLAVE:
        return slave_set(applier->db, &op->slave, op->flag, err);
    case STORE_POOL:
        return pool_set(applier->db, op->pool, op->flag, err);
    case STORE_BARRIER:
        break;
    }
    return ERR_OK;
}

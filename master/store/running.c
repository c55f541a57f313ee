#include "master/store/running.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "master/store/rows.h"

struct running {
    struct running_attempt *table;
    struct running_attempt *dirty;
    bool has_ended; /* one was read that had ended before: a late record came for it */
};

struct running *running_new(void)
{
    return xcalloc(1, sizeof(struct running));
}

void running_free(struct running *running)
{
    if (!running)
        return;
    running_forget(running);
    free(running);
}

void running_release_steps(struct step_info *steps, size_t n)
{
    for (size_t i = 0; steps && i < n; i++)
        step_info_release(&steps[i]);
    free(steps);
}

static void drop(struct running *running, struct running_attempt *attempt)
{
    HASH_DEL(running->table, attempt);
    running_release_steps(attempt->steps, attempt->info.n_steps);
    attempt_info_release(&attempt->info);
    free(attempt->step_dirty);
    free(attempt);
}

void running_forget(struct running *running)
{
    struct running_attempt *attempt, *next;

    HASH_ITER (hh, running->table, attempt, next) {
        drop(running, attempt);
    }
    running->dirty = NULL;
}

/* Takes over what info and steps own. */
static struct running_attempt *insert(struct running *running, struct attempt_info *info,
                                      struct step_info *steps)
{
    struct running_attempt *attempt = xcalloc(1, sizeof *attempt);

    attempt->key = (struct running_key){info->build_id, info->attempt};
    attempt->info = *info;
    attempt->steps = steps;
    attempt->step_dirty = xcalloc(info->n_steps ? info->n_steps : 1, sizeof *attempt->step_dirty);
    HASH_ADD(hh, running->table, key, sizeof attempt->key, attempt);
    return attempt;
}

void running_add(struct running *running, const struct attempt_info *info,
                 const struct step_info *steps)
{
    struct step_info *copies = xcalloc(info->n_steps ? info->n_steps : 1, sizeof *copies);
    struct attempt_info copy = {0};

    for (size_t i = 0; i < info->n_steps; i++)
        step_info_copy(&copies[i], &steps[i]);
    attempt_info_copy(&copy, info);
    (void)insert(running, &copy, copies);
}

static enum err_code read_attempt(struct db *db, uint64_t build, uint32_t attempt,
                                  struct attempt_info *info, bool *ended, struct err *err)
{
    struct attempt_info borrowed;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, SQL_ATTEMPT_GET, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    db_bind_u64(stmt, 2, attempt);
    rc = db_step(db, stmt, &row, err);
    if (rc == ERR_OK && row) {
        attempt_row(stmt, &borrowed, ended);
        attempt_info_copy(info, &borrowed);
    } else if (rc == ERR_OK) {
        rc = err_set(err, ERR_NOTFOUND, "there is no attempt %u of build %llu", attempt,
                     (unsigned long long)build);
    }
    db_end(stmt);
    return rc;
}

static enum err_code read_steps(struct db *db, const struct attempt_info *of,
                                struct step_info *steps, struct err *err)
{
    struct step_info borrowed;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, SQL_STEPS_OF_ATTEMPT, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, of->build_id);
    db_bind_u64(stmt, 2, of->attempt);
    while ((rc = db_step(db, stmt, &row, err)) == ERR_OK && row) {
        step_row(stmt, &borrowed);
        if (borrowed.number >= 1 && borrowed.number <= of->n_steps &&
            !steps[borrowed.number - 1].name)
            step_info_copy(&steps[borrowed.number - 1], &borrowed);
    }
    db_end(stmt);
    return rc;
}

enum err_code running_read(struct db *db, uint64_t build, uint32_t attempt,
                           struct attempt_info *info, struct step_info **steps, bool *ended,
                           struct err *err)
{
    struct attempt_info found = {0};
    struct step_info *list;
    enum err_code rc = read_attempt(db, build, attempt, &found, ended, err);

    if (rc)
        return rc;
    list = xcalloc(found.n_steps ? found.n_steps : 1, sizeof *list);
    rc = read_steps(db, &found, list, err);
    if (rc) {
        running_release_steps(list, found.n_steps);
        attempt_info_release(&found);
        return rc;
    }
    *info = found;
    *steps = list;
    return ERR_OK;
}

enum err_code running_find(struct running *running, struct db *db, const struct attempt_info *key,
                           struct running_attempt **out, struct err *err)
{
    struct running_key wanted = {key->build_id, key->attempt};
    struct running_attempt *attempt;
    struct attempt_info info = {0};
    struct step_info *steps = NULL;
    bool ended = false;
    enum err_code rc;

    /* Two whole words without padding; the analyzer loses count in uthash's macro. */
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    HASH_FIND(hh, running->table, &wanted, sizeof wanted, attempt);
    if (!attempt) {
        rc = running_read(db, key->build_id, key->attempt, &info, &steps, &ended, err);
        if (rc)
            return rc;
        attempt = insert(running, &info, steps);
        attempt->ended = ended;
        running->has_ended |= ended;
    }
    *out = attempt;
    return ERR_OK;
}

void running_touch(struct running *running, struct running_attempt *attempt, uint32_t step)
{
    if (step)
        attempt->step_dirty[step - 1] = true;
    if (attempt->dirty)
        return;
    attempt->dirty = true;
    attempt->next_dirty = running->dirty;
    running->dirty = attempt;
}

static enum err_code flush(struct db *db, struct running_attempt *attempt, struct err *err)
{
    enum err_code rc = attempt_update(db, &attempt->info, attempt->ended, err);

    for (size_t i = 0; rc == ERR_OK && i < attempt->info.n_steps; i++) {
        if (!attempt->step_dirty[i])
            continue;
        rc = step_update(db, attempt->key.build, attempt->info.attempt, &attempt->steps[i], err);
        attempt->step_dirty[i] = false;
    }
    attempt->dirty = false;
    return rc;
}

enum err_code running_flush(struct running *running, struct db *db, struct err *err)
{
    struct running_attempt *attempt, *next;
    enum err_code rc;

    while ((attempt = running->dirty) != NULL) {
        running->dirty = attempt->next_dirty;
        rc = flush(db, attempt, err);
        if (rc)
            return rc;
        if (attempt->ended)
            drop(running, attempt);
    }
    if (running->has_ended) {
        HASH_ITER (hh, running->table, attempt, next) {
            if (attempt->ended)
                drop(running, attempt);
        }
        running->has_ended = false;
    }
    return ERR_OK;
}

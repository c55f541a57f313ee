/* What the loop needs to carry on where an earlier run stopped. Everything is found by an index,
 * however many finished builds there are. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/store/rows.h"
#include "master/store/store_impl.h"

typedef VEC(struct build_info) build_vec;

static enum err_code read_last(struct db *db, enum sql sql, uint64_t *out, struct err *err)
{
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, sql, &stmt, err);

    if (rc)
        return rc;
    rc = db_step(db, stmt, &row, err);
    if (rc == ERR_OK)
        *out = db_u64(stmt, 0);
    db_end(stmt);
    return rc;
}

static enum err_code load_state(struct db *db, enum build_state state, build_vec *builds,
                                struct err *err)
{
    struct build_info borrowed;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, SQL_BUILDS_OPEN, &stmt, err);

    if (rc)
        return rc;
    db_bind_i64(stmt, 1, INT64_MAX);
    db_bind_i64(stmt, 2, -1);
    db_bind_u64(stmt, 3, state);
    while ((rc = db_step(db, stmt, &row, err)) == ERR_OK && row) {
        build_row(stmt, &borrowed);
        build_info_copy(vec_add(builds), &borrowed);
    }
    db_end(stmt);
    return rc;
}

static int by_id(const void *a, const void *b)
{
    const struct build_info *first = a, *second = b;

    return first->id < second->id ? -1 : first->id > second->id;
}

static enum err_code load_builds(struct db *db, struct store_snapshot *out, struct err *err)
{
    build_vec builds = {0};
    enum err_code rc = ERR_OK;

    for (unsigned state = BUILD_WAITING; rc == ERR_OK && state < BUILD_FINISHED; state++)
        rc = load_state(db, (enum build_state)state, &builds, err);
    if (builds.n > 1)
        qsort(builds.v, builds.n, sizeof *builds.v, by_id);
    out->builds = builds.v;
    out->n_builds = builds.n;
    return rc;
}

/* The attempt said how it ended, and the master died before it drew the conclusion for the build:
 * draws it. */
static enum err_code conclude(struct db *db, struct build_info *build,
                              const struct attempt_info *attempt, struct err *err)
{
    const char *note = build->cancel ? build->cancel : attempt->reason;
    enum err_code rc;

    build->state = BUILD_FINISHED;
    build->result = build->cancel ? RESULT_CANCELLED : attempt->result;
    build->finished_ms = attempt->finished_ms;
    if (note) {
        free(build->note);
        build->note = xstrdup(note);
    }
    rc = db_exec(db, "BEGIN IMMEDIATE", err);
    if (rc == ERR_OK)
        rc = build_update(db, build, err);
    if (rc == ERR_OK)
        rc = attempt_update(db, attempt, true, err);
    if (rc == ERR_OK)
        rc = db_exec(db, "COMMIT", err);
    if (rc)
        db_rollback(db);
    else
        log_info("store.concluded", LOG_ID("build", build->id),
                 LOG_STR("result", result_name(build->result)));
    return rc;
}

/* Takes over info's strings and steps, or releases them. */
static enum err_code keep_attempt(struct db *db, struct store_snapshot *out,
                                  struct build_info *build, struct attempt_info *info,
                                  struct step_info *steps, bool ended, struct err *err)
{
    enum err_code rc = ERR_OK;

    if (!ended && !info->lost && info->result == RESULT_NONE) {
        out->attempts[out->n_attempts] = *info;
        out->attempt_steps[out->n_attempts] = steps;
        out->n_attempts++;
        return ERR_OK;
    }
    if (!ended && !info->lost)
        rc = conclude(db, build, info, err);
    running_release_steps(steps, info->n_steps);
    attempt_info_release(info);
    return rc;
}

static enum err_code load_attempts(struct db *db, struct store_snapshot *out, struct err *err)
{
    size_t room = out->n_builds ? out->n_builds : 1;
    enum err_code rc = ERR_OK;

    out->attempts = xcalloc(room, sizeof *out->attempts);
    out->attempt_steps = xcalloc(room, sizeof *out->attempt_steps);
    for (size_t i = 0; rc == ERR_OK && i < out->n_builds; i++) {
        struct build_info *build = &out->builds[i];
        struct attempt_info info = {0};
        struct step_info *steps = NULL;
        bool ended = false;

        if (build->state != BUILD_RUNNING && build->state != BUILD_DETACHED)
            continue;
        rc = running_read(db, build->id, build->attempt, &info, &steps, &ended, err);
        if (rc == ERR_NOTFOUND)
            rc = ERR_OK;
        else if (rc == ERR_OK)
            rc = keep_attempt(db, out, build, &info, steps, ended, err);
    }
    return rc;
}

static void drop_finished(struct store_snapshot *out)
{
    size_t left = 0;

    for (size_t i = 0; i < out->n_builds; i++) {
        if (out->builds[i].state == BUILD_FINISHED)
            build_info_release(&out->builds[i]);
        else
            out->builds[left++] = out->builds[i];
    }
    out->n_builds = left;
}

struct waits {
    struct {
        uint64_t (*v)[2];
        size_t n, cap;
    } pairs;
    VEC(enum build_result) results;
};

static enum err_code wait_result(struct db *db, uint64_t build, enum build_result *result,
                                 struct err *err)
{
    struct build_info borrowed;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, SQL_BUILD_GET, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    rc = db_step(db, stmt, &row, err);
    *result = RESULT_NONE;
    if (rc == ERR_OK && row) {
        build_row(stmt, &borrowed);
        if (borrowed.state == BUILD_FINISHED)
            *result = borrowed.result;
    }
    db_end(stmt);
    return rc;
}

static enum err_code load_waits_of(struct db *db, uint64_t build, struct waits *waits,
                                   struct err *err)
{
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, SQL_WAITS_OF_BUILD, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    while ((rc = db_step(db, stmt, &row, err)) == ERR_OK && row) {
        uint64_t *pair = *vec_add(&waits->pairs);
        enum build_result *result = vec_add(&waits->results);

        pair[0] = build;
        pair[1] = db_u64(stmt, 0);
        rc = wait_result(db, pair[1], result, err);
        if (rc)
            break;
    }
    db_end(stmt);
    return rc;
}

static enum err_code load_waits(struct db *db, struct store_snapshot *out, struct err *err)
{
    struct waits waits = {0};
    enum err_code rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < out->n_builds; i++) {
        if (out->builds[i].state == BUILD_WAITING)
            rc = load_waits_of(db, out->builds[i].id, &waits, err);
    }
    out->waits = waits.pairs.v;
    out->n_waits = waits.pairs.n;
    out->wait_results = waits.results.v;
    return rc;
}

static enum err_code load_heads(struct db *db, struct store_snapshot *out, struct err *err)
{
    size_t cap = 0;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, SQL_HEADS_AFTER, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, "");
    db_bind_text(stmt, 2, "");
    while ((rc = db_step(db, stmt, &row, err)) == ERR_OK && row) {
        out->heads = vec_reserve(out->heads, &cap, out->n_heads + 1, sizeof *out->heads);
        out->heads[out->n_heads].project = xstrdup(db_text(stmt, 0));
        out->heads[out->n_heads].branch = xstrdup(db_text(stmt, 1));
        out->heads[out->n_heads].revision = xstrdup(db_text(stmt, 2));
        out->n_heads++;
    }
    db_end(stmt);
    return rc;
}

/* Names whose flag (the second column) is set. */
static enum err_code load_names(struct db *db, enum sql sql, char ***names, size_t *n,
                                struct err *err)
{
    text_list list = {0};
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, sql, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, "");
    while ((rc = db_step(db, stmt, &row, err)) == ERR_OK && row) {
        if (db_u64(stmt, 1))
            vec_push(&list, xstrdup(db_text(stmt, 0)));
    }
    db_end(stmt);
    *names = list.v;
    *n = list.n;
    return rc;
}

enum err_code store_load(struct store *store, struct store_snapshot *out, struct err *err)
{
    struct store_snapshot snapshot = {0};
    struct db *db = &store->db;
    enum err_code rc;

    rc = read_last(db, SQL_SET_LAST, &snapshot.last_set, err);
    if (rc == ERR_OK)
        rc = read_last(db, SQL_BUILD_LAST, &snapshot.last_build, err);
    if (rc == ERR_OK)
        rc = read_last(db, SQL_CHANGE_LAST, &snapshot.last_change, err);
    if (rc == ERR_OK)
        rc = load_builds(db, &snapshot, err);
    if (rc == ERR_OK)
        rc = load_attempts(db, &snapshot, err);
    if (rc == ERR_OK) {
        drop_finished(&snapshot);
        rc = load_waits(db, &snapshot, err);
    }
    if (rc == ERR_OK)
        rc = load_heads(db, &snapshot, err);
    if (rc == ERR_OK)
        rc = load_names(db, SQL_SLAVES_AFTER, &snapshot.drained_slaves, &snapshot.n_drained, err);
    if (rc == ERR_OK)
        rc = load_names(db, SQL_POOLS_AFTER, &snapshot.paused_pools, &snapshot.n_paused, err);
    if (rc) {
        err_prefix(err, "read %s/tailrace.db", store->data);
        store_snapshot_release(&snapshot);
        return rc;
    }
    *out = snapshot;
    return ERR_OK;
}

static void free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

void store_snapshot_release(struct store_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_builds; i++)
        build_info_release(&snapshot->builds[i]);
    free(snapshot->builds);
    for (size_t i = 0; i < snapshot->n_attempts; i++) {
        running_release_steps(snapshot->attempt_steps[i], snapshot->attempts[i].n_steps);
        attempt_info_release(&snapshot->attempts[i]);
    }
    free(snapshot->attempts);
    free(snapshot->attempt_steps);
    free(snapshot->waits);
    free(snapshot->wait_results);
    for (size_t i = 0; i < snapshot->n_heads; i++) {
        free(snapshot->heads[i].project);
        free(snapshot->heads[i].branch);
        free(snapshot->heads[i].revision);
    }
    free(snapshot->heads);
    free_names(snapshot->drained_slaves, snapshot->n_drained);
    free_names(snapshot->paused_pools, snapshot->n_paused);
    memset(snapshot, 0, sizeof *snapshot);
}

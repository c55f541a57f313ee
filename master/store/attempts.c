#include "master/store/rows.h"

enum err_code attempt_insert(struct db *db, const struct attempt_info *attempt, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_ATTEMPT_INSERT, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, attempt->build_id);
    db_bind_u64(stmt, 2, attempt->attempt);
    db_bind_text(stmt, 3, attempt->slave);
    db_bind_i64(stmt, 4, attempt->started_ms);
    db_bind_i64(stmt, 5, attempt->finished_ms);
    db_bind_u64(stmt, 6, attempt->result);
    db_bind_u64(stmt, 7, attempt->lost);
    db_bind_u64(stmt, 8, 0);
    db_bind_text(stmt, 9, attempt->reason);
    db_bind_u64(stmt, 10, attempt->last);
    db_bind_u64(stmt, 11, attempt->n_steps);
    return db_finish(db, stmt, err);
}

enum err_code attempt_update(struct db *db, const struct attempt_info *attempt, bool ended,
                             struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_ATTEMPT_UPDATE, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, attempt->build_id);
    db_bind_u64(stmt, 2, attempt->attempt);
    db_bind_i64(stmt, 3, attempt->started_ms);
    db_bind_i64(stmt, 4, attempt->finished_ms);
    db_bind_u64(stmt, 5, attempt->result);
    db_bind_u64(stmt, 6, attempt->lost);
    db_bind_u64(stmt, 7, ended);
    db_bind_text(stmt, 8, attempt->reason);
    db_bind_u64(stmt, 9, attempt->last);
    return db_finish(db, stmt, err);
}

void attempt_row(sqlite3_stmt *stmt, struct attempt_info *out, bool *ended)
{
    *out = (struct attempt_info){
        .build_id = db_u64(stmt, 0),
        .attempt = db_u32(stmt, 1),
        .slave = db_text(stmt, 2),
        .started_ms = db_i64(stmt, 3),
        .finished_ms = db_i64(stmt, 4),
        .result = (enum build_result)db_u32(stmt, 5),
        .lost = db_u32(stmt, 6) != 0,
        .reason = db_text(stmt, 8),
        .last = db_u64(stmt, 9),
        .n_steps = db_u32(stmt, 10),
    };
    if (ended)
        *ended = db_u32(stmt, 7) != 0;
}

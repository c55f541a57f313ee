#include "master/store/rows.h"

/* Columns from `state` on, which both statements number alike. */
static void bind_course(sqlite3_stmt *stmt, const struct step_info *step)
{
    db_bind_u64(stmt, 6, step->state);
    db_bind_u64(stmt, 7, step->result);
    if (step->has_exit)
        db_bind_i64(stmt, 8, step->exit_code);
    db_bind_text(stmt, 9, step->reason);
    db_bind_nonzero(stmt, 10, step->started_ms);
    db_bind_nonzero(stmt, 11, step->finished_ms);
    db_bind_double(stmt, 12, step->user_s);
    db_bind_double(stmt, 13, step->system_s);
    db_bind_nonzero(stmt, 14, (int64_t)step->max_rss_bytes);
    for (int stream = 0; stream < 2; stream++) {
        const struct log_info *log = &step->log[stream];

        db_bind_nonzero(stmt, 15 + 3 * stream, (int64_t)log->bytes);
        db_bind_nonzero(stmt, 16 + 3 * stream, (int64_t)log->lines);
        db_bind_nonzero(stmt, 17 + 3 * stream, (int64_t)log->stored_bytes);
    }
}

enum err_code step_insert(struct db *db, uint64_t build, uint32_t attempt,
                          const struct step_info *step, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_STEP_INSERT, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    db_bind_u64(stmt, 2, attempt);
    db_bind_u64(stmt, 3, step->number);
    db_bind_text(stmt, 4, step->name);
    db_bind_u64(stmt, 5, step->kind);
    bind_course(stmt, step);
    return db_finish(db, stmt, err);
}

enum err_code step_update(struct db *db, uint64_t build, uint32_t attempt,
                          const struct step_info *step, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_STEP_UPDATE, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    db_bind_u64(stmt, 2, attempt);
    db_bind_u64(stmt, 3, step->number);
    bind_course(stmt, step);
    return db_finish(db, stmt, err);
}

void step_row(sqlite3_stmt *stmt, struct step_info *out)
{
    *out = (struct step_info){
        .number = db_u32(stmt, 0),
        .name = db_text(stmt, 1),
        .kind = (enum step_kind)db_u32(stmt, 2),
        .state = (enum step_state)db_u32(stmt, 3),
        .result = (enum build_result)db_u32(stmt, 4),
        .exit_code = db_i64(stmt, 5),
        .has_exit = sqlite3_column_type(stmt, 5) != SQLITE_NULL,
        .reason = db_text(stmt, 6),
        .started_ms = db_i64(stmt, 7),
        .finished_ms = db_i64(stmt, 8),
        .user_s = sqlite3_column_double(stmt, 9),
        .system_s = sqlite3_column_double(stmt, 10),
        .max_rss_bytes = db_u64(stmt, 11),
    };
    for (int stream = 0; stream < 2; stream++) {
        out->log[stream] = (struct log_info){
            .bytes = db_u64(stmt, 12 + 3 * stream),
            .lines = db_u64(stmt, 13 + 3 * stream),
            .stored_bytes = db_u64(stmt, 14 + 3 * stream),
        };
    }
}

#include "master/store/rows.h"

static enum err_code remember_newest(struct db *db, const struct build_info *build, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_BUILD_NEWEST, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, build->builder);
    db_bind_text(stmt, 2, build->branch);
    db_bind_u64(stmt, 3, build->id);
    return db_finish(db, stmt, err);
}

enum err_code build_insert(struct db *db, const struct build_info *build, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_BUILD_INSERT, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build->id);
    db_bind_u64(stmt, 2, build->set_id);
    db_bind_text(stmt, 3, build->builder);
    db_bind_text(stmt, 4, build->project);
    db_bind_text(stmt, 5, build->branch);
    db_bind_text(stmt, 6, build->revision);
    db_bind_u64(stmt, 7, build->state);
    db_bind_u64(stmt, 8, build->result);
    db_bind_u64(stmt, 9, build->attempt);
    db_bind_text(stmt, 10, build->slave);
    db_bind_text(stmt, 11, build->pool);
    db_bind_u64(stmt, 12, build->priority);
    db_bind_text(stmt, 13, build->reason);
    db_bind_text(stmt, 14, build->author);
    db_bind_text(stmt, 15, build->note);
    db_bind_i64(stmt, 16, build->queued_ms);
    db_bind_i64(stmt, 17, build->started_ms);
    db_bind_i64(stmt, 18, build->finished_ms);
    db_bind_nonzero(stmt, 19, (int64_t)build->stands_for_id);
    db_bind_nonzero(stmt, 20, (int64_t)build->rebuild_of_id);
    db_bind_text(stmt, 21, build->cancel);
    rc = db_finish(db, stmt, err);
    return rc ? rc : remember_newest(db, build, err);
}

static enum err_code set_text(struct db *db, enum sql sql, uint64_t id, struct view text,
                              struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, sql, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, id);
    db_bind_view(stmt, 2, text);
    return db_finish(db, stmt, err);
}

enum err_code build_update(struct db *db, const struct build_info *build, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_BUILD_UPDATE, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build->id);
    db_bind_u64(stmt, 2, build->state);
    db_bind_u64(stmt, 3, build->result);
    db_bind_u64(stmt, 4, build->attempt);
    db_bind_text(stmt, 5, build->pool);
    db_bind_u64(stmt, 6, build->priority);
    db_bind_text(stmt, 7, build->note);
    db_bind_i64(stmt, 8, build->queued_ms);
    db_bind_i64(stmt, 9, build->started_ms);
    db_bind_i64(stmt, 10, build->finished_ms);
    db_bind_nonzero(stmt, 11, (int64_t)build->stands_for_id);
    rc = db_finish(db, stmt, err);
    if (rc == ERR_OK && build->revision)
        rc = set_text(db, SQL_BUILD_SET_REVISION, build->id, view_of(build->revision), err);
    if (rc == ERR_OK && build->slave)
        rc = set_text(db, SQL_BUILD_SET_SLAVE, build->id, view_of(build->slave), err);
    if (rc == ERR_OK && build->cancel)
        rc = set_text(db, SQL_BUILD_SET_CANCEL, build->id, view_of(build->cancel), err);
    return rc;
}

enum err_code build_found_revision(struct db *db, uint64_t id, struct view revision,
                                   struct err *err)
{
    return set_text(db, SQL_BUILD_FOUND_REVISION, id, revision, err);
}

enum err_code build_wait_insert(struct db *db, uint64_t build, uint64_t waits_for, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_WAIT_INSERT, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    db_bind_u64(stmt, 2, waits_for);
    return db_finish(db, stmt, err);
}

void build_row(sqlite3_stmt *stmt, struct build_info *out)
{
    *out = (struct build_info){
        .id = db_u64(stmt, 0),
        .set_id = db_u64(stmt, 1),
        .builder = db_text(stmt, 2),
        .project = db_text(stmt, 3),
        .branch = db_text(stmt, 4),
        .revision = db_text(stmt, 5),
        .state = (enum build_state)db_u32(stmt, 6),
        .result = (enum build_result)db_u32(stmt, 7),
        .attempt = db_u32(stmt, 8),
        .slave = db_text(stmt, 9),
        .pool = db_text(stmt, 10),
        .priority = (enum priority)db_u32(stmt, 11),
        .reason = db_text(stmt, 12),
        .author = db_text(stmt, 13),
        .note = db_text(stmt, 14),
        .queued_ms = db_i64(stmt, 15),
        .started_ms = db_i64(stmt, 16),
        .finished_ms = db_i64(stmt, 17),
        .stands_for_id = db_u64(stmt, 18),
        .rebuild_of_id = db_u64(stmt, 19),
        .cancel = db_text(stmt, 20),
    };
}

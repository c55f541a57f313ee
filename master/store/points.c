#include "master/store/rows.h"

enum { POINTS_PER_RECORD = 1024 }; /* more than a record can hold (messages.def) */

static enum err_code point_insert(struct db *db, const struct attempt_info *of, uint64_t number,
                                  uint32_t step, const struct msg_point *point, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_POINT_INSERT, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, of->build_id);
    db_bind_u64(stmt, 2, of->attempt);
    db_bind_u64(stmt, 3, number);
    db_bind_u64(stmt, 4, step);
    db_bind_view(stmt, 5, point->suite);
    db_bind_view(stmt, 6, point->test);
    db_bind_view(stmt, 7, point->metric);
    db_bind_view(stmt, 8, point->unit);
    db_bind_u64(stmt, 9, point->better);
    db_bind_u64(stmt, 10, point->iteration);
    db_bind_double(stmt, 11, point->value);
    return db_finish(db, stmt, err);
}

enum err_code points_insert(struct db *db, uint64_t build, uint32_t attempt, uint64_t number,
                            const struct msg_points *points, struct err *err)
{
    const struct attempt_info of = {.build_id = build, .attempt = attempt};
    enum err_code rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < points->points.n && i < POINTS_PER_RECORD; i++) {
        rc = point_insert(db, &of, number * POINTS_PER_RECORD + i, points->step,
                          &points->points.v[i], err);
    }
    return rc;
}

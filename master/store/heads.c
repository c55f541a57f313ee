#include "master/store/rows.h"

enum err_code head_set(struct db *db, const char *project, const char *branch, const char *revision,
                       struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, revision ? SQL_HEAD_SET : SQL_HEAD_DELETE, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, project);
    db_bind_text(stmt, 2, branch);
    if (revision)
        db_bind_text(stmt, 3, revision);
    return db_finish(db, stmt, err);
}

enum err_code head_is(struct db *db, const struct change_info *change, bool *same, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_HEAD_IS, &stmt, err);

    *same = false;
    if (rc)
        return rc;
    db_bind_text(stmt, 1, change->project);
    db_bind_text(stmt, 2, change->branch);
    db_bind_text(stmt, 3, change->revision);
    rc = db_step(db, stmt, same, err);
    db_end(stmt);
    return rc;
}

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

static enum err_code bind_change(struct db *db, enum sql sql, const struct change_info *change,
                                 sqlite3_stmt **stmt, struct err *err)
{
    enum err_code rc = db_begin(db, sql, stmt, err);

    if (rc)
        return rc;
    db_bind_text(*stmt, 1, change->project);
    db_bind_text(*stmt, 2, change->branch);
    db_bind_text(*stmt, 3, change->revision);
    return ERR_OK;
}

enum err_code head_tell(struct db *db, const struct change_info *change, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = bind_change(db, SQL_HEAD_TELL, change, &stmt, err);

    return rc ? rc : db_finish(db, stmt, err);
}

enum err_code head_was_told(struct db *db, const struct change_info *change, bool *told,
                            struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = bind_change(db, SQL_HEAD_TOLD, change, &stmt, err);

    *told = false;
    if (rc)
        return rc;
    rc = db_step(db, stmt, told, err);
    db_end(stmt);
    return rc;
}

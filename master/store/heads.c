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

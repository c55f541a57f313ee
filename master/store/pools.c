#include "master/store/rows.h"

enum err_code pool_set(struct db *db, const char *pool, bool paused, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_POOL_SET, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, pool);
    db_bind_u64(stmt, 2, paused);
    return db_finish(db, stmt, err);
}

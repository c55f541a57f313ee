#include "master/store/rows.h"

enum err_code slave_set(struct db *db, const struct slave_info *slave, bool draining,
                        struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_SLAVE_SET, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, slave->name);
    db_bind_u64(stmt, 2, draining);
    db_bind_text(stmt, 3, slave->reason);
    db_bind_text(stmt, 4, slave->version);
    db_bind_text(stmt, 5, slave->platform);
    db_bind_i64(stmt, 6, slave->last_seen_ms);
    return db_finish(db, stmt, err);
}

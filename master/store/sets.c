#include "master/store/rows.h"

enum err_code set_insert(struct db *db, const struct set_info *set, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_SET_INSERT, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, set->id);
    db_bind_text(stmt, 2, set->reason);
    db_bind_text(stmt, 3, set->project);
    db_bind_text(stmt, 4, set->branch);
    db_bind_text(stmt, 5, set->revision);
    db_bind_i64(stmt, 6, set->created_ms);
    return db_finish(db, stmt, err);
}

void set_row(sqlite3_stmt *stmt, struct set_info *out)
{
    *out = (struct set_info){
        .id = db_u64(stmt, 0),
        .reason = db_text(stmt, 1),
        .project = db_text(stmt, 2),
        .branch = db_text(stmt, 3),
        .revision = db_text(stmt, 4),
        .created_ms = db_i64(stmt, 5),
    };
}

#include "master/store/rows.h"

static enum err_code keys_prune(struct db *db, int64_t now_ms, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_KEY_PRUNE, &stmt, err);

    if (rc)
        return rc;
    db_bind_i64(stmt, 1, now_ms - KEYS_KEPT_MS);
    return db_finish(db, stmt, err);
}

enum err_code key_find(struct db *db, const char *key, int64_t now_ms, bool *found,
                       struct key_info *out, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = keys_prune(db, now_ms, err);

    if (rc == ERR_OK)
        rc = db_begin(db, SQL_KEY_GET, &stmt, err);
    if (rc)
        return rc;
    db_bind_text(stmt, 1, key);
    rc = db_step(db, stmt, found, err);
    if (rc == ERR_OK && *found)
        *out = (struct key_info){db_u64(stmt, 0), db_u64(stmt, 1), db_u64(stmt, 2)};
    db_end(stmt);
    return rc;
}

enum err_code key_insert(struct db *db, const char *key, int64_t now_ms,
                         const struct key_info *info, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, SQL_KEY_INSERT, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, key);
    db_bind_u64(stmt, 2, info->set_id);
    db_bind_u64(stmt, 3, info->build);
    db_bind_u64(stmt, 4, info->change);
    db_bind_i64(stmt, 5, now_ms);
    return db_finish(db, stmt, err);
}

#include "master/store/db.h"

#include <stdlib.h>
#include <string.h>

#include "common/io/fsx.h"
#include "master/store/schema.h"

static const char *const texts[] = {
#define SQL(name, text) [SQL_##name] = (text),
#include "master/store/sql.def"
};

/* How long a statement waits for another process (a backup, a curious person's sqlite3) before the
 * batch is tried again. */
enum { BUSY_MS = 2000 };

const char *db_sql(enum sql sql)
{
    return texts[sql];
}

static enum err_code db_error(struct db *db, int code, struct err *err)
{
    enum err_code kind = ERR_IO;
    const char *why = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code);

    switch (code & 0xff) {
    case SQLITE_FULL:
        kind = ERR_NOSPACE;
        break;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
        kind = ERR_PROTO;
        break;
    default:
        break;
    }
    return err_set(err, kind, "database: %s", why);
}

static enum err_code db_open(struct db *db, const char *data, int flags, const char *pragmas,
                             struct err *err)
{
    char *path = fs_join(data, "tailrace.db");
    enum err_code rc = ERR_OK;
    int code;

    memset(db, 0, sizeof *db);
    code = sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        rc = db_error(db, code, err);
    if (rc == ERR_OK) {
        (void)sqlite3_extended_result_codes(db->handle, 1);
        (void)sqlite3_busy_timeout(db->handle, BUSY_MS);
        rc = db_exec(db, pragmas, err);
    }
    if (rc) {
        err_prefix(err, "open %s", path);
        db_close(db);
    }
    free(path);
    return rc;
}

/* FULL: a commit is on the disk when it returns, at power loss too. Checkpoints are as rare as a
 * WAL of 16 MiB allows, because each writes the pages that all commits between have touched. */
static const char writer_pragmas[] = "PRAGMA journal_mode = WAL;"
                                     "PRAGMA synchronous = FULL;"
                                     "PRAGMA foreign_keys = ON;"
                                     "PRAGMA wal_autocheckpoint = 4096;"
                                     "PRAGMA journal_size_limit = 67108864;"
                                     "PRAGMA temp_store = MEMORY;"
                                     "PRAGMA cache_size = -65536;";

enum err_code db_open_writer(struct db *db, const char *data, struct err *err)
{
    enum err_code rc =
        db_open(db, data, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, writer_pragmas, err);

    if (rc)
        return rc;
    rc = schema_migrate(db, err);
    if (rc) {
        err_prefix(err, "open %s/tailrace.db", data);
        db_close(db);
    }
    return rc;
}

enum err_code db_open_reader(struct db *db, const char *data, struct err *err)
{
    enum err_code rc = db_open(db, data, SQLITE_OPEN_READONLY,
                               "PRAGMA query_only = ON; PRAGMA cache_size = -32768;", err);

    if (rc)
        return rc;
    rc = schema_check(db, err);
    if (rc) {
        err_prefix(err, "open %s/tailrace.db", data);
        db_close(db);
    }
    return rc;
}

void db_close(struct db *db)
{
    for (size_t i = 0; i < SQL_COUNT; i++)
        (void)sqlite3_finalize(db->statements[i]);
    (void)sqlite3_close(db->handle);
    memset(db, 0, sizeof *db);
}

enum err_code db_exec(struct db *db, const char *sql, struct err *err)
{
    int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? ERR_OK : db_error(db, code, err);
}

void db_rollback(struct db *db)
{
    /* After some errors SQLite has rolled back by itself. */
    if (!sqlite3_get_autocommit(db->handle))
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

enum err_code db_run(struct db *db, enum sql sql, struct err *err)
{
    sqlite3_stmt *stmt;
    enum err_code rc = db_begin(db, sql, &stmt, err);

    return rc ? rc : db_finish(db, stmt, err);
}

enum err_code db_begin(struct db *db, enum sql sql, sqlite3_stmt **stmt, struct err *err)
{
    if (!db->statements[sql]) {
        int code = sqlite3_prepare_v3(db->handle, texts[sql], -1, SQLITE_PREPARE_PERSISTENT,
                                      &db->statements[sql], NULL);

        if (code != SQLITE_OK)
            return db_error(db, code, err);
    }
    *stmt = db->statements[sql];
    return ERR_OK;
}

enum err_code db_step(struct db *db, sqlite3_stmt *stmt, bool *row, struct err *err)
{
    int code = sqlite3_step(stmt);

    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? ERR_OK : db_error(db, code, err);
}

void db_end(sqlite3_stmt *stmt)
{
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
}

enum err_code db_finish(struct db *db, sqlite3_stmt *stmt, struct err *err)
{
    bool row;
    enum err_code rc = db_step(db, stmt, &row, err);

    db_end(stmt);
    return rc;
}

unsigned db_changed(struct db *db)
{
    return (unsigned)sqlite3_changes(db->handle);
}

/* Binding fails only for an index that the statement does not have, which the test of all
 * statements would show. */
void db_bind_u64(sqlite3_stmt *stmt, int index, uint64_t value)
{
    (void)sqlite3_bind_int64(stmt, index, (sqlite3_int64)value);
}

void db_bind_i64(sqlite3_stmt *stmt, int index, int64_t value)
{
    (void)sqlite3_bind_int64(stmt, index, value);
}

void db_bind_nonzero(sqlite3_stmt *stmt, int index, int64_t value)
{
    if (value)
        (void)sqlite3_bind_int64(stmt, index, value);
    else
        (void)sqlite3_bind_null(stmt, index);
}

void db_bind_double(sqlite3_stmt *stmt, int index, double value)
{
    (void)sqlite3_bind_double(stmt, index, value);
}

void db_bind_text(sqlite3_stmt *stmt, int index, const char *value)
{
    (void)sqlite3_bind_text(stmt, index, value, -1, SQLITE_STATIC);
}

void db_bind_view(sqlite3_stmt *stmt, int index, struct view value)
{
    (void)sqlite3_bind_text(stmt, index, value.p ? value.p : "", (int)value.n, SQLITE_STATIC);
}

uint64_t db_u64(sqlite3_stmt *stmt, int column)
{
    return (uint64_t)sqlite3_column_int64(stmt, column);
}

int64_t db_i64(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_int64(stmt, column);
}

uint32_t db_u32(sqlite3_stmt *stmt, int column)
{
    return (uint32_t)sqlite3_column_int64(stmt, column);
}

char *db_text(sqlite3_stmt *stmt, int column)
{
    return (char *)(uintptr_t)sqlite3_column_text(stmt, column);
}

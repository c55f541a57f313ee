/*
 * db: one connection to the database: opening with the right pragmas, and its prepared statements,
 * each prepared once (sql.def lists them all). A statement is used as
 *
 *     rc = db_begin(db, SQL_BUILD_GET, &stmt, err);
 *     db_bind_u64(stmt, 1, id);
 *     while ((rc = db_step(db, stmt, &row, err)) == ERR_OK && row)
 *         ... db_text(stmt, 0) ...
 *     db_end(stmt);
 *
 * A connection belongs to one thread.
 */
#ifndef TAILRACE_MASTER_STORE_DB_H
#define TAILRACE_MASTER_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

enum sql {
#define SQL(name, text) SQL_##name,
#include "master/store/sql.def"
    SQL_COUNT,
};

struct db {
    sqlite3 *handle;
    sqlite3_stmt *statements[SQL_COUNT]; /* NULL until first used */
};

/* The text of a statement, for the test that explains its plan. */
const char *db_sql(enum sql sql);

/* Opens DATA/tailrace.db to write, makes it when missing, and brings its schema up to date
 * (schema.h). */
enum err_code db_open_writer(struct db *db, const char *data, struct err *err) TAILRACE_MUST_CHECK;
/* To read only. The database must exist and be of this program's version. */
enum err_code db_open_reader(struct db *db, const char *data, struct err *err) TAILRACE_MUST_CHECK;
void db_close(struct db *db); /* an unopened, zeroed one is fine */

/* Runs SQL without results. */
enum err_code db_exec(struct db *db, const char *sql, struct err *err) TAILRACE_MUST_CHECK;
/* Ends the transaction, if there is one, without a trace. */
void db_rollback(struct db *db);
/* Runs a statement of sql.def that takes nothing and gives nothing. */
enum err_code db_run(struct db *db, enum sql sql, struct err *err) TAILRACE_MUST_CHECK;

/* The prepared statement, ready to bind. */
enum err_code db_begin(struct db *db, enum sql sql, sqlite3_stmt **stmt,
                       struct err *err) TAILRACE_MUST_CHECK;
/* Next row: *row is false at the end. ERR_NOSPACE: the disk is full. ERR_PROTO: the data breaks a
 * constraint. ERR_IO: the rest. */
enum err_code db_step(struct db *db, sqlite3_stmt *stmt, bool *row,
                      struct err *err) TAILRACE_MUST_CHECK;
/* Forgets bindings and rows; strings read from the row are gone. NULL allowed. */
void db_end(sqlite3_stmt *stmt);
/* db_step for a statement without rows, then db_end. */
enum err_code db_finish(struct db *db, sqlite3_stmt *stmt, struct err *err) TAILRACE_MUST_CHECK;
/* Rows that the last statement changed. */
unsigned db_changed(struct db *db);

/* Binding. Texts must stay good until db_end(). NULL, and for db_bind_nonzero 0, is stored as NULL.
 */
void db_bind_u64(sqlite3_stmt *stmt, int index, uint64_t value);
void db_bind_i64(sqlite3_stmt *stmt, int index, int64_t value);
void db_bind_nonzero(sqlite3_stmt *stmt, int index, int64_t value);
void db_bind_double(sqlite3_stmt *stmt, int index, double value);
void db_bind_text(sqlite3_stmt *stmt, int index, const char *value);
void db_bind_view(sqlite3_stmt *stmt, int index, struct view value);

/* Columns. NULL reads as 0. Texts are borrowed until the next step; they are cast because the
 * model's records hold char *. */
uint64_t db_u64(sqlite3_stmt *stmt, int column);
int64_t db_i64(sqlite3_stmt *stmt, int column);
uint32_t db_u32(sqlite3_stmt *stmt, int column);
char *db_text(sqlite3_stmt *stmt, int column);

#endif

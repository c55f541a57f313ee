#include "master/store/schema.h"

#include <stdio.h>

/*
 * A released step is never edited: a change of the schema is a new step at the end.
 *
 * Lists of builds go from the newest id down along one index; an index on a column holds the id
 * behind it, so (builder) serves "builder = ? and id < ? in order of id". builds_open holds the
 * unfinished builds alone and stays small; builds_result holds what did not simply succeed: what
 * people look for among the many that did.
 */
static const char *const steps[] = {
    /* 1 */
    "CREATE TABLE sets("
    " id INTEGER PRIMARY KEY, reason TEXT, project TEXT, branch TEXT, revision TEXT,"
    " created_ms INTEGER NOT NULL) STRICT;"

    "CREATE TABLE builds("
    " id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL REFERENCES sets(id),"
    " builder TEXT NOT NULL, project TEXT NOT NULL, branch TEXT NOT NULL, revision TEXT,"
    " state INTEGER NOT NULL, result INTEGER NOT NULL, attempt INTEGER NOT NULL, slave TEXT,"
    " pool TEXT NOT NULL, priority INTEGER NOT NULL, reason TEXT, author TEXT, note TEXT,"
    " queued_ms INTEGER NOT NULL, started_ms INTEGER NOT NULL, finished_ms INTEGER NOT NULL,"
    " stands_for_id INTEGER, rebuild_of_id INTEGER, master INTEGER NOT NULL DEFAULT 1) STRICT;"
    "CREATE INDEX builds_set ON builds(set_id);"
    "CREATE INDEX builds_builder ON builds(builder);"
    "CREATE INDEX builds_builder_branch ON builds(builder, branch);"
    "CREATE INDEX builds_branch ON builds(branch);"
    "CREATE INDEX builds_project ON builds(project, branch);"
    "CREATE INDEX builds_revision ON builds(revision) WHERE revision IS NOT NULL;"
    "CREATE INDEX builds_slave ON builds(slave) WHERE slave IS NOT NULL;"
    "CREATE INDEX builds_result ON builds(result) WHERE result > 1;"
    "CREATE INDEX builds_builder_result ON builds(builder, result) WHERE result > 1;"
    "CREATE INDEX builds_open ON builds(state) WHERE state < 5;"

    /* The newest build of each builder and branch. */
    "CREATE TABLE newest("
    " builder TEXT NOT NULL, branch TEXT NOT NULL, build INTEGER NOT NULL,"
    " PRIMARY KEY(builder, branch)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX newest_by_build ON newest(builder, build);"

    "CREATE TABLE waits("
    " build INTEGER NOT NULL REFERENCES builds(id), waits_for INTEGER NOT NULL,"
    " PRIMARY KEY(build, waits_for)) STRICT, WITHOUT ROWID;"

    /* last: number of the newest journal record applied. ended: the master has drawn the conclusion
       for the build. */
    "CREATE TABLE attempts("
    " build INTEGER NOT NULL REFERENCES builds(id), attempt INTEGER NOT NULL, slave TEXT,"
    " started_ms INTEGER NOT NULL, finished_ms INTEGER NOT NULL, result INTEGER NOT NULL,"
    " lost INTEGER NOT NULL, ended INTEGER NOT NULL, reason TEXT, last INTEGER NOT NULL,"
    " n_steps INTEGER NOT NULL, PRIMARY KEY(build, attempt)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE steps("
    " build INTEGER NOT NULL, attempt INTEGER NOT NULL, number INTEGER NOT NULL,"
    " name TEXT NOT NULL, kind INTEGER NOT NULL, state INTEGER NOT NULL,"
    " result INTEGER NOT NULL, exit_code INTEGER, reason TEXT, started_ms INTEGER,"
    " finished_ms INTEGER, user_s REAL NOT NULL, system_s REAL NOT NULL, max_rss_bytes INTEGER,"
    " log_bytes INTEGER, log_lines INTEGER, log_stored INTEGER,"
    " err_bytes INTEGER, err_lines INTEGER, err_stored INTEGER,"
    " PRIMARY KEY(build, attempt, number),"
    " FOREIGN KEY(build, attempt) REFERENCES attempts(build, attempt)) STRICT, WITHOUT ROWID;"

    /* number: the journal record's, times 1024, and the place in it: it orders an attempt's points.
     */
    "CREATE TABLE points("
    " build INTEGER NOT NULL, attempt INTEGER NOT NULL, number INTEGER NOT NULL,"
    " step INTEGER NOT NULL, suite TEXT NOT NULL, test TEXT NOT NULL, metric TEXT NOT NULL,"
    " unit TEXT NOT NULL, better INTEGER NOT NULL, iteration INTEGER NOT NULL,"
    " value REAL, PRIMARY KEY(build, attempt, number),"
    " FOREIGN KEY(build, attempt) REFERENCES attempts(build, attempt)) STRICT, WITHOUT ROWID;"

    /* files: the names, each with a NUL behind it. */
    "CREATE TABLE changes("
    " id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL REFERENCES sets(id),"
    " project TEXT NOT NULL, branch TEXT NOT NULL, revision TEXT NOT NULL, author TEXT,"
    " comment TEXT, at_ms INTEGER NOT NULL, files BLOB) STRICT;"
    "CREATE INDEX changes_set ON changes(set_id);"
    "CREATE INDEX changes_line ON changes(project, branch);"
    "CREATE INDEX changes_project ON changes(project);"
    "CREATE INDEX changes_branch ON changes(branch);"

    "CREATE TABLE keys("
    " key TEXT PRIMARY KEY, set_id INTEGER NOT NULL, build INTEGER NOT NULL,"
    " change_id INTEGER NOT NULL, created_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE INDEX keys_created ON keys(created_ms);"

    "CREATE TABLE heads("
    " project TEXT NOT NULL, branch TEXT NOT NULL, revision TEXT NOT NULL,"
    " PRIMARY KEY(project, branch)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE slaves("
    " name TEXT PRIMARY KEY, draining INTEGER NOT NULL, reason TEXT, version TEXT,"
    " platform TEXT, last_seen_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;"

    "CREATE TABLE pools("
    " name TEXT PRIMARY KEY, paused INTEGER NOT NULL) STRICT, WITHOUT ROWID;",

    /* 2: a build whose end was asked for, and which has not ended yet */
    "ALTER TABLE builds ADD COLUMN cancel TEXT;",

    /* 3: what the newest change of the branch said, beside what the poller saw last ('': it never
       looked) */
    "ALTER TABLE heads ADD COLUMN told TEXT;",
};

int schema_version(void)
{
    return (int)(sizeof steps / sizeof steps[0]);
}

static enum err_code read_version(struct db *db, int *version, struct err *err)
{
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(db, SQL_VERSION, &stmt, err);

    if (rc)
        return rc;
    rc = db_step(db, stmt, &row, err);
    if (rc == ERR_OK)
        *version = (int)db_i64(stmt, 0);
    db_end(stmt);
    return rc;
}

static enum err_code take_step(struct db *db, int version, struct err *err)
{
    char bump[64];
    enum err_code rc;

    (void)snprintf(bump, sizeof bump, "PRAGMA user_version = %d", version + 1);
    rc = db_exec(db, "BEGIN IMMEDIATE", err);
    if (rc)
        return rc;
    rc = db_exec(db, steps[version], err);
    if (rc == ERR_OK)
        rc = db_exec(db, bump, err);
    if (rc == ERR_OK)
        rc = db_exec(db, "COMMIT", err);
    if (rc) {
        db_rollback(db);
        err_prefix(err, "bring the database from version %d to %d", version, version + 1);
    }
    return rc;
}

static enum err_code refuse_newer(int version, struct err *err)
{
    return err_set(
        err, ERR_CONFIG,
        "the database is of version %d, made by a newer master; this one knows versions up to %d",
        version, schema_version());
}

enum err_code schema_migrate(struct db *db, struct err *err)
{
    int version = 0;
    enum err_code rc = read_version(db, &version, err);

    if (rc)
        return rc;
    if (version > schema_version() || version < 0)
        return refuse_newer(version, err);
    for (; version < schema_version(); version++) {
        rc = take_step(db, version, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code schema_check(struct db *db, struct err *err)
{
    int version = 0;
    enum err_code rc = read_version(db, &version, err);

    if (rc)
        return rc;
    if (version > schema_version())
        return refuse_newer(version, err);
    if (version != schema_version())
        return err_set(err, ERR_CONFIG,
                       "the database is of version %d; version %d is wanted: start the master once",
                       version, schema_version());
    return ERR_OK;
}

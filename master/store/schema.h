/*
 * schema: the tables, as a list of steps from an empty database to the newest version. The
 * database's user_version says how many steps it has taken.
 */
#ifndef TAILRACE_MASTER_STORE_SCHEMA_H
#define TAILRACE_MASTER_STORE_SCHEMA_H

#include "master/store/db.h"

/* What this program reads and writes. */
int schema_version(void);
/* Takes the steps that are missing, each in a transaction of its own. ERR_CONFIG: the database is
 * newer than this program. */
enum err_code schema_migrate(struct db *db, struct err *err) TAILRACE_MUST_CHECK;
/* ERR_CONFIG unless the database is exactly of this version. */
enum err_code schema_check(struct db *db, struct err *err) TAILRACE_MUST_CHECK;

#endif

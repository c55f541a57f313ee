/*
 * rows: the nouns as rows, one .c file for each noun: writing a record to its row, and reading a
 * row into a record. What is written lies in the transaction that the caller has open. Strings of a
 * record that was read are borrowed from the statement until its next step; whoever keeps them
 * copies.
 *
 * Errors are those of db_step(): ERR_NOSPACE and ERR_IO say that the batch cannot be written now,
 * ERR_PROTO that this row never can.
 */
#ifndef TAILRACE_MASTER_STORE_ROWS_H
#define TAILRACE_MASTER_STORE_ROWS_H

#include "master/model.h"
#include "master/store/db.h"

/* sets.c */
enum err_code set_insert(struct db *db, const struct set_info *set,
                         struct err *err) TAILRACE_MUST_CHECK;
void set_row(sqlite3_stmt *stmt, struct set_info *out);

/* keys.c: idempotency keys, kept for KEYS_KEPT_MS. */
struct key_info {
    uint64_t set_id, build, change;
};
static const int64_t KEYS_KEPT_MS = 7LL * 24 * 60 * 60 * 1000;
/* Forgets what is too old first. *found tells whether the key is known. */
enum err_code key_find(struct db *db, const char *key, int64_t now_ms, bool *found,
                       struct key_info *out, struct err *err) TAILRACE_MUST_CHECK;
enum err_code key_insert(struct db *db, const char *key, int64_t now_ms,
                         const struct key_info *info, struct err *err) TAILRACE_MUST_CHECK;

/* builds.c */
enum err_code build_insert(struct db *db, const struct build_info *build,
                           struct err *err) TAILRACE_MUST_CHECK;
/* Writes what may change in a build's life. A revision that is known stays when build->revision is
 * NULL. */
enum err_code build_update(struct db *db, const struct build_info *build,
                           struct err *err) TAILRACE_MUST_CHECK;
/* A checkout found the exact revision: kept when none was known. */
enum err_code build_found_revision(struct db *db, uint64_t id, struct view revision,
                                   struct err *err) TAILRACE_MUST_CHECK;
enum err_code build_wait_insert(struct db *db, uint64_t build, uint64_t waits_for,
                                struct err *err) TAILRACE_MUST_CHECK;
void build_row(sqlite3_stmt *stmt, struct build_info *out);

/* attempts.c. ended: STORE_ATTEMPT_END was applied. */
enum err_code attempt_insert(struct db *db, const struct attempt_info *attempt,
                             struct err *err) TAILRACE_MUST_CHECK;
enum err_code attempt_update(struct db *db, const struct attempt_info *attempt, bool ended,
                             struct err *err) TAILRACE_MUST_CHECK;
void attempt_row(sqlite3_stmt *stmt, struct attempt_info *out, bool *ended);

/* steps.c */
enum err_code step_insert(struct db *db, uint64_t build, uint32_t attempt,
                          const struct step_info *step, struct err *err) TAILRACE_MUST_CHECK;
enum err_code step_update(struct db *db, uint64_t build, uint32_t attempt,
                          const struct step_info *step, struct err *err) TAILRACE_MUST_CHECK;
void step_row(sqlite3_stmt *stmt, struct step_info *out);

/* points.c */
enum err_code points_insert(struct db *db, uint64_t build, uint32_t attempt, uint64_t number,
                            const struct msg_points *points, struct err *err) TAILRACE_MUST_CHECK;

/* changes.c. The files of a change that was read are owned by it: release with text_list_release().
 */
enum err_code change_insert(struct db *db, const struct change_info *change,
                            struct err *err) TAILRACE_MUST_CHECK;
/* The newest change of a branch, if it is of this revision. */
enum err_code change_find_head(struct db *db, const struct change_info *like, uint64_t *id,
                               uint64_t *set_id, struct err *err) TAILRACE_MUST_CHECK;
void change_row(sqlite3_stmt *stmt, struct change_info *out);

/* heads.c, slaves.c, pools.c. revision NULL: the branch is gone. */
enum err_code head_set(struct db *db, const char *project, const char *branch, const char *revision,
                       struct err *err) TAILRACE_MUST_CHECK;
/* A change says where its branch is now; and whether the newest one has said the same. Kept apart
 * from what the poller saw, so that a change told by hand does not make the poller forget what it
 * knows. */
enum err_code head_tell(struct db *db, const struct change_info *change,
                        struct err *err) TAILRACE_MUST_CHECK;
enum err_code head_was_told(struct db *db, const struct change_info *change, bool *told,
                            struct err *err) TAILRACE_MUST_CHECK;
enum err_code slave_set(struct db *db, const struct slave_info *slave, bool draining,
                        struct err *err) TAILRACE_MUST_CHECK;
enum err_code pool_set(struct db *db, const char *pool, bool paused,
                       struct err *err) TAILRACE_MUST_CHECK;

#endif

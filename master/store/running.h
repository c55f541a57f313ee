/*
 * running: the attempts that records come for, as they stand after the newest record, with their
 * steps and the sizes of their logs. Records change them here; their rows are written once for each
 * batch, not once for each record. What is not here is read from the database, so after a rollback
 * it is enough to forget everything.
 */
#ifndef TAILRACE_MASTER_STORE_RUNNING_H
#define TAILRACE_MASTER_STORE_RUNNING_H

#include <stdbool.h>
#include <uthash.h>

#include "master/model.h"
#include "master/store/db.h"

struct running;

struct running_key {
    uint64_t build;
    uint64_t attempt;
};

struct running_attempt {
    struct running_key key;
    struct attempt_info info;
    struct step_info *steps; /* info.n_steps, by number from 1 */
    bool *step_dirty;        /* beside steps */
    bool ended;              /* no more records; dropped when written */
    bool dirty;              /* it, or a step, is newer than its row */
    struct running_attempt *next_dirty;
    UT_hash_handle hh;
};

struct running *running_new(void);
void running_free(struct running *running);

/* An attempt that was just inserted, copied. */
void running_add(struct running *running, const struct attempt_info *info,
                 const struct step_info *steps);
/* From memory, else from the database. ERR_NOTFOUND. */
enum err_code running_find(struct running *running, struct db *db, const struct attempt_info *key,
                           struct running_attempt **out, struct err *err) TAILRACE_MUST_CHECK;
/* It, and its step of that number (0: none), must be written. */
void running_touch(struct running *running, struct running_attempt *attempt, uint32_t step);
/* Writes what was touched, and drops what has ended; to be called at the end of each batch. */
enum err_code running_flush(struct running *running, struct db *db,
                            struct err *err) TAILRACE_MUST_CHECK;
/* The transaction was rolled back. */
void running_forget(struct running *running);

/* The same reading for who wants it once: *steps holds info->n_steps, all owned by the caller.
 * ERR_NOTFOUND. */
enum err_code running_read(struct db *db, uint64_t build, uint32_t attempt,
                           struct attempt_info *info, struct step_info **steps, bool *ended,
                           struct err *err) TAILRACE_MUST_CHECK;
void running_release_steps(struct step_info *steps, size_t n);

#endif

/*
 * store: the only writer of the database and of log files, on a thread of its own. The loop posts
 * operations; the thread drains all that is queued, applies it in one transaction, syncs the log
 * files it appended to, commits with one sync, and reports what is durable (group commit). Order is
 * the order of posting.
 *
 * When the disk is full or fails, nothing is lost and nothing is acknowledged: the thread keeps the
 * batch, tells the loop (on_health), and tries again every second until it succeeds.
 */
#ifndef TAILRACE_MASTER_STORE_H
#define TAILRACE_MASTER_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/io/mailbox.h"
#include "master/model.h"

struct store;
struct store_op;

typedef void (*store_done)(struct store_op *op, void *owner);

enum store_kind {
    STORE_CREATE,      /* a set with its builds, perhaps a change,
                          perhaps an idempotency key */
    STORE_BUILD,       /* builds' rows as they now are */
    STORE_ATTEMPT,     /* a new attempt with its steps, all waiting; and the build's row */
    STORE_RECORD,      /* one journal record of an attempt; applied only as number last + 1 */
    STORE_ATTEMPT_END, /* how an attempt ended, and builds' rows as they now are; its steps that
                          wait or run end with it */
    STORE_HEAD,        /* the poller saw where a branch stands, or that it is gone */
    STORE_SLAVE,       /* a slave's wish to drain, last seen, platform */
    STORE_POOL,        /* paused or not */
    STORE_BARRIER,     /* nothing: done when all before it is durable */
};

struct store_op {
    struct mail mail; /* the store's */
    bool refused; /* the store's: it can never be applied; the rest of its batch is without it */
    enum store_kind kind;
    store_done done; /* called on the loop once durable (or refused); NULL for nobody. The op is
                        freed after it */
    void *owner;
    uint64_t tag; /* the owner's */
    /* Result: ERR_OK; ERR_EXISTS for STORE_CREATE: the idempotency key is known (for 7 days), or
     * the change is the newest of its branch already (existing_* say what is there; nothing was
     * made). ERR_PROTO: a record that does not follow the last one or cannot be read, or an
     * operation that breaks the database's rules (both are our bug or a peer's): nothing of it was
     * applied. ERR_NOTFOUND for STORE_ATTEMPT_END: no such attempt; its build's row was written. */
    enum err_code rc;
    uint64_t existing_build, existing_change, existing_set;

    struct set_info set;
    struct change_info change; /* CREATE: id 0 for none */
    struct build_info
        *builds; /* CREATE: new ones; BUILD, ATTEMPT, ATTEMPT_END: rows to write, any number */
    size_t n_builds;
    uint64_t (*waits)[2]; /* CREATE: pairs (build, the build it waits for) */
    size_t n_waits;
    char *idempotency_key;       /* CREATE: NULL for none */
    struct attempt_info attempt; /* ATTEMPT, ATTEMPT_END, RECORD (build_id, attempt) */
    struct step_info *steps;     /* ATTEMPT */
    size_t n_steps;
    uint64_t number; /* RECORD */
    char *body;      /* RECORD: the encoded record, owned */
    size_t body_bytes;
    size_t wire_bytes; /* RECORD: the owner's, for the credit of the connection it came on */
    char *project, *branch, *revision; /* HEAD; revision NULL: gone */
    struct slave_info slave;           /* SLAVE */
    bool flag;                         /* SLAVE: draining; POOL: paused */
    char *pool;                        /* POOL */
};

/* A zeroed op of that kind; the caller fills it and posts it (then it is the store's). */
struct store_op *store_op_new(enum store_kind kind, store_done done, void *owner);
void store_op_free(struct store_op *op); /* with all it owns */

struct store_ops {
    /* On the loop. NULL: all is well again. */
    void (*on_health)(void *owner, const char *error);
    /* On the loop, after the done callbacks of one batch. */
    void (*on_batch)(void *owner);
};

/* Opens (makes, migrates) DATA/tailrace.db and DATA/logs; takes the lock DATA/lock: ERR_EXISTS with
 * a clear sentence when another master holds it. A log file longer than the database knows (a crash
 * between append and commit) is cut back when it is next appended to. No thread yet. */
enum err_code store_open(const char *data, struct store **out, struct err *err) TAILRACE_MUST_CHECK;

/* What the loop needs to carry on, read before the thread starts. An attempt whose last record is
 * durable and whose end the loop did not come to store ends its build here, so that it does not run
 * twice. */
struct store_snapshot {
    uint64_t last_set, last_build, last_change;
    struct build_info *builds; /* unfinished ones, by id */
    size_t n_builds;
    struct attempt_info *attempts;    /* the running attempt of each running or detached build */
    struct step_info **attempt_steps; /* its steps (n_steps each), beside attempts */
    size_t n_attempts;
    uint64_t (*waits)[2];            /* (a waiting build, a build it waits for) */
    enum build_result *wait_results; /* beside waits: what the latter ended with; RESULT_NONE while
                                        it has not ended */
    size_t n_waits;
    struct {
        char *project, *branch, *revision;
    } * heads;
    size_t n_heads;
    char **drained_slaves;
    size_t n_drained;
    char **paused_pools;
    size_t n_paused;
};

enum err_code store_load(struct store *store, struct store_snapshot *out,
                         struct err *err) TAILRACE_MUST_CHECK;
void store_snapshot_release(struct store_snapshot *snapshot);

/* Starts the thread. Callbacks come through a mailbox on loop. */
enum err_code store_start(struct store *store, struct loop *loop, const struct store_ops *ops,
                          void *owner, struct err *err) TAILRACE_MUST_CHECK;
/* From the loop thread; takes over op. After store_stop() it is dropped: it was not acknowledged.
 */
void store_post(struct store *store, struct store_op *op);
/* Operations posted and not yet durable. */
size_t store_backlog(const struct store *store);
/* From the loop: finishes what is queued (gives up after wait_ms when the disk does not take it:
 * those were never acknowledged, and their done is not called), ends the thread, delivers what is
 * done, closes the mailbox. on_closed is called from the loop. */
void store_stop(struct store *store, uint64_t wait_ms, void (*on_closed)(void *owner));
/* After on_closed, or when never started. */
void store_free(struct store *store);

#endif

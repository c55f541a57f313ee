/*
 * apply: what an operation does to the database and to the logs, inside the transaction that the
 * store's thread has open.
 */
#ifndef TAILRACE_MASTER_STORE_APPLY_H
#define TAILRACE_MASTER_STORE_APPLY_H

#include "master/logs.h"
#include "master/store.h"
#include "master/store/running.h"
#include "proto/codec.h"

/* What applying works on; nothing here is owned. */
struct applier {
    struct db *db;
    struct running *running;
    struct log_writer *logs;
    struct msg_arena *arena;
};

/* ERR_OK: done, or refused without a trace; op->rc says which. ERR_PROTO: refused, perhaps half
 * done: the caller rolls back and applies the rest of the batch without it. Anything else: the
 * batch cannot be written now. */
enum err_code apply_op(struct applier *applier, struct store_op *op,
                       struct err *err) TAILRACE_MUST_CHECK;

/* records.c: STORE_RECORD; as apply_op. */
enum err_code apply_record(struct applier *applier, struct store_op *op,
                           struct err *err) TAILRACE_MUST_CHECK;

#endif

/*
 * store_impl: what the store's own files know of it: store.c (the loop's side), writer.c (the
 * thread), load.c (the start).
 */
#ifndef TAILRACE_MASTER_STORE_STORE_IMPL_H
#define TAILRACE_MASTER_STORE_STORE_IMPL_H

#include "master/store.h"
#include "master/store/apply.h"

struct store {
    char *data;
    int lock_fd;
    struct db db;
    struct applier applier; /* the thread's, from store_start() on */

    struct mail_queue queue; /* operations, to the thread */
    struct mailbox mailbox;  /* batches and health, to the loop */
    uv_thread_t thread;
    bool started, stopping; /* the loop's */
    size_t backlog;         /* the loop's */
    const struct store_ops *ops;
    void *owner;
    void (*on_closed)(void *owner);

    /* How the loop tells a thread that waits for the disk to give up. */
    uv_mutex_t retry_mutex;
    uv_cond_t retry_wake;
    bool retry_ends;
    uint64_t retry_until_ms;
};

/* The thread's body; arg is the store. */
void writer_run(void *arg);

#endif

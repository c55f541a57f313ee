/*
 * The store's thread: takes all that is queued, applies it in one transaction, syncs the logs,
 * commits, and sends the whole batch back to the loop in one mail.
 */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/store/store_impl.h"

static const uint64_t RETRY_MS = 1000;

struct batch {
    struct mail mail;
    struct store_op *first; /* the list goes on by mail.next */
};

struct health {
    struct mail mail;
    char *error;
};

static struct store_op *op_next(const struct store_op *op)
{
    return (struct store_op *)op->mail.next;
}

/* On the loop. */
static void deliver_batch(struct mail *mail, void *receiver)
{
    struct batch *batch = (struct batch *)mail;
    struct store *store = receiver;
    struct store_op *op = batch->first, *next;

    for (; op; op = next) {
        next = op_next(op);
        store->backlog--;
        if (op->done)
            op->done(op, op->owner);
        store_op_free(op);
    }
    free(batch);
    if (store->ops->on_batch)
        store->ops->on_batch(store->owner);
}

static void deliver_health(struct mail *mail, void *receiver)
{
    struct health *health = (struct health *)mail;
    struct store *store = receiver;

    if (store->ops->on_health)
        store->ops->on_health(store->owner, health->error);
    free(health->error);
    free(health);
}

static void on_mailbox_closed(void *receiver)
{
    struct store *store = receiver;

    if (store->on_closed)
        store->on_closed(store->owner);
}

/* The thread's last word. */
static void deliver_end(struct mail *mail, void *receiver)
{
    struct store *store = receiver;

    free(mail);
    (void)uv_thread_join(&store->thread);
    mailbox_close(&store->mailbox, on_mailbox_closed);
}

static void send_health(struct store *store, const char *error)
{
    struct health *health = xcalloc(1, sizeof *health);

    health->mail.deliver = deliver_health;
    health->error = error ? xstrdup(error) : NULL;
    mailbox_post(&store->mailbox, &health->mail);
}

static void send_batch(struct store *store, struct store_op *first)
{
    struct batch *batch = xcalloc(1, sizeof *batch);

    batch->mail.deliver = deliver_batch;
    batch->first = first;
    mailbox_post(&store->mailbox, &batch->mail);
}

static void send_end(struct store *store)
{
    struct mail *mail = xcalloc(1, sizeof *mail);

    mail->deliver = deliver_end;
    mailbox_post(&store->mailbox, mail);
}

static void roll_back(struct store *store)
{
    db_rollback(&store->db);
    running_forget(store->applier.running);
    log_writer_rollback(store->applier.logs);
}

static void refuse(struct store_op *op, const struct err *err)
{
    op->refused = true;
    op->rc = ERR_PROTO;
    log_error("store.refused", LOG_INT("kind", op->kind), LOG_ERR(err));
}

/* ERR_PROTO: an operation was found that can never be applied, and marked; the transaction must be
 * begun anew. */
static enum err_code apply_all(struct store *store, struct store_op *first, struct err *err)
{
    enum err_code rc = ERR_OK;

    for (struct store_op *op = first; op && rc == ERR_OK; op = op_next(op)) {
        if (op->refused)
            continue;
        op->rc = ERR_OK;
        rc = apply_op(&store->applier, op, err);
        if (rc == ERR_PROTO)
            refuse(op, err);
    }
    return rc;
}

/* Log bytes are on the disk before the commit that counts them. */
static enum err_code commit(struct store *store, struct err *err)
{
    enum err_code rc = running_flush(store->applier.running, &store->db, err);

    if (rc == ERR_OK)
        rc = log_writer_sync(store->applier.logs, err);
    if (rc == ERR_OK)
        rc = db_run(&store->db, SQL_COMMIT, err);
    return rc == ERR_PROTO ? ERR_IO : rc;
}

static enum err_code write_batch(struct store *store, struct store_op *first, struct err *err)
{
    enum err_code rc;

    do {
        rc = db_run(&store->db, SQL_BEGIN, err);
        if (rc == ERR_OK)
            rc = apply_all(store, first, err);
        if (rc == ERR_OK)
            rc = commit(store, err);
        if (rc)
            roll_back(store);
    } while (rc == ERR_PROTO);
    return rc;
}

/* False when it is time to give up. */
static bool wait_to_retry(struct store *store)
{
    uint64_t now_ms, wait_ms = RETRY_MS;
    bool go_on = true;

    uv_mutex_lock(&store->retry_mutex);
    now_ms = clock_mono_ms(clock_system());
    if (store->retry_ends && store->retry_until_ms < now_ms + wait_ms)
        wait_ms = store->retry_until_ms > now_ms ? store->retry_until_ms - now_ms : 0;
    if (wait_ms > 0)
        (void)uv_cond_timedwait(&store->retry_wake, &store->retry_mutex, wait_ms * 1000000);
    else
        go_on = false;
    uv_mutex_unlock(&store->retry_mutex);
    return go_on;
}

/* Returns once the batch is durable; false: given up. */
static bool write_until_durable(struct store *store, struct store_op *first)
{
    struct err err = ERR_INIT;
    bool healthy = true;

    while (write_batch(store, first, &err) != ERR_OK) {
        if (healthy) {
            log_error("store.stuck", LOG_ERR(&err));
            send_health(store, err.msg);
        }
        healthy = false;
        if (!wait_to_retry(store)) {
            log_error("store.gave_up", LOG_ERR(&err));
            return false;
        }
    }
    if (!healthy) {
        log_info("store.recovered");
        send_health(store, NULL);
    }
    return true;
}

static void drop_all(struct store_op *first)
{
    struct store_op *next;

    for (struct store_op *op = first; op; op = next) {
        next = op_next(op);
        store_op_free(op);
    }
}

void writer_run(void *arg)
{
    struct store *store = arg;
    struct store_op *first;

    while ((first = (struct store_op *)mail_queue_take(&store->queue)) != NULL) {
        if (write_until_durable(store, first)) {
            send_batch(store, first);
            continue;
        }
        drop_all(first);
        drop_all((struct store_op *)mail_queue_poll(&store->queue));
        break;
    }
    send_end(store);
}

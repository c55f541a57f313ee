#include "master/store.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "master/store/store_impl.h"

struct store_op *store_op_new(enum store_kind kind, store_done done, void *owner)
{
    struct store_op *op = xcalloc(1, sizeof *op);

    op->kind = kind;
    op->done = done;
    op->owner = owner;
    return op;
}

void store_op_free(struct store_op *op)
{
    if (!op)
        return;
    set_info_release(&op->set);
    change_info_release(&op->change);
    for (size_t i = 0; i < op->n_builds; i++)
        build_info_release(&op->builds[i]);
    free(op->builds);
    free(op->waits);
    free(op->idempotency_key);
    attempt_info_release(&op->attempt);
    running_release_steps(op->steps, op->n_steps);
    free(op->body);
    free(op->project);
    free(op->branch);
    free(op->revision);
    slave_info_release(&op->slave);
    free(op->pool);
    free(op);
}

static enum err_code make_folders(const char *data, struct err *err)
{
    char *logs = fs_join(data, "logs");
    enum err_code rc = fs_mkdirs(logs, err);

    free(logs);
    return rc;
}

static enum err_code take_lock(struct store *store, struct err *err)
{
    char *path = fs_join(store->data, "lock");
    enum err_code rc = fs_lock(path, &store->lock_fd, err);

    if (rc == ERR_EXISTS)
        (void)err_set(err, ERR_EXISTS, "another master is running on %s (it holds %s)", store->data,
                      path);
    free(path);
    return rc;
}

enum err_code store_open(const char *data, struct store **out, struct err *err)
{
    struct store *store = xcalloc(1, sizeof *store);
    enum err_code rc;

    store->data = xstrdup(data);
    store->lock_fd = -1;
    mail_queue_init(&store->queue);
    if (uv_mutex_init(&store->retry_mutex) || uv_cond_init(&store->retry_wake))
        abort();
    rc = make_folders(data, err);
    if (rc == ERR_OK)
        rc = take_lock(store, err);
    if (rc == ERR_OK)
        rc = db_open_writer(&store->db, data, err);
    if (rc) {
        store_free(store);
        return rc;
    }
    store->applier = (struct applier){
        .db = &store->db,
        .running = running_new(),
        .logs = log_writer_new(data),
        .arena = msg_arena_new(),
    };
    *out = store;
    return ERR_OK;
}

enum err_code store_start(struct store *store, struct loop *loop, const struct store_ops *ops,
                          void *owner, struct err *err)
{
    int failed;

    assert(!store->started);
    store->ops = ops;
    store->owner = owner;
    mailbox_open(&store->mailbox, loop, store);
    failed = uv_thread_create(&store->thread, writer_run, store);
    if (failed) {
        mailbox_close(&store->mailbox, NULL);
        return err_set(err, ERR_IO, "start the store's thread: %s", uv_strerror(failed));
    }
    store->started = true;
    return ERR_OK;
}

void store_post(struct store *store, struct store_op *op)
{
    if (store->stopping) {
        store_op_free(op);
        return;
    }
    store->backlog++;
    (void)mail_queue_post(&store->queue, &op->mail);
}

size_t store_backlog(const struct store *store)
{
    return store->backlog;
}

void store_stop(struct store *store, uint64_t wait_ms, void (*on_closed)(void *owner))
{
    assert(store->started && !store->stopping);
    store->stopping = true;
    store->on_closed = on_closed;
    uv_mutex_lock(&store->retry_mutex);
    store->retry_ends = true;
    store->retry_until_ms = clock_mono_ms(clock_system()) + wait_ms;
    uv_cond_signal(&store->retry_wake);
    uv_mutex_unlock(&store->retry_mutex);
    mail_queue_close(&store->queue);
}

void store_free(struct store *store)
{
    if (!store)
        return;
    running_free(store->applier.running);
    log_writer_free(store->applier.logs);
    msg_arena_free(store->applier.arena);
    db_close(&store->db);
    if (store->lock_fd >= 0)
        (void)close(store->lock_fd);
    mail_queue_release(&store->queue);
    uv_cond_destroy(&store->retry_wake);
    uv_mutex_destroy(&store->retry_mutex);
    free(store->data);
    free(store);
}

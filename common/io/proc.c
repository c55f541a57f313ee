#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/proc_impl.h"
#include "common/io/proc_spawn.h"

/* ---- The end of a proc and of the table ---- */

static void table_settle(struct proc_table *table)
{
    if (table->gone && !table->procs)
        free(table);
}

static void proc_unwatch(struct proc *proc)
{
    if (proc->watched && --proc->table->n_watched == 0)
        uv_unref((uv_handle_t *)&proc->table->child_signal);
    proc->watched = false;
}

void proc_settle(struct proc *proc)
{
    struct proc_table *table = proc->table;

    if (!proc->reaped || proc->open_handles > 0)
        return;
    timer_stop(&proc->drain);
    proc_unwatch(proc);
    DL_DELETE(table->procs, proc);
    if (proc->ops)
        proc->ops->on_finished(proc->owner, &proc->exit);
    free(proc);
    table_settle(table);
}

/* ---- Reaping ---- */

static void proc_reaped(struct proc *proc, int status, const struct rusage *used)
{
    struct proc_exit *end = &proc->exit;

    proc->reaped = true;
    end->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->wall_s = (double)(clock_measure_ns() - proc->started_ns) / 1e9;
    end->user_s = (double)used->ru_utime.tv_sec + (double)used->ru_utime.tv_usec / 1e6;
    end->system_s = (double)used->ru_stime.tv_sec + (double)used->ru_stime.tv_usec / 1e6;
    end->max_rss_bytes = (uint64_t)used->ru_maxrss * 1024;
    if (proc->open_handles > 0)
        timer_start(&proc->drain, proc->drain_ms, 0);
    if (proc->ops && proc->ops->on_exit)
        proc->ops->on_exit(proc->owner, end);
    proc_settle(proc);
}

static void table_on_child(uv_signal_t *handle, int signal)
{
    struct proc_table *table = handle->data;
    struct rusage used;
    int status;
    pid_t pid;

    (void)signal;
    while (!uv_is_closing((uv_handle_t *)handle) &&
           (pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
        struct proc *proc;

        DL_SEARCH_SCALAR(table->procs, proc, pid, pid);
        if (proc)
            proc_reaped(proc, status, &used);
        else if (table->on_orphan)
            table->on_orphan(table->owner, pid);
    }
}

static void table_on_handle_closed(uv_handle_t *handle)
{
    struct proc_table *table = handle->data;

    table->gone = true;
    table_settle(table);
}

static enum err_code table_get(struct loop *loop, struct proc_table **out, struct err *err)
{
    struct proc_table *table = loop->procs;
    int rc;

    if (!table) {
        table = xcalloc(1, sizeof *table);
        rc = uv_signal_init(&loop->uv, &table->child_signal);
        if (rc) {
            free(table);
            return err_set_sys(err, -rc, "watch for ended processes");
        }
        table->loop = loop;
        table->child_signal.data = table;
        rc = uv_signal_start(&table->child_signal, table_on_child, SIGCHLD);
        if (rc) {
            uv_close((uv_handle_t *)&table->child_signal, table_on_handle_closed);
            return err_set_sys(err, -rc, "watch for ended processes");
        }
        uv_unref((uv_handle_t *)&table->child_signal);
        loop->procs = table;
    }
    *out = table;
    return ERR_OK;
}

/* ---- Starting ---- */

static enum err_code proc_launch(struct proc *proc, const struct proc_spec *spec, struct err *err)
{
    int out = -1, error_out = -1;
    enum err_code rc;

    rc = proc_add_channel(proc, &out, err);
    if (!rc && spec->separate_stderr)
        rc = proc_add_channel(proc, &error_out, err);
    if (!rc)
        rc = proc_spawn(spec, out, spec->separate_stderr ? error_out : out, &proc->pid, err);
    if (out >= 0)
        (void)close(out);
    if (error_out >= 0)
        (void)close(error_out);
    return rc;
}

/* Closes what there is, and frees from the loop (or at once when there is nothing). */
static void proc_abandon(struct proc *proc)
{
    int i;

    proc->ops = NULL;
    proc->reaped = true;
    for (i = 0; i < proc->n_channels; i++)
        channel_close(&proc->channels[i]);
    proc_settle(proc);
}

enum err_code proc_start(struct loop *loop, const struct proc_spec *spec,
                         const struct proc_ops *ops, void *owner, struct proc **out,
                         struct err *err)
{
    struct proc_table *table;
    enum err_code rc;
    struct proc *proc;
    int i;

    rc = table_get(loop, &table, err);
    if (rc)
        return rc;
    proc = xcalloc(1, sizeof *proc);
    proc->table = table;
    proc->drain_ms = spec->drain_ms;
    proc->paused = spec->start_paused;
    proc->started_ns = clock_measure_ns();
    timer_init(&proc->drain, loop, proc_on_drain, proc);
    DL_APPEND(table->procs, proc);
    rc = proc_launch(proc, spec, err);
    if (rc) {
        proc_abandon(proc);
        return rc;
    }
    proc->ops = ops;
    proc->owner = owner;
    proc->watched = true;
    if (table->n_watched++ == 0)
        uv_ref((uv_handle_t *)&table->child_signal);
    for (i = 0; i < proc->n_channels; i++)
        channel_poll(&proc->channels[i], !proc->paused);
    *out = proc;
    return ERR_OK;
}

/* ---- What the owner may ask ---- */

pid_t proc_pid(const struct proc *proc)
{
    return proc->pid;
}

void proc_pause_output(struct proc *proc)
{
    int i;

    proc->paused = true;
    for (i = 0; i < proc->n_channels; i++)
        channel_poll(&proc->channels[i], false);
}

void proc_resume_output(struct proc *proc)
{
    int i;

    proc->paused = false;
    for (i = 0; i < proc->n_channels; i++)
        channel_poll(&proc->channels[i], true);
    if (proc->drain_over && proc->open_handles > 0)
        timer_start(&proc->drain, 0, 0);
}

size_t proc_waiting_bytes(const struct proc *proc)
{
    size_t most = 0;
    int i;

    for (i = 0; i < proc->n_channels; i++) {
        size_t n = channel_waiting(&proc->channels[i]);

        if (n > most)
            most = n;
    }
    return most;
}

size_t proc_pipe_bytes(const struct proc *proc)
{
    int n = proc->channels[0].open ? fcntl(proc->channels[0].fd, F_GETPIPE_SZ) : 0;

    return n > 0 ? (size_t)n : 0;
}

void proc_set_drain(struct proc *proc, uint64_t drain_ms)
{
    proc->drain_ms = drain_ms;
    if (proc->reaped && proc->open_handles > 0 && !proc->drain_over)
        timer_start(&proc->drain, drain_ms, 0);
}

void proc_signal(struct proc *proc, int signal)
{
    if (!proc->reaped)
        (void)kill(-proc->pid, signal);
}

/* The output is still read, and dropped: the child should not die of a closed pipe while this
 * program lives. */
void proc_detach(struct proc *proc)
{
    int i;

    proc->ops = NULL;
    proc_unwatch(proc);
    proc_resume_output(proc);
    for (i = 0; i < proc->n_channels; i++)
        if (proc->channels[i].open)
            uv_unref((uv_handle_t *)&proc->channels[i].poll);
}

bool proc_is_child(const struct loop *loop, pid_t pid)
{
    const struct proc *proc = NULL;

    if (loop->procs)
        DL_SEARCH_SCALAR(loop->procs->procs, proc, pid, pid);
    return proc != NULL;
}

void proc_on_orphan(struct loop *loop, void (*fn)(void *owner, pid_t pid), void *owner)
{
    struct proc_table *table;
    struct err err = ERR_INIT;

    if (table_get(loop, &table, &err)) {
        log_error("proc.no_watch", LOG_ERR(&err));
        abort();
    }
    table->on_orphan = fn;
    table->owner = owner;
}

void proc_table_close(struct loop *loop)
{
    struct proc_table *table = loop->procs;
    struct proc *proc, *next;

    if (!table)
        return;
    loop->procs = NULL;
    uv_close((uv_handle_t *)&table->child_signal, table_on_handle_closed);
    DL_FOREACH_SAFE (table->procs, proc, next) {
        proc->watched = false;
        proc_abandon(proc);
    }
}

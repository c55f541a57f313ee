#include "slave/child.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/timer.h"
#include "slave/pscan.h"

/* Longer than any grace: we say ourselves when the pipe is closed, once nothing of the step is
 * left. */
static const uint64_t drain_until_told_ms = UINT32_MAX;

enum child_state { CHILD_RUNNING, CHILD_DRAINING, CHILD_ENDING };

struct child {
    struct loop *loop;
    struct sandbox *sandbox;
    const struct child_ops *ops;
    void *owner;
    enum child_state state;
    struct proc *proc; /* NULL once its output is at its end */
    pid_t pid;
    uint64_t grace_ms;
    struct timer timer; /* RUNNING and silent: the next look; DRAINING: its end */
    bool exited, sandbox_done;
    bool held;    /* by our owner */
    bool silent;  /* do not read */
    bool reading; /* what the proc was told last */
    size_t waiting_bytes;
    struct child_end end;
};

static void child_on_timer(struct timer *timer, void *owner);

static void child_apply(struct child *c)
{
    bool read = !c->held && !c->silent;

    if (!c->proc || read == c->reading)
        return;
    c->reading = read;
    if (read)
        proc_resume_output(c->proc);
    else
        proc_pause_output(c->proc);
}

/* The last word, when both the sandbox and the pipe are empty. */
static void child_check_end(struct child *c)
{
    const struct child_ops *ops = c->ops;
    void *owner = c->owner;
    struct child_end end = c->end;

    if (c->proc || !c->sandbox_done)
        return;
    timer_stop(&c->timer);
    free(c);
    ops->on_ended(owner, &end);
}

static void child_on_sandbox_done(void *owner, unsigned found, unsigned killed)
{
    struct child *c = owner;
    struct pscan_process process;

    c->sandbox_done = true;
    c->end.left = found;
    c->end.killed = killed;
    if (c->proc && !c->exited && pscan_get((int)c->pid, &process)) {
        log_error("child.stuck", LOG_ID("pid", c->pid));
        c->end.stuck = true;
        proc_detach(c->proc);
        c->proc = NULL;
    }
    if (c->proc) /* whoever else holds the pipe is none of ours */
        proc_set_drain(c->proc, 0);
    child_check_end(c);
}

static void child_enter_ending(struct child *c, uint64_t grace_ms)
{
    c->state = CHILD_ENDING;
    timer_stop(&c->timer);
    sandbox_end(c->sandbox, grace_ms, child_on_sandbox_done, c);
}

static void child_on_output(void *owner, enum proc_channel channel, struct view bytes)
{
    struct child *c = owner;

    c->ops->on_output(c->owner, channel, bytes);
    if (c->state == CHILD_RUNNING && timer_is_running(&c->timer) &&
        proc_waiting_bytes(c->proc) == 0) {
        c->silent = true; /* emptied: silence again */
        c->waiting_bytes = 0;
        child_apply(c);
    }
}

static void child_on_exit(void *owner, const struct proc_exit *exit)
{
    struct child *c = owner;

    c->exited = true;
    c->end.exit = *exit;
    c->silent = false;
    child_apply(c);
    if (c->state != CHILD_RUNNING)
        return;
    c->state = CHILD_DRAINING;
    timer_start(&c->timer, CHILD_DRAIN_MS, 0);
}

static void child_on_finished(void *owner, const struct proc_exit *exit)
{
    struct child *c = owner;

    c->end.exit = *exit;
    c->exited = true;
    c->proc = NULL;
    if (c->state == CHILD_ENDING)
        child_check_end(c);
    else
        child_enter_ending(c, c->grace_ms);
}

static void child_look(struct child *c)
{
    size_t waiting = proc_waiting_bytes(c->proc);

    if (waiting != c->waiting_bytes)
        c->ops->on_sign_of_life(c->owner);
    c->waiting_bytes = waiting;
    if (c->silent && waiting > proc_pipe_bytes(c->proc) / 2) {
        c->silent = false;
        child_apply(c);
    }
}

static void child_on_timer(struct timer *timer, void *owner)
{
    struct child *c = owner;

    (void)timer;
    if (c->state == CHILD_RUNNING)
        child_look(c);
    else if (c->state == CHILD_DRAINING)
        child_enter_ending(c, c->grace_ms);
}

static const struct proc_ops proc_callbacks = {
    .on_output = child_on_output,
    .on_exit = child_on_exit,
    .on_finished = child_on_finished,
};

enum err_code child_start(struct loop *loop, struct sandbox *sandbox, const struct child_spec *spec,
                          const struct child_ops *ops, void *owner, struct child **out,
                          struct err *err)
{
    struct proc_spec proc = {
        .argv = spec->argv,
        .env = spec->env,
        .dir = spec->dir,
        .cgroup_procs = sandbox_cgroup_procs(sandbox),
        .separate_stderr = spec->separate_stderr,
        .start_paused = spec->silent,
        .drain_ms = drain_until_told_ms,
    };
    struct child *c = xcalloc(1, sizeof *c);
    enum err_code rc;

    c->loop = loop;
    c->sandbox = sandbox;
    c->ops = ops;
    c->owner = owner;
    c->grace_ms = spec->grace_ms;
    c->silent = spec->silent;
    c->reading = !spec->silent;
    timer_init(&c->timer, loop, child_on_timer, c);
    rc = proc_start(loop, &proc, &proc_callbacks, c, &c->proc, err);
    if (rc) {
        free(c);
        return rc;
    }
    c->pid = proc_pid(c->proc);
    sandbox_adopt(sandbox, (int)c->pid);
    if (c->silent)
        timer_start(&c->timer, CHILD_SILENT_LOOK_MS, CHILD_SILENT_LOOK_MS);
    *out = c;
    return ERR_OK;
}

void child_hold(struct child *c, bool hold)
{
    c->held = hold;
    child_apply(c);
}

void child_stop(struct child *c, uint64_t grace_ms)
{
    c->silent = false;
    child_apply(c);
    if (!c->sandbox_done)
        child_enter_ending(c, grace_ms);
}

bool child_is_running(const struct child *c)
{
    return c->state == CHILD_RUNNING;
}

#include "slave/steps/step.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "common/io/work.h"
#include "slave/blocks.h"
#include "slave/child.h"
#include "slave/steps/launch.h"
#include "slave/steps/limits.h"

enum step_state {
    STEP_IDLE,     /* between two things */
    STEP_STARTING, /* a command could not be started, which will be told from the loop */
    STEP_RUNNING,  /* a command */
    STEP_REMOVING, /* a tree */
    STEP_WAITING,
    STEP_FINISHING, /* the rest of the log is on its way */
    STEP_DONE,
};

enum { STREAMS = 2 };

struct step {
    const struct step_context *context;
    const struct msg_step *spec;
    const struct step_kind_ops *kind;
    void *kind_state;
    uint32_t number;
    void (*on_done)(void *owner);
    void *owner;

    enum step_state state;
    struct sandbox *sandbox;
    struct child *child;
    struct timer timer; /* STARTING, WAITING */
    struct limits limits;
    struct blocks *log[STREAMS]; /* the second only with separate_stderr */
    struct step_command_end command_end;
    bool capture;
    struct str captured;
    bool ending; /* step_end() was called: what it said is the outcome */
    struct step_outcome outcome;
};

static const struct step_kind_ops *const kinds[STEP_KIND_LAST + 1] = {
    [STEP_CHECKOUT] = &step_kind_checkout,
    [STEP_BUILD] = &step_kind_command,
    [STEP_TEST] = &step_kind_command,
    [STEP_BENCHMARK] = &step_kind_benchmark,
};

static void step_check_finished(struct step *step);

/* The log. */

static void step_hold(struct step *step, bool hold)
{
    if (step->child)
        child_hold(step->child, hold);
    if (step->state < STEP_FINISHING && !step->ending)
        limits_hold(&step->limits, hold);
}

static bool step_on_block(void *owner, const struct msg *block)
{
    struct step *step = owner;
    bool taken = recorder_block(step->context->recorder, block);

    if (!taken)
        step_hold(step, true);
    return taken;
}

void step_line(struct step *step, const char *text)
{
    blocks_note(step->log[0], text); /* when it is refused, step_on_block() holds back */
}

void step_note(struct step *step, const char *fmt, ...)
{
    char text[1024] = "tailrace: ";
    size_t n = strlen(text);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text + n, sizeof text - n, fmt, args);
    va_end(args);
    blocks_note(step->log[0], text);
}

void step_cut_log(struct step *step)
{
    unsigned i;

    for (i = 0; i < STREAMS && step->log[i]; i++)
        blocks_cut(step->log[i]);
}

static bool step_retry_log(struct step *step)
{
    bool clear = true;
    unsigned i;

    for (i = 0; i < STREAMS && step->log[i]; i++)
        if (!blocks_retry(step->log[i]))
            clear = false;
    return clear;
}

void step_resume(struct step *step)
{
    if (step->state == STEP_FINISHING)
        step_check_finished(step);
    else if (step->state != STEP_DONE && step_retry_log(step))
        step_hold(step, false);
}

/* The way to the end. */

static void step_check_finished(struct step *step)
{
    unsigned i;
    bool clear = true;

    for (i = 0; i < STREAMS && step->log[i]; i++)
        if (!blocks_finish(step->log[i]))
            clear = false;
    if (!clear)
        return;
    step->state = STEP_DONE;
    step->on_done(step->owner);
}

static void step_enter_finishing(struct step *step)
{
    assert(step->state == STEP_IDLE);
    limits_stop(&step->limits);
    step->state = STEP_FINISHING;
    step_check_finished(step);
}

void step_finish(struct step *step, enum build_result result, int64_t exit_code, const char *fmt,
                 ...)
{
    va_list args;

    step->outcome.result = result;
    step->outcome.exit_code = exit_code;
    va_start(args, fmt);
    (void)vsnprintf(step->outcome.reason, sizeof step->outcome.reason, fmt, args);
    va_end(args);
    step_enter_finishing(step);
}

static uint64_t grace_of(const struct step *step)
{
    return step->spec->grace_ms ? step->spec->grace_ms : STEP_GRACE_MS;
}

static void step_on_timer(struct timer *timer, void *owner);

void step_end(struct step *step, enum build_result result, const char *reason)
{
    if (step->ending || step->state >= STEP_FINISHING)
        return;
    step->ending = true;
    step->outcome.result = result;
    step->outcome.exit_code = -1;
    (void)snprintf(step->outcome.reason, sizeof step->outcome.reason, "%s", reason);
    step_note(step, "%s", reason);
    limits_stop(&step->limits);
    if (step->state == STEP_RUNNING)
        child_stop(step->child, grace_of(step));
    else if (step->state != STEP_REMOVING) /* that cannot be stopped */
        timer_start(&step->timer, 0, 0);
}

/* Something is over: the kind decides what comes next, unless the step is being ended. */
static bool step_goes_on(struct step *step)
{
    step->state = STEP_IDLE;
    if (!step->ending)
        return true;
    step_enter_finishing(step);
    return false;
}

static bool step_on_limit(void *owner, const char *text)
{
    struct step *step = owner;

    if (step->child && !child_is_running(step->child))
        return false; /* it has ended by itself, what it left is being ended */
    step_end(step, RESULT_FAILURE, text);
    return true;
}

/* Commands. */

static void capture(struct step *step, struct view bytes)
{
    struct str *s = &step->captured;

    if (bytes.n > STEP_CAPTURE_MAX) {
        bytes.p += bytes.n - STEP_CAPTURE_MAX;
        bytes.n = STEP_CAPTURE_MAX;
    }
    if (s->n + bytes.n > STEP_CAPTURE_MAX)
        str_consume(s, s->n + bytes.n - STEP_CAPTURE_MAX);
    str_put_view(s, bytes);
}

struct view step_captured(const struct step *step)
{
    return str_view(&step->captured);
}

static void step_on_output(void *owner, enum proc_channel channel, struct view bytes)
{
    struct step *step = owner;
    struct blocks *log = step->log[channel == PROC_ERR && step->log[1] ? 1 : 0];

    limits_sign(&step->limits);
    if (step->capture)
        capture(step, bytes);
    (void)blocks_add(log, bytes);
}

static void step_on_sign_of_life(void *owner)
{
    struct step *step = owner;

    limits_sign(&step->limits);
}

static void note_ended(struct step *step, const struct child_end *end)
{
    if (end->stuck)
        step_note(step, "the command could not be ended, it hangs in the kernel");
    if (!step->ending && end->left > 0)
        step_note(step, "%u %s still running after the command's end: ended, %u had to be killed",
                  end->left, end->left == 1 ? "process was" : "processes were", end->killed);
    else if (end->killed > 0)
        step_note(step, "%u %s had to be killed", end->killed,
                  end->killed == 1 ? "process" : "processes");
}

static void step_on_ended(void *owner, const struct child_end *end)
{
    struct step *step = owner;
    struct step_outcome *outcome = &step->outcome;

    step->child = NULL;
    note_ended(step, end);
    outcome->user_s += end->exit.user_s;
    outcome->system_s += end->exit.system_s;
    if (end->exit.max_rss_bytes > outcome->max_rss_bytes)
        outcome->max_rss_bytes = end->exit.max_rss_bytes;
    outcome->killed += step->ending ? end->killed : end->left;
    if (!step_goes_on(step))
        return;
    if (end->stuck) {
        step_finish(step, RESULT_EXCEPTION, -1, "the command could not be ended");
        return;
    }
    step->command_end = (struct step_command_end){.started = true, .exit = end->exit};
    step->kind->on_command(step, &step->command_end);
}

static const struct child_ops child_callbacks = {
    .on_output = step_on_output,
    .on_sign_of_life = step_on_sign_of_life,
    .on_ended = step_on_ended,
};

void step_run(struct step *step, const struct step_command *command)
{
    struct step_command_end *end = &step->command_end;
    struct launch launch = {
        .context = step->context,
        .spec = step->spec,
        .sandbox = step->sandbox,
        .ops = &child_callbacks,
        .owner = step,
        .grace_ms = grace_of(step),
    };

    assert(step->state == STEP_IDLE);
    step->capture = command->capture;
    str_clear(&step->captured);
    *end = (struct step_command_end){.started = false};
    limits_sign(&step->limits);
    if (launch_command(&launch, command, &step->child, &end->err) == ERR_OK) {
        step->state = STEP_RUNNING;
        child_hold(step->child, step->limits.held);
        return;
    }
    step_note(step, "%s", end->err.msg);
    step->state = STEP_STARTING;
    timer_start(&step->timer, 0, 0);
}

/* Waiting, and trees. */

void step_wait(struct step *step, uint64_t ms)
{
    assert(step->state == STEP_IDLE);
    step->state = STEP_WAITING;
    timer_start(&step->timer, ms, 0);
}

static void step_on_timer(struct timer *timer, void *owner)
{
    struct step *step = owner;
    enum step_state was = step->state;

    (void)timer;
    if (!step_goes_on(step))
        return;
    if (was == STEP_STARTING)
        step->kind->on_command(step, &step->command_end);
    else
        step->kind->on_waited(step);
}

struct removal {
    struct step *step;
    char *path;
    struct err err;
};

static void removal_run(void *arg)
{
    struct removal *removal = arg;

    if (fs_remove_tree(removal->path, &removal->err) == ERR_OK)
        err_clear(&removal->err);
}

static void removal_done(void *arg)
{
    struct removal *removal = arg;
    struct step *step = removal->step;
    struct err err = removal->err;

    free(removal->path);
    free(removal);
    if (step_goes_on(step))
        step->kind->on_removed(step, &err);
}

void step_remove_tree(struct step *step, const char *path)
{
    struct removal *removal = xcalloc(1, sizeof *removal);

    assert(step->state == STEP_IDLE);
    step->state = STEP_REMOVING;
    removal->step = step;
    removal->path = xstrdup(path);
    work_start(step->context->loop, removal_run, removal_done, removal);
}

/* Records. */

void step_put_revision(struct step *step, struct view revision)
{
    struct msg msg = {.type = REC_REVISION, .u.revision = {.revision = revision}};

    recorder_put(step->context->recorder, &msg);
    envlist_set_view(step->context->env, view_of("TAILRACE_REVISION"), revision);
}

void step_put_points(struct step *step, const struct msg_point *points, size_t n)
{
    struct msg msg = {.type = REC_POINTS,
                      .u.points = {.step = step->number, .points = {.v = points, .n = n}}};

    recorder_put(step->context->recorder, &msg);
}

/* Life. */

const struct step_context *step_context_of(const struct step *step)
{
    return step->context;
}

const struct msg_step *step_spec(const struct step *step)
{
    return step->spec;
}

void *step_state(const struct step *step)
{
    return step->kind_state;
}

void step_set_state(struct step *step, void *state)
{
    step->kind_state = state;
}

const struct step_outcome *step_outcome_of(const struct step *step)
{
    return &step->outcome;
}

struct step *step_start(const struct step_context *context, uint32_t number,
                        void (*on_done)(void *owner), void *owner)
{
    struct step *step = xcalloc(1, sizeof *step);
    unsigned i;

    step->context = context;
    step->spec = &context->job->steps.v[number - 1];
    step->kind = kinds[step->spec->kind];
    step->number = number;
    step->on_done = on_done;
    step->owner = owner;
    step->captured.max = STEP_CAPTURE_MAX;
    timer_init(&step->timer, context->loop, step_on_timer, step);
    step->sandbox = sandbox_new(context->loop, context->cgroup, context->mark, context->job->build,
                                context->job->attempt, number);
    for (i = 0; i < (step->spec->separate_stderr ? STREAMS : 1); i++)
        step->log[i] =
            blocks_new(context->loop, number, i, step->spec->log_limit, step_on_block, step);
    step->limits.on_limit = step_on_limit;
    step->limits.owner = step;
    limits_start(&step->limits, context->loop, step->kind->limit, step->spec->timeout_ms,
                 step->spec->idle_timeout_ms);
    step->kind->begin(step);
    return step;
}

void step_free(struct step *step)
{
    unsigned i;

    if (!step)
        return;
    assert(step->state == STEP_DONE);
    if (step->kind->release)
        step->kind->release(step);
    timer_stop(&step->timer);
    limits_stop(&step->limits);
    sandbox_free(step->sandbox);
    for (i = 0; i < STREAMS; i++)
        blocks_free(step->log[i]);
    str_release(&step->captured);
    free(step);
}

#include "slave/runner.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/timer.h"
#include "slave/recorder.h"
#include "slave/steps/step.h"
#include "slave/workspace.h"

enum { REASON_MAX = STEP_REASON_MAX };

/*
 * STARTING -> STEPS -> CLEANING -> CLOSING -> gone
 *
 * One thing is under way at a time; when it is over, a timer of no delay makes the runner look at
 * what comes next, from the loop. Nothing comes next while a record still waits for the disk.
 */
enum runner_state {
    RUNNER_STARTING, /* the work folder */
    RUNNER_STEPS,    /* one after another, skipped ones too */
    RUNNER_CLEANING, /* the work folder is given back */
    RUNNER_CLOSING,  /* the last record */
};

struct runner {
    const struct runner_host *host;
    struct job *job;
    const struct msg_start *spec;
    const struct runner_ops *ops;
    void *owner;

    enum runner_state state;
    struct timer next;
    char *dir; /* the slave's folder, absolute */
    struct recorder *recorder;
    struct workspace *workspace;
    struct envlist env;
    struct step_context context;
    struct step *step; /* running, or done and not yet accounted for */
    bool step_done;
    uint32_t number; /* of the step that is next or under way */

    bool stopped;   /* a step has failed: only `always` steps still run */
    bool cancelled; /* no step runs any more */
    bool forgotten;
    enum build_result result;
    char reason[REASON_MAX];
};

static void runner_look_soon(struct runner *runner)
{
    timer_start(&runner->next, 0, 0);
}

/* Results by weight; what is not listed weighs nothing. */
static int weight(enum build_result result)
{
    static const int weights[RESULT_LAST + 1] = {
        [RESULT_SUCCESS] = 1,   [RESULT_WARNINGS] = 2,  [RESULT_FAILURE] = 3,
        [RESULT_EXCEPTION] = 4, [RESULT_CANCELLED] = 5,
    };

    return weights[result];
}

/* The build's result is the worst that happened, its reason the first of that kind. */
static void runner_judge(struct runner *runner, enum build_result result, const char *fmt, ...)
    TAILRACE_PRINTF(3, 4);

static void runner_judge(struct runner *runner, enum build_result result, const char *fmt, ...)
{
    va_list args;

    if (weight(result) <= weight(runner->result))
        return;
    runner->result = result;
    va_start(args, fmt);
    (void)vsnprintf(runner->reason, sizeof runner->reason, fmt, args);
    va_end(args);
}

/* Environment. */

static void set_view(struct envlist *env, const char *name, struct view value)
{
    envlist_set_view(env, view_of(name), value);
}

static void runner_fill_env(struct runner *runner)
{
    const struct msg_start *spec = runner->spec;
    struct envlist *env = &runner->env;
    char build[24];
    size_t i;

    (void)snprintf(build, sizeof build, "%" PRIu64, spec->build);
    envlist_base(env);
    envlist_set(env, "TMPDIR", workspace_tmp(runner->workspace));
    envlist_set(env, "TAILRACE", "1");
    envlist_set(env, "CI", "true");
    envlist_set(env, "TAILRACE_BUILD", build);
    set_view(env, "TAILRACE_BUILDER", spec->builder);
    set_view(env, "TAILRACE_BRANCH", spec->branch);
    set_view(env, "TAILRACE_REVISION", spec->revision);
    set_view(env, "TAILRACE_PROJECT", spec->project);
    envlist_set(env, "TAILRACE_SLAVE", runner->host->name);
    set_view(env, "TAILRACE_URL", spec->url);
    /* Set for every command, so that a script may ask for them under `set -u`. */
    envlist_set(env, "TAILRACE_TRY", "");
    envlist_set(env, "TAILRACE_UNITS", "");
    envlist_set(env, "TAILRACE_ITERATION", "");
    for (i = 0; i < spec->env.n; i++)
        envlist_set_view(env, spec->env.v[i].name, spec->env.v[i].value);
}

/* Records. */

static void put_attempt_started(struct runner *runner)
{
    struct msg msg = {.type = REC_ATTEMPT_STARTED,
                      .u.attempt_started = {.time_ms = loop_wall_ms(runner->host->loop)}};

    recorder_put(runner->recorder, &msg);
}

static void put_step_started(struct runner *runner)
{
    struct msg msg = {
        .type = REC_STEP_STARTED,
        .u.step_started = {.step = runner->number, .time_ms = loop_wall_ms(runner->host->loop)}};

    recorder_put(runner->recorder, &msg);
}

static void put_step_finished(struct runner *runner, const struct step_outcome *outcome)
{
    struct msg msg = {.type = REC_STEP_FINISHED};

    msg.u.step_finished = (struct msg_step_finished){
        .step = runner->number,
        .result = (uint32_t)outcome->result,
        .exit_code = outcome->exit_code,
        .reason = view_of(outcome->reason),
        .time_ms = loop_wall_ms(runner->host->loop),
        .user_s = outcome->user_s,
        .system_s = outcome->system_s,
        .max_rss_bytes = outcome->max_rss_bytes,
        .killed = outcome->killed,
    };
    recorder_put(runner->recorder, &msg);
}

static void put_attempt_finished(struct runner *runner)
{
    struct msg msg = {.type = REC_ATTEMPT_FINISHED};

    msg.u.attempt_finished = (struct msg_attempt_finished){
        .result = (uint32_t)runner->result,
        .reason = view_of(runner->reason),
        .time_ms = loop_wall_ms(runner->host->loop),
    };
    recorder_put(runner->recorder, &msg);
}

/* Steps. */

static void runner_on_step_done(void *owner)
{
    struct runner *runner = owner;

    runner->step_done = true;
    runner_look_soon(runner);
}

static void judge_step(struct runner *runner, const struct msg_step *spec,
                       const struct step_outcome *outcome)
{
    enum build_result result = outcome->result;

    if (result == RESULT_FAILURE && spec->on_failure == ON_FAILURE_WARN)
        result = RESULT_WARNINGS;
    else if (result == RESULT_FAILURE && spec->on_failure == ON_FAILURE_STOP)
        runner->stopped = true;
    else if (result == RESULT_EXCEPTION)
        runner->stopped = true; /* on_failure is about what the command did */
    runner_judge(runner, result, "%.*s%s%s", VIEW_ARG(spec->name),
                 spec->name.n > 0 && outcome->reason[0] ? ": " : "", outcome->reason);
}

static void end_step(struct runner *runner)
{
    const struct step_outcome *outcome = step_outcome_of(runner->step);

    put_step_finished(runner, outcome);
    judge_step(runner, &runner->spec->steps.v[runner->number - 1], outcome);
    step_free(runner->step);
    runner->step = NULL;
    runner->step_done = false;
    runner->number++;
}

static void skip_step(struct runner *runner)
{
    struct step_outcome skipped = {.result = RESULT_SKIPPED, .exit_code = -1};

    put_step_finished(runner, &skipped);
    runner->number++;
}

static bool is_to_run(const struct runner *runner)
{
    const struct msg_step *spec = &runner->spec->steps.v[runner->number - 1];

    return !runner->cancelled && runner->workspace && (!runner->stopped || spec->always);
}

static void begin_step(struct runner *runner)
{
    put_step_started(runner);
    runner->step = step_start(&runner->context, runner->number, runner_on_step_done, runner);
}

static void runner_on_cleaned(void *owner)
{
    struct runner *runner = owner;

    runner->workspace = NULL;
    runner->state = RUNNER_CLOSING;
    put_attempt_finished(runner);
    runner_look_soon(runner);
}

static void enter_cleaning(struct runner *runner)
{
    runner->state = RUNNER_CLEANING;
    if (runner->workspace)
        workspace_release(runner->workspace, runner_on_cleaned, runner);
    else
        runner_on_cleaned(runner);
}

/* The next step, if nothing of the last is left to do. */
static void look_at_steps(struct runner *runner)
{
    if (runner->step && !runner->step_done)
        return;
    if (runner->step)
        end_step(runner);
    while (recorder_is_clear(runner->recorder) && runner->number <= runner->spec->steps.n) {
        if (is_to_run(runner)) {
            begin_step(runner);
            return;
        }
        skip_step(runner);
    }
    if (recorder_is_clear(runner->recorder))
        enter_cleaning(runner);
}

/* The whole. */

static void start(struct runner *runner)
{
    struct err err = ERR_INIT;

    runner->state = RUNNER_STEPS;
    if (runner->cancelled)
        return; /* all steps are skipped */
    if (workspace_claim(runner->host->loop, runner->dir, runner->spec->builder, runner->spec->build,
                        runner->spec->attempt, &runner->workspace, &err)) {
        log_error("runner.no_workspace", LOG_ID("build", runner->spec->build), LOG_ERR(&err));
        runner_judge(runner, RESULT_EXCEPTION, "%s", err.msg);
        return;
    }
    runner_fill_env(runner);
    runner->context = (struct step_context){
        .loop = runner->host->loop,
        .dir = runner->dir,
        .mark = runner->host->mark,
        .cgroup = runner->host->cgroup,
        .job = runner->spec,
        .env = &runner->env,
        .workspace = runner->workspace,
        .recorder = runner->recorder,
    };
}

static void runner_free(struct runner *runner)
{
    timer_stop(&runner->next);
    recorder_free(runner->recorder);
    envlist_release(&runner->env);
    job_free(runner->job);
    free(runner->dir);
    free(runner);
}

static void close_runner(struct runner *runner)
{
    const struct runner_ops *ops = runner->ops;
    void *owner = runner->owner;

    runner_free(runner);
    ops->on_finished(owner);
}

static void runner_on_next(struct timer *timer, void *owner)
{
    struct runner *runner = owner;

    (void)timer;
    if (!recorder_is_clear(runner->recorder))
        return; /* on_room looks again */
    if (runner->state == RUNNER_STARTING)
        start(runner);
    if (runner->state == RUNNER_STEPS)
        look_at_steps(runner);
    else if (runner->state == RUNNER_CLOSING)
        close_runner(runner);
}

static void runner_on_room(void *owner)
{
    struct runner *runner = owner;

    if (runner->step && !runner->step_done)
        step_resume(runner->step);
    runner_look_soon(runner);
}

static void runner_on_disk_full(void *owner, const char *why)
{
    struct runner *runner = owner;
    char reason[REASON_MAX];

    (void)snprintf(reason, sizeof reason, "the slave's disk is full: %s", why);
    runner->stopped = true;
    runner_judge(runner, RESULT_EXCEPTION, "%s", reason);
    if (runner->step)
        step_end(runner->step, RESULT_EXCEPTION, reason);
}

static const struct recorder_ops recorder_callbacks = {
    .on_room = runner_on_room,
    .on_disk_full = runner_on_disk_full,
};

struct runner *runner_start(const struct runner_host *host, struct job *job,
                            struct journal *journal, const struct runner_ops *ops, void *owner)
{
    struct runner *runner = xcalloc(1, sizeof *runner);

    runner->host = host;
    runner->job = job;
    runner->spec = job_spec(job);
    runner->ops = ops;
    runner->owner = owner;
    runner->number = 1;
    runner->result = RESULT_SUCCESS;
    runner->dir = realpath(host->dir, NULL);
    if (!runner->dir) /* the work folder will say what is wrong with it */
        runner->dir = xstrdup(host->dir);
    timer_init(&runner->next, host->loop, runner_on_next, runner);
    runner->recorder = recorder_new(host->loop, journal, &recorder_callbacks, runner);
    put_attempt_started(runner);
    runner_look_soon(runner);
    return runner;
}

void runner_cancel(struct runner *runner, const char *reason)
{
    if (runner->cancelled || runner->state > RUNNER_STEPS)
        return;
    runner->cancelled = true;
    runner_judge(runner, RESULT_CANCELLED, "%s", reason);
    if (runner->step)
        step_end(runner->step, RESULT_CANCELLED, reason[0] ? reason : "cancelled");
}

void runner_forget(struct runner *runner)
{
    if (runner->forgotten)
        return;
    runner->forgotten = true;
    recorder_mute(runner->recorder);
    runner_cancel(runner, "forgotten by the master");
    runner_look_soon(runner);
}

void runner_resume(struct runner *runner)
{
    recorder_retry(runner->recorder);
}

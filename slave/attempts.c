#include "slave/attempts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/timer.h"

enum attempt_state {
    ATTEMPT_WAITING,
    ATTEMPT_RUNNING,
    ATTEMPT_FORGOTTEN,
    ATTEMPT_INTERRUPTED,
    ATTEMPT_ENDING,
    ATTEMPT_ENDED,
    ATTEMPT_STATES,
};

static const char *const state_names[] = {"waiting",     "running", "forgotten",
                                          "interrupted", "ending",  "ended"};

static const bool allowed[ATTEMPT_STATES][ATTEMPT_STATES] = {
    [ATTEMPT_WAITING] = {[ATTEMPT_RUNNING] = true, [ATTEMPT_ENDING] = true},
    [ATTEMPT_RUNNING] =
        {[ATTEMPT_FORGOTTEN] = true, [ATTEMPT_INTERRUPTED] = true, [ATTEMPT_ENDED] = true},
    [ATTEMPT_INTERRUPTED] =
        {[ATTEMPT_FORGOTTEN] = true, [ATTEMPT_ENDING] = true, [ATTEMPT_ENDED] = true},
    [ATTEMPT_ENDING] = {[ATTEMPT_ENDED] = true},
};

struct attempt {
    struct attempt *prev, *next;
    struct attempts *attempts;
    struct journal *journal;
    enum attempt_state state;
    struct job *job;       /* WAITING; FORGOTTEN: another build's, which begins once this is gone */
    struct runner *runner; /* RUNNING, FORGOTTEN, INTERRUPTED */
    /* INTERRUPTED, ENDING: what the end is to say. */
    enum build_result result;
    bool interrupted; /* not the build's fault: it may run again */
    char reason[ERR_MSG_MAX];
};

struct attempts {
    const struct runner_host *host;
    struct spool *spool;
    uint32_t slots;
    void (*on_change)(void *owner);
    void *owner;
    struct attempt *list; /* oldest first */
    bool stopping;        /* attempts_interrupt_all() was called */
    struct timer retry;   /* runs while an ENDING attempt's end could not be written */
};

static void attempt_enter(struct attempt *attempt, enum attempt_state to)
{
    assert(allowed[attempt->state][to]);
    log_debug("attempt.state", LOG_ID("build", journal_build(attempt->journal)),
              LOG_ID("attempt", journal_attempt(attempt->journal)),
              LOG_STR("from", state_names[attempt->state]), LOG_STR("to", state_names[to]));
    attempt->state = to;
}

static struct attempt *attempt_add(struct attempts *attempts, struct journal *journal,
                                   enum attempt_state state)
{
    struct attempt *attempt = xcalloc(1, sizeof *attempt);

    attempt->attempts = attempts;
    attempt->journal = journal;
    attempt->state = state;
    DL_APPEND(attempts->list, attempt);
    return attempt;
}

static void attempt_free(struct attempt *attempt)
{
    DL_DELETE(attempt->attempts->list, attempt);
    job_free(attempt->job);
    free(attempt);
}

static void attempt_drop(struct attempt *attempt)
{
    journal_drop(attempt->journal);
    attempt_free(attempt);
}

static struct attempt *attempt_find(const struct attempts *attempts, uint64_t build,
                                    uint32_t number)
{
    struct attempt *attempt;

    DL_FOREACH (attempts->list, attempt)
        if (journal_build(attempt->journal) == build && journal_attempt(attempt->journal) == number)
            return attempt;
    return NULL;
}

/* Finishes a step that the fold says is running. */
static enum err_code end_step(struct attempt *attempt, uint32_t step, int64_t wall_ms,
                              struct err *err)
{
    struct msg msg = {.type = REC_STEP_FINISHED,
                      .u.step_finished = {.step = step,
                                          .result = (uint32_t)attempt->result,
                                          .exit_code = -1,
                                          .reason = view_of(attempt->reason),
                                          .time_ms = wall_ms}};

    return journal_append(attempt->journal, &msg, err);
}

/* Writes what is missing for an end, whatever is there already. */
static enum err_code write_end(struct attempt *attempt, struct err *err)
{
    const struct fold *fold = journal_fold(attempt->journal);
    int64_t wall_ms = loop_wall_ms(attempt->attempts->host->loop);
    struct msg started = {.type = REC_ATTEMPT_STARTED, .u.attempt_started = {wall_ms}};
    struct msg finished = {.type = REC_ATTEMPT_FINISHED,
                           .u.attempt_finished = {.result = (uint32_t)attempt->result,
                                                  .reason = view_of(attempt->reason),
                                                  .time_ms = wall_ms,
                                                  .interrupted = attempt->interrupted}};
    enum err_code rc = ERR_OK;
    uint32_t i;

    if (!fold->started)
        rc = journal_append(attempt->journal, &started, err);
    for (i = 0; !rc && i < fold->n_steps; i++)
        if (fold->steps[i].state == FOLD_STEP_RUNNING)
            rc = end_step(attempt, i + 1, wall_ms, err);
    return rc ? rc : journal_append(attempt->journal, &finished, err);
}

/* True when the end is in the journal. Else it is tried again later: the disk may be full. */
static bool attempt_try_end(struct attempt *attempt)
{
    struct attempts *attempts = attempt->attempts;
    struct err err = ERR_INIT;

    if (write_end(attempt, &err) == ERR_OK) {
        attempt_enter(attempt, ATTEMPT_ENDED);
        return true;
    }
    log_error("attempt.end_not_written", LOG_ID("build", journal_build(attempt->journal)),
              LOG_ID("attempt", journal_attempt(attempt->journal)), LOG_ERR(&err),
              LOG_MS("retry", ATTEMPTS_RETRY_MS));
    if (!timer_is_running(&attempts->retry))
        timer_start(&attempts->retry, ATTEMPTS_RETRY_MS, 0);
    return false;
}

static void set_end(struct attempt *attempt, enum build_result result, bool interrupted,
                    const char *reason)
{
    attempt->result = result;
    attempt->interrupted = interrupted;
    (void)snprintf(attempt->reason, sizeof attempt->reason, "%s", reason);
}

static void attempt_end(struct attempt *attempt)
{
    log_warn("attempt.not_run", LOG_ID("build", journal_build(attempt->journal)),
             LOG_ID("attempt", journal_attempt(attempt->journal)),
             LOG_STR("reason", attempt->reason));
    (void)attempt_try_end(attempt);
}

static void retry_ends(struct timer *timer, void *owner)
{
    struct attempts *attempts = owner;
    struct attempt *attempt;
    bool ended = false;

    (void)timer;
    DL_FOREACH (attempts->list, attempt)
        if (attempt->state == ATTEMPT_ENDING && attempt_try_end(attempt))
            ended = true;
    if (ended)
        attempts->on_change(attempts->owner);
}

static void on_runner_finished(void *owner);

static const struct runner_ops runner_callbacks = {.on_finished = on_runner_finished};

static void attempt_run(struct attempt *attempt)
{
    struct job *job = attempt->job;

    log_info("attempt.started", LOG_ID("build", journal_build(attempt->journal)),
             LOG_ID("attempt", journal_attempt(attempt->journal)),
             LOG_VIEW("builder", job_spec(job)->builder));
    attempt->job = NULL; /* the runner's from here */
    attempt_enter(attempt, ATTEMPT_RUNNING);
    attempt->runner =
        runner_start(attempt->attempts->host, job, attempt->journal, &runner_callbacks, attempt);
}

/* Attempts that have a runner, dying ones included. */
static uint32_t count_runners(const struct attempts *attempts)
{
    struct attempt *attempt;
    uint32_t n = 0;

    DL_FOREACH (attempts->list, attempt)
        if (attempt->runner)
            n++;
    return n;
}

static void start_waiting(struct attempts *attempts)
{
    struct attempt *attempt;

    DL_FOREACH (attempts->list, attempt)
        if (attempt->state == ATTEMPT_WAITING && count_runners(attempts) < attempts->slots)
            attempt_run(attempt);
}

static void drop_forgotten(struct attempt *attempt)
{
    struct attempts *attempts = attempt->attempts;
    struct job *next = attempt->job;
    struct err err = ERR_INIT;

    attempt->job = NULL;
    attempt_drop(attempt);
    /* When it fails, the master's limit for a start ends it. */
    if (next && attempts_start(attempts, job_spec(next), &err) != ERR_OK)
        log_error("attempt.start_failed", LOG_ID("build", job_spec(next)->build), LOG_ERR(&err));
    job_free(next);
}

static void on_runner_finished(void *owner)
{
    struct attempt *attempt = owner;
    struct attempts *attempts = attempt->attempts;

    attempt->runner = NULL;
    if (attempt->state == ATTEMPT_FORGOTTEN) {
        drop_forgotten(attempt);
    } else if (attempt->state == ATTEMPT_INTERRUPTED && !journal_is_complete(attempt->journal)) {
        attempt_enter(attempt, ATTEMPT_ENDING);
        attempt_end(attempt);
    } else {
        log_info("attempt.finished", LOG_ID("build", journal_build(attempt->journal)),
                 LOG_ID("attempt", journal_attempt(attempt->journal)),
                 LOG_STR("result", result_name(journal_fold(attempt->journal)->result)));
        attempt_enter(attempt, ATTEMPT_ENDED);
    }
    start_waiting(attempts);
    attempts->on_change(attempts->owner);
}

struct attempts *attempts_new(const struct runner_host *host, struct spool *spool, uint32_t slots,
                              void (*on_change)(void *owner), void *owner)
{
    struct attempts *attempts = xcalloc(1, sizeof *attempts);

    attempts->host = host;
    attempts->spool = spool;
    attempts->slots = slots;
    attempts->on_change = on_change;
    attempts->owner = owner;
    timer_init(&attempts->retry, host->loop, retry_ends, attempts);
    return attempts;
}

void attempts_free(struct attempts *attempts)
{
    if (!attempts)
        return;
    assert(count_runners(attempts) == 0);
    timer_stop(&attempts->retry);
    while (attempts->list)
        attempt_free(attempts->list);
    free(attempts);
}

void attempts_take_up(struct attempts *attempts, const char *machine_boot)
{
    struct journal *journal;

    for (journal = spool_first(attempts->spool); journal; journal = journal_next_of(journal)) {
        bool rebooted = strcmp(journal_tag(journal), machine_boot) != 0;
        bool complete = journal_is_complete(journal);
        struct attempt *attempt =
            attempt_add(attempts, journal, complete ? ATTEMPT_ENDED : ATTEMPT_ENDING);

        if (complete)
            continue;
        set_end(attempt, RESULT_EXCEPTION, true,
                rebooted ? "interrupted: the machine was rebooted"
                         : "interrupted: the slave agent was restarted");
        attempt_end(attempt);
    }
}

/* Those that the master counts: it has not seen their end, nor told us to forget them. */
static uint32_t count_taken_slots(const struct attempts *attempts)
{
    struct attempt *attempt;
    uint32_t n = 0;

    DL_FOREACH (attempts->list, attempt)
        if (attempt->job || attempt->state == ATTEMPT_WAITING ||
            (attempt->state == ATTEMPT_RUNNING && !journal_is_complete(attempt->journal)))
            n++;
    return n;
}

/* The attempt is known: it was told twice. Or the master gives out ids again, told us to forget the
 * old one, and that is not gone yet. Takes over job, which may be NULL. */
static enum err_code start_held(struct attempts *attempts, const struct msg_start *start,
                                struct job *job)
{
    struct attempt *attempt = attempt_find(attempts, start->build, start->attempt);
    bool dying = attempt->state == ATTEMPT_FORGOTTEN;

    log_info(dying ? "attempt.waits_for_forgotten" : "attempt.held_already",
             LOG_ID("build", start->build), LOG_ID("attempt", start->attempt));
    if (dying) {
        job_free(attempt->job);
        attempt->job = job;
    } else {
        job_free(job);
    }
    return ERR_OK;
}

enum err_code attempts_start(struct attempts *attempts, const struct msg_start *start,
                             struct err *err)
{
    const struct journal_of of = {
        .build = start->build,
        .attempt = start->attempt,
        .n_steps = (uint32_t)start->steps.n,
        .asked_ms = start->asked_ms,
    };
    bool full = count_taken_slots(attempts) >= attempts->slots;
    struct err why = ERR_INIT;
    struct journal *journal;
    struct attempt *attempt;
    struct job *job = NULL;
    enum err_code rc;

    if (start->build == 0 || start->attempt == 0)
        return err_set(err, ERR_PROTO, "START without a build or attempt number");
    if (attempts->stopping)
        (void)err_set(&why, ERR_CANCELED, "interrupted: the slave agent is stopping");
    else if (job_new(start, &job, &why) == ERR_OK && full)
        (void)err_set(&why, ERR_LIMIT, "the slave has no free slot: all of %" PRIu32 " are taken",
                      attempts->slots);
    rc = journal_create(attempts->spool, &of, &journal, err);
    if (rc == ERR_EXISTS)
        return start_held(attempts, start, job);
    if (rc) {
        job_free(job);
        return rc;
    }
    attempt = attempt_add(attempts, journal, why.code ? ATTEMPT_ENDING : ATTEMPT_WAITING);
    if (why.code) {
        job_free(job);
        set_end(attempt, RESULT_EXCEPTION, attempts->stopping, why.msg);
        attempt_end(attempt);
    } else {
        attempt->job = job;
        start_waiting(attempts);
    }
    return ERR_OK;
}

static void attempt_cancel(struct attempt *attempt, const char *reason)
{
    if (attempt->state == ATTEMPT_RUNNING) {
        runner_cancel(attempt->runner, reason);
    } else if (attempt->state == ATTEMPT_WAITING) {
        attempt_enter(attempt, ATTEMPT_ENDING);
        set_end(attempt, RESULT_CANCELLED, false, reason);
        attempt_end(attempt);
    }
}

void attempts_cancel(struct attempts *attempts, uint64_t build, uint32_t number, const char *reason)
{
    struct attempt *attempt = attempt_find(attempts, build, number);

    if (attempt)
        attempt_cancel(attempt, reason);
}

void attempts_interrupt_all(struct attempts *attempts, const char *reason)
{
    struct attempt *attempt;

    attempts->stopping = true;
    DL_FOREACH (attempts->list, attempt) {
        if (attempt->state == ATTEMPT_RUNNING) {
            set_end(attempt, RESULT_EXCEPTION, true, reason);
            attempt_enter(attempt, ATTEMPT_INTERRUPTED);
            runner_forget(attempt->runner);
        } else if (attempt->state == ATTEMPT_WAITING) {
            set_end(attempt, RESULT_EXCEPTION, true, reason);
            attempt_enter(attempt, ATTEMPT_ENDING);
            attempt_end(attempt);
        }
    }
}

void attempts_forget(struct attempts *attempts, uint64_t build, uint32_t number)
{
    struct attempt *attempt = attempt_find(attempts, build, number);

    if (!attempt)
        return;
    if (attempt->state == ATTEMPT_FORGOTTEN) {
        job_free(attempt->job);
        attempt->job = NULL;
        return;
    }
    if (attempt->runner) {
        attempt_enter(attempt, ATTEMPT_FORGOTTEN);
        journal_retire(attempt->journal);
        runner_forget(attempt->runner);
        return;
    }
    attempt_drop(attempt);
    attempts->on_change(attempts->owner);
}

void attempts_resume(struct attempts *attempts)
{
    struct attempt *attempt;

    DL_FOREACH (attempts->list, attempt)
        if (attempt->state == ATTEMPT_RUNNING)
            runner_resume(attempt->runner);
}

uint32_t attempts_active(const struct attempts *attempts)
{
    struct attempt *attempt;
    uint32_t n = 0;

    DL_FOREACH (attempts->list, attempt)
        if (attempt->state == ATTEMPT_WAITING || attempt->runner)
            n++;
    return n;
}

bool attempts_unacknowledged(const struct attempts *attempts)
{
    struct attempt *attempt;

    DL_FOREACH (attempts->list, attempt)
        if (!journal_is_done(attempt->journal))
            return true;
    return false;
}

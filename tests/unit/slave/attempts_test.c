#include "slave/attempts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/vec.h"
#include "common/io/fsx.h"
#include "tests/support/fake_clock.h"

#define V(text) ((struct view){text, sizeof(text) - 1})

/* Stands for runner.c: does what the test says. */
struct runner {
    struct journal *journal;
    struct job *job;
    const struct runner_ops *ops;
    void *owner;
    char *cancelled;
    bool forgotten;
    unsigned resumed;
};

static VEC(struct runner *) runners;

static void append(struct journal *journal, const struct msg *record)
{
    struct err err = ERR_INIT;

    if (journal_append(journal, record, &err) != ERR_OK)
        fail_msg("%s", err.msg);
}

struct runner *runner_start(const struct runner_host *host, struct job *job,
                            struct journal *journal, const struct runner_ops *ops, void *owner)
{
    struct msg started = {.type = REC_ATTEMPT_STARTED, .u.attempt_started = {1}};
    struct runner *runner = xcalloc(1, sizeof *runner);

    (void)host;
    runner->journal = journal;
    runner->job = job;
    runner->ops = ops;
    runner->owner = owner;
    append(journal, &started);
    vec_push(&runners, runner);
    return runner;
}

void runner_cancel(struct runner *runner, const char *reason)
{
    free(runner->cancelled);
    runner->cancelled = xstrdup(reason);
}

void runner_forget(struct runner *runner)
{
    runner->forgotten = true;
}

void runner_resume(struct runner *runner)
{
    runner->resumed++;
}

/* The last record, while the runner still exists. */
static void runner_complete(struct runner *runner)
{
    struct msg end = {.type = REC_ATTEMPT_FINISHED,
                      .u.attempt_finished = {.result = RESULT_SUCCESS}};

    append(runner->journal, &end);
}

static void runner_end(size_t index)
{
    struct runner *runner = runners.v[index];

    runners.v[index] = NULL;
    if (!runner->forgotten && !journal_is_complete(runner->journal))
        runner_complete(runner);
    runner->ops->on_finished(runner->owner);
    job_free(runner->job);
    free(runner->cancelled);
    free(runner);
}

struct fixture {
    char dir[64];
    struct fake_clock clock;
    struct loop loop;
    struct runner_host host;
    struct spool *spool;
    struct attempts *attempts;
    unsigned changes;
};

static void on_record(void *owner, struct journal *journal)
{
    (void)owner;
    (void)journal;
}

static void on_room(void *owner)
{
    (void)owner;
}

static const struct spool_ops spool_callbacks = {.on_record = on_record, .on_room = on_room};

static void on_change(void *owner)
{
    struct fixture *f = owner;

    f->changes++;
}

static void quiet(void *arg, enum log_level level, struct view line)
{
    (void)arg;
    (void)level;
    (void)line;
}

static void begin(struct fixture *f)
{
    assert_int_equal(spool_open(f->dir, 1 << 20, &spool_callbacks, f, &f->spool, NULL), ERR_OK);
    spool_set_tag(f->spool, "boot-1");
    f->attempts = attempts_new(&f->host, f->spool, 2, on_change, f);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    log_set_sink(quiet, NULL);
    fake_clock_init(&f->clock, 1000, 1700000000000);
    assert_int_equal(loop_init(&f->loop, &f->clock.clock, NULL), ERR_OK);
    f->host.loop = &f->loop;
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/tailrace-attempts-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    begin(f);
    *state = f;
    return 0;
}

static void end(struct fixture *f)
{
    size_t i;

    for (i = 0; i < runners.n; i++)
        if (runners.v[i])
            runner_end(i);
    vec_release(&runners);
    attempts_free(f->attempts);
    spool_close(f->spool);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    end(f);
    loop_release(&f->loop);
    assert_int_equal(fs_remove_tree(f->dir, NULL), ERR_OK);
    free(f);
    return 0;
}

static void start(struct fixture *f, uint64_t build)
{
    struct msg_step steps[2] = {{.name = V("one"), .kind = STEP_BUILD, .shell = V("true")},
                                {.name = V("two"), .kind = STEP_TEST, .shell = V("true")}};
    struct msg_start message = {.build = build, .attempt = 1, .builder = V("b")};

    message.steps.v = steps;
    message.steps.n = 2;
    assert_int_equal(attempts_start(f->attempts, &message, NULL), ERR_OK);
}

static enum build_result result_of(struct fixture *f, uint64_t build)
{
    struct journal *journal = spool_find(f->spool, build, 1);

    assert_non_null(journal);
    return journal_fold(journal)->result;
}

/* Whether a record of the journal holds those words. */
static bool says(struct fixture *f, uint64_t build, const char *words)
{
    struct journal *journal = spool_find(f->spool, build, 1);
    struct journal_entry entry;
    bool found = false;

    assert_true(journal_rewind(journal, 0));
    while (journal_peek(journal, &entry, NULL) == ERR_OK) {
        if (memmem(entry.body.p, entry.body.n, words, strlen(words)))
            found = true;
        journal_sent(journal);
    }
    return found;
}

static void test_runs_and_ends(void **state)
{
    struct fixture *f = *state;

    start(f, 1);
    assert_int_equal(runners.n, 1);
    assert_int_equal(job_spec(runners.v[0]->job)->build, 1);
    assert_int_equal(attempts_active(f->attempts), 1);
    start(f, 1); /* the same again is harmless */
    assert_int_equal(runners.n, 1);
    runner_end(0);
    assert_int_equal(attempts_active(f->attempts), 0);
    assert_int_equal(f->changes, 1);
    assert_true(attempts_unacknowledged(f->attempts));
    start(f, 1);
    assert_int_equal(runners.n, 1);
    attempts_cancel(f->attempts, 1, 1, "too late");
    assert_int_equal(result_of(f, 1), RESULT_SUCCESS);
    assert_false(says(f, 1, "too late"));
    journal_ack(spool_find(f->spool, 1, 1), 2);
    assert_false(attempts_unacknowledged(f->attempts));
    attempts_forget(f->attempts, 1, 1);
    assert_null(spool_find(f->spool, 1, 1));
    attempts_forget(f->attempts, 1, 1);
    attempts_cancel(f->attempts, 1, 1, "unknown");
}

static void test_more_than_slots_is_reported(void **state)
{
    struct fixture *f = *state;

    start(f, 1);
    start(f, 2);
    start(f, 3);
    assert_int_equal(runners.n, 2);
    assert_int_equal(attempts_active(f->attempts), 2);
    assert_int_equal(result_of(f, 3), RESULT_EXCEPTION);
    assert_true(says(f, 3, "no free slot: all of 2 are taken"));
    /* The master may send the next as soon as it has the last record. */
    runner_complete(runners.v[0]);
    start(f, 4);
    assert_int_equal(runners.n, 2);
    assert_int_equal(result_of(f, 4), RESULT_NONE);
    runner_end(0);
    assert_int_equal(runners.n, 3);
    assert_int_equal(journal_build(runners.v[2]->journal), 4);
}

static void test_bad_job_is_reported(void **state)
{
    struct fixture *f = *state;
    struct msg_start message = {.build = 9, .attempt = 1, .builder = V("b")};
    struct err err = ERR_INIT;

    assert_int_equal(attempts_start(f->attempts, &message, NULL), ERR_OK);
    assert_int_equal(result_of(f, 9), RESULT_EXCEPTION);
    assert_true(says(f, 9, "the build has no steps"));
    message.attempt = 0;
    assert_int_equal(attempts_start(f->attempts, &message, &err), ERR_PROTO);
}

static void test_cancel(void **state)
{
    struct fixture *f = *state;

    start(f, 1);
    attempts_cancel(f->attempts, 1, 1, "by hand");
    attempts_cancel(f->attempts, 1, 2, "another attempt");
    assert_string_equal(runners.v[0]->cancelled, "by hand");
    assert_false(runners.v[0]->forgotten);
}

static void test_interrupt(void **state)
{
    struct fixture *f = *state;
    struct msg step = {.type = REC_STEP_STARTED, .u.step_started = {1, 1}};

    start(f, 1);
    start(f, 2);
    append(runners.v[0]->journal, &step);
    attempts_forget(f->attempts, 2, 1);
    start(f, 3);
    attempts_interrupt_all(f->attempts, "stopped now");
    assert_true(runners.v[0]->forgotten);
    assert_int_equal(result_of(f, 3), RESULT_EXCEPTION);
    assert_true(says(f, 3, "stopped now"));
    assert_int_equal(result_of(f, 1), RESULT_NONE);
    assert_int_equal(attempts_active(f->attempts), 2);
    runner_end(0);
    assert_int_equal(result_of(f, 1), RESULT_EXCEPTION);
    assert_int_equal(journal_fold(spool_find(f->spool, 1, 1))->steps[0].result, RESULT_EXCEPTION);
    assert_true(says(f, 1, "stopped now"));
    runner_end(1);
    assert_null(spool_find(f->spool, 2, 1));
    assert_int_equal(attempts_active(f->attempts), 0);
    start(f, 4);
    assert_true(says(f, 4, "is stopping"));
    assert_int_equal(runners.n, 2);
}

/* Forgotten while it is being interrupted: nothing is said of it. */
static void test_forget_while_interrupted(void **state)
{
    struct fixture *f = *state;

    start(f, 1);
    start(f, 2);
    attempts_interrupt_all(f->attempts, "stopped now");
    attempts_forget(f->attempts, 1, 1);
    runner_end(0);
    assert_null(spool_find(f->spool, 1, 1));
    runner_complete(runners.v[1]); /* it had just ended by itself */
    runner_end(1);
    assert_int_equal(result_of(f, 2), RESULT_SUCCESS);
}

/* A forgotten attempt says nothing more; its slot counts as free, but is used only when its
 * processes are gone. */
static void test_forget_while_running(void **state)
{
    struct fixture *f = *state;
    struct journal *journal;

    start(f, 1);
    start(f, 2);
    attempts_forget(f->attempts, 1, 1);
    attempts_forget(f->attempts, 1, 1);
    assert_true(runners.v[0]->forgotten);
    journal = spool_find(f->spool, 1, 1);
    assert_true(journal_is_retired(journal));
    attempts_cancel(f->attempts, 1, 1, "void already");
    assert_null(runners.v[0]->cancelled);

    start(f, 3);
    assert_int_equal(runners.n, 2);
    start(f, 4);
    assert_int_equal(result_of(f, 4), RESULT_EXCEPTION);
    assert_int_equal(attempts_active(f->attempts), 3);
    runner_end(0);
    assert_null(spool_find(f->spool, 1, 1));
    assert_int_equal(runners.n, 3);
    assert_int_equal(journal_build(runners.v[2]->journal), 3);
}

/* A master that has lost its database gives out the same ids again, before what had them is gone.
 */
static void test_start_of_an_id_that_is_being_forgotten(void **state)
{
    struct fixture *f = *state;

    start(f, 1);
    start(f, 2);
    attempts_forget(f->attempts, 1, 1);
    attempts_forget(f->attempts, 2, 1);
    start(f, 1);
    start(f, 1); /* told twice */
    start(f, 2);
    attempts_forget(f->attempts, 2, 1); /* no longer wanted */
    assert_int_equal(runners.n, 2);
    runner_end(0);
    assert_int_equal(runners.n, 3);
    assert_false(journal_is_retired(spool_find(f->spool, 1, 1)));
    assert_ptr_equal(runners.v[2]->journal, spool_find(f->spool, 1, 1));
    runner_end(1);
    assert_int_equal(runners.n, 3);
    assert_null(spool_find(f->spool, 2, 1));
    runner_end(2);
    assert_int_equal(result_of(f, 1), RESULT_SUCCESS);
}

static void test_cancel_and_forget_while_waiting(void **state)
{
    struct fixture *f = *state;

    start(f, 1);
    start(f, 2);
    attempts_forget(f->attempts, 1, 1);
    attempts_forget(f->attempts, 2, 1);
    start(f, 3);
    start(f, 4);
    attempts_cancel(f->attempts, 3, 1, "by hand");
    assert_int_equal(result_of(f, 3), RESULT_CANCELLED);
    assert_true(says(f, 3, "by hand"));
    attempts_forget(f->attempts, 4, 1);
    assert_null(spool_find(f->spool, 4, 1));
    runner_end(0);
    runner_end(1);
    assert_int_equal(runners.n, 2);
    assert_int_equal(attempts_active(f->attempts), 0);
}

static void test_resume_reaches_the_running(void **state)
{
    struct fixture *f = *state;

    start(f, 1);
    start(f, 2);
    attempts_forget(f->attempts, 2, 1);
    attempts_resume(f->attempts);
    assert_int_equal(runners.v[0]->resumed, 1);
    assert_int_equal(runners.v[1]->resumed, 0);
}

/* An agent that died left: one that ran, one in a step, one that had ended, one without any record.
 */
static void leave_journals(struct fixture *f)
{
    struct msg started = {.type = REC_ATTEMPT_STARTED, .u.attempt_started = {1}};
    struct msg step = {.type = REC_STEP_STARTED, .u.step_started = {2, 1}};
    struct msg finished = {.type = REC_ATTEMPT_FINISHED,
                           .u.attempt_finished = {.result = RESULT_SUCCESS}};
    struct journal *journal;

    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){.build = 1, .attempt = 1, .n_steps = 2},
                                    &journal, NULL),
                     ERR_OK);
    append(journal, &started);
    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){.build = 2, .attempt = 1, .n_steps = 2},
                                    &journal, NULL),
                     ERR_OK);
    append(journal, &started);
    append(journal, &step);
    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){.build = 3, .attempt = 1, .n_steps = 2},
                                    &journal, NULL),
                     ERR_OK);
    append(journal, &started);
    append(journal, &finished);
    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){.build = 4, .attempt = 1, .n_steps = 2},
                                    &journal, NULL),
                     ERR_OK);
    end(f);
    begin(f);
}

static void check_taken_up(struct fixture *f, const char *reason)
{
    assert_int_equal(attempts_active(f->attempts), 0);
    assert_int_equal(result_of(f, 1), RESULT_EXCEPTION);
    assert_int_equal(result_of(f, 2), RESULT_EXCEPTION);
    assert_int_equal(journal_fold(spool_find(f->spool, 2, 1))->steps[1].result, RESULT_EXCEPTION);
    assert_int_equal(result_of(f, 3), RESULT_SUCCESS);
    assert_int_equal(journal_last(spool_find(f->spool, 3, 1)), 2);
    assert_int_equal(result_of(f, 4), RESULT_EXCEPTION);
    assert_true(journal_fold(spool_find(f->spool, 4, 1))->started);
    assert_true(says(f, 1, reason));
    assert_true(says(f, 2, reason));
    assert_false(says(f, 3, "interrupted"));
    attempts_forget(f->attempts, 2, 1);
    assert_null(spool_find(f->spool, 2, 1));
}

static void test_restart_ends_what_was_interrupted(void **state)
{
    struct fixture *f = *state;

    leave_journals(f);
    attempts_take_up(f->attempts, "boot-1");
    check_taken_up(f, "interrupted: the slave agent was restarted");
}

static void test_reboot_is_told_from_restart(void **state)
{
    struct fixture *f = *state;

    leave_journals(f);
    attempts_take_up(f->attempts, "boot-2");
    check_taken_up(f, "interrupted: the machine was rebooted");
}

static void set_file_limit(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* When the disk is full the end is written later. */
static void test_end_is_tried_again(void **state)
{
    struct fixture *f = *state;

    (void)signal(SIGXFSZ, SIG_IGN);
    leave_journals(f);
    set_file_limit(10);
    attempts_take_up(f->attempts, "boot-1");
    assert_int_equal(result_of(f, 1), RESULT_NONE);
    fake_clock_advance(&f->clock, ATTEMPTS_RETRY_MS);
    loop_run_once(&f->loop, false);
    assert_int_equal(result_of(f, 1), RESULT_NONE);
    set_file_limit(RLIM_INFINITY);
    fake_clock_advance(&f->clock, ATTEMPTS_RETRY_MS);
    loop_run_once(&f->loop, false);
    check_taken_up(f, "interrupted: the slave agent was restarted");
    assert_true(f->changes > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(runs_and_ends),
        TEST(more_than_slots_is_reported),
        TEST(bad_job_is_reported),
        TEST(cancel),
        TEST(interrupt),
        TEST(forget_while_interrupted),
        TEST(forget_while_running),
        TEST(start_of_an_id_that_is_being_forgotten),
        TEST(cancel_and_forget_while_waiting),
        TEST(resume_reaches_the_running),
        TEST(restart_ends_what_was_interrupted),
        TEST(reboot_is_told_from_restart),
        TEST(end_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* One attempt's way: handed over, its records, its end; and all that can go wrong with its slave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/masterbench.h"

#define HEAD                                                                                       \
    "master: {listen: '127.0.0.1:0', lost_after: 60s, start_timeout: 20s}\n"                       \
    "pools: {p: {}}\n"                                                                             \
    "slaves:\n"                                                                                    \
    "  s: {pools: [p]}\n"                                                                          \
    "  t: {pools: [p]}\n"                                                                          \
    "projects: {j: {git: '/srv/j.git', branches: [main, 'release-*']}}\n"                          \
    "builders:\n"
#define ONE "  b: {project: j, pool: p, steps: [{build: make}]}\n"

static int setup(void **state)
{
    *state = bench_new(HEAD ONE);
    return 0;
}

/* --- the plain way --- */

static void test_start_says_what_to_run(void **state)
{
    struct masterbench *bench = bench_new(HEAD "  b:\n"
                                               "    project: j\n"
                                               "    pool: p\n"
                                               "    env: {A: '1'}\n"
                                               "    steps:\n"
                                               "      - checkout\n"
                                               "      - build: make -j2\n"
                                               "        dir: sub\n"
                                               "        env: {B: '2'}\n"
                                               "        timeout: 5s\n"
                                               "        idle_timeout: 3s\n"
                                               "        grace: 2s\n"
                                               "        log_limit: 1MiB\n"
                                               "        always: true\n"
                                               "        on_failure: continue\n"
                                               "        stderr: separate\n"
                                               "      - benchmark: [bin/bench, --json]\n"
                                               "        iterations: 7\n"
                                               "        warmup: 2\n");
    const struct msg_start *start;
    struct puppet *s;

    *state = bench;
    s = bench_puppet(bench, "s");
    assert_int_equal(bench_force(bench, "b", "abc123"), 1);
    start = puppet_start(s);
    assert_non_null(start);
    assert_int_equal(start->build, 1);
    assert_int_equal(start->attempt, 1);
    assert_true(view_is(start->builder, "b"));
    assert_true(view_is(start->project, "j"));
    assert_true(view_is(start->branch, "main"));
    assert_true(view_is(start->revision, "abc123"));
    assert_true(view_is(start->url, "http://ci/builds/1"));
    assert_true(view_is(start->git, "/srv/j.git"));
    assert_int_equal(start->env.n, 1);
    assert_true(view_is(start->env.v[0].name, "A"));
    assert_int_equal(start->steps.n, 3);
    assert_int_equal(start->steps.v[0].kind, STEP_CHECKOUT);
    assert_true(view_is(start->steps.v[0].name, "checkout"));
    assert_true(view_is(start->steps.v[1].shell, "make -j2"));
    assert_true(view_is(start->steps.v[1].dir, "sub"));
    assert_true(view_is(start->steps.v[1].env.v[0].value, "2"));
    assert_int_equal(start->steps.v[1].timeout_ms, 5000);
    assert_int_equal(start->steps.v[1].idle_timeout_ms, 3000);
    assert_int_equal(start->steps.v[1].grace_ms, 2000);
    assert_int_equal(start->steps.v[1].log_limit, 1 << 20);
    assert_true(start->steps.v[1].always);
    assert_int_equal(start->steps.v[1].on_failure, ON_FAILURE_CONTINUE);
    assert_true(start->steps.v[1].separate_stderr);
    assert_int_equal(start->steps.v[2].argv.n, 2);
    assert_true(view_is(start->steps.v[2].argv.v[1], "--json"));
    assert_int_equal(start->steps.v[2].iterations, 7);
    assert_int_equal(start->steps.v[2].warmup, 2);
}

static void test_success(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct attempt_info attempt;
    struct msg record;
    struct build_info row;

    bench_force(bench, "b", NULL);
    assert_true(bench_told(bench, "build 1 queued"));
    assert_true(bench_told(bench, "build 1 running"));
    assert_string_equal(bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE), "");
    bench_begin(bench, s, 1, 1);
    assert_true(puppet_heard(s, "ACK 1/1 2"));
    assert_true(bench_told(bench, "step 1/1 1 running"));
    record = record_log(1, 0, 3000);
    puppet_record(s, 1, 1, 3, &record);
    record = record_points(1);
    puppet_record(s, 1, 1, 4, &record);
    record = record_revision("feed");
    puppet_record(s, 1, 1, 5, &record);
    bench_settle(bench);
    assert_true(bench_told(bench, "log 1/1 1 3000"));
    assert_true(bench_told(bench, "points 1/1"));
    assert_true(puppet_heard(s, "ACK 1/1 5"));
    assert_false(puppet_heard(s, "FORGET 1/1"));
    bench_end(bench, s, 1, 1, 6, RESULT_SUCCESS);
    assert_true(bench_told(bench, "step 1/1 1 finished"));
    assert_true(bench_told(bench, "build 1 finished"));
    assert_true(puppet_heard(s, "FORGET 1/1"));
    assert_true(puppet_is_ready(s));
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS), "");
    row = bench_row(bench, 1);
    assert_string_equal(row.revision, "feed");
    assert_string_equal(row.slave, "s");
    build_info_release(&row);
    attempt = bench_attempt_row(bench, 1, 1);
    assert_int_equal(attempt.last, 7);
    assert_int_equal(attempt.result, RESULT_SUCCESS);
    assert_false(attempt.lost);
    attempt_info_release(&attempt);
    assert_null(builds_find(bench->hub.builds, 1));
}

static void test_failure_keeps_its_reason(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    bench_end(bench, s, 1, 1, 3, RESULT_FAILURE);
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_FAILURE), "exit code 1");
}

/* A burst whose records all become durable together. */
static void test_one_burst(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg records[] = {record_attempt_started(), record_step_started(1),
                            record_revision("feed"), record_step_finished(1, RESULT_SUCCESS),
                            record_attempt_finished(RESULT_SUCCESS, "")};
    struct build_info row;

    bench_force(bench, "b", NULL);
    for (uint64_t i = 0; i < 5; i++)
        puppet_record(s, 1, 1, i + 1, &records[i]);
    bench_settle(bench);
    assert_true(puppet_heard(s, "FORGET 1/1"));
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
    row = bench_row(bench, 1);
    assert_string_equal(row.revision, "feed");
    build_info_release(&row);
}

/* Nothing is said to anybody before it is on the disk. */
static void test_nothing_before_durable(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg records[] = {record_attempt_started(),
                            record_step_started(1),
                            record_log(1, 0, 100),
                            record_points(1),
                            record_revision("feed"),
                            record_step_finished(1, RESULT_SUCCESS),
                            record_attempt_finished(RESULT_SUCCESS, "")};

    bench_force(bench, "b", NULL);
    bench_settle(bench);
    puppet_clear(s);
    bench_clear(bench);
    bench_disk_fill(bench);
    for (uint64_t i = 0; i < 7; i++)
        puppet_record(s, 1, 1, i + 1, &records[i]);
    bench_disk_full(bench);
    assert_string_equal(puppet_lines(s), "");
    assert_false(bench_told(bench, "step 1/1 1 running"));
    assert_false(bench_told(bench, "log 1/1 1 100"));
    assert_false(bench_told(bench, "points 1/1"));
    assert_false(bench_told(bench, "build 1 finished"));
    bench_disk_free(bench);
    assert_true(bench_told(bench, "step 1/1 1 running"));
    assert_true(bench_told(bench, "log 1/1 1 100"));
    assert_true(bench_told(bench, "points 1/1"));
    assert_true(bench_told(bench, "build 1 finished"));
    assert_true(puppet_heard(s, "FORGET 1/1"));
}

/* --- cancelling --- */

static void test_cancel_running_twice(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct command *command;

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    command = bench_cancel(bench, 1, "no longer wanted");
    assert_int_equal(command->err.code, ERR_OK);
    assert_false(command->already);
    assert_int_equal(command->build.id, 1);
    assert_true(puppet_heard(s, "CANCEL 1/1 no longer wanted"));
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
    command = bench_cancel(bench, 1, "again");
    assert_int_equal(command->err.code, ERR_OK);
    assert_true(command->already);
    bench_end(bench, s, 1, 1, 3, RESULT_CANCELLED);
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_CANCELLED),
                        "no longer wanted");
    assert_true(puppet_heard(s, "FORGET 1/1"));
    command = bench_cancel(bench, 1, NULL);
    assert_int_equal(command->err.code, ERR_NOTFOUND);
}

static void test_cancel_that_the_slave_ignores(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    bench_cancel(bench, 1, "stop");
    bench_advance(bench, 39000);
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
    bench_advance(bench, 2000);
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_CANCELLED), "stop");
    assert_true(puppet_heard(s, "FORGET 1/1"));
}

/* The first records that come after CANCEL do not lift its limit. */
static void test_cancel_before_the_first_record(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    bench_cancel(bench, 1, "stop");
    bench_begin(bench, s, 1, 1);
    bench_advance(bench, 41000);
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_CANCELLED), "stop");
}

static void test_cancel_detached(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    puppet_cut(s, 0);
    bench_settle(bench);
    (void)bench_expect(bench, 1, BUILD_DETACHED, RESULT_NONE);
    bench_cancel(bench, 1, "stop");
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_CANCELLED), "stop");
    s = bench_puppet_holding(bench, "s", 1, 1, 2);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 void"));
}

static void test_cut_while_cancelling(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    bench_cancel(bench, 1, "stop");
    puppet_cut(s, 0);
    bench_settle(bench);
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_CANCELLED), "stop");
}

/* --- slaves that vanish --- */

static void test_lost_is_queued_at_its_old_place(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s"), *t;
    struct attempt_info attempt;

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    fake_clock_advance(&bench->clock, 1);
    bench_force(bench, "b", NULL);
    puppet_cut(s, 0);
    bench_settle(bench);
    assert_true(bench_told(bench, "build 1 detached"));
    bench_advance(bench, 59000);
    assert_true(bench_told(bench, "slave s offline"));
    (void)bench_expect(bench, 1, BUILD_DETACHED, RESULT_NONE);
    bench_advance(bench, 2000);
    (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
    attempt = bench_attempt_row(bench, 1, 1);
    assert_true(attempt.lost);
    assert_non_null(strstr(attempt.reason, "detached limit: slave s"));
    attempt_info_release(&attempt);
    t = bench_puppet(bench, "t");
    assert_true(puppet_heard(t, "START 1/2"));
    assert_false(puppet_heard(t, "START 2/1"));
    s = bench_puppet_holding(bench, "s", 1, 1, 5);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 void"));
    assert_true(puppet_heard(s, "START 2/1"));
}

static void test_most_attempts(void **state)
{
    struct masterbench *bench = *state;
    const char *note;

    bench_force(bench, "b", NULL);
    for (uint32_t i = 1; i <= 3; i++) {
        struct puppet *s = bench_puppet(bench, "s");

        bench_begin(bench, s, 1, i);
        puppet_cut(s, 0);
        bench_advance(bench, 61000);
    }
    note = bench_expect(bench, 1, BUILD_FINISHED, RESULT_EXCEPTION);
    assert_non_null(strstr(note, "lost: attempt 3 of 3: detached limit"));
}

static void test_start_limit(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    assert_true(puppet_heard(s, "START 1/1"));
    bench_advance(bench, 21000);
    assert_true(puppet_heard(s, "FORGET 1/1"));
    assert_true(puppet_heard(s, "START 1/2"));
    bench_begin(bench, s, 1, 2);
    bench_advance(bench, 30000);
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
}

static void test_interrupted_runs_again(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg step = record_step_finished(1, RESULT_EXCEPTION);
    struct msg end = record_interrupted("the agent was killed");
    struct attempt_info attempt;

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    puppet_record(s, 1, 1, 3, &step);
    puppet_record(s, 1, 1, 4, &end);
    bench_settle(bench);
    assert_true(puppet_heard(s, "FORGET 1/1"));
    assert_true(puppet_heard(s, "START 1/2"));
    attempt = bench_attempt_row(bench, 1, 1);
    assert_true(attempt.lost);
    assert_string_equal(attempt.reason, "the agent was killed");
    attempt_info_release(&attempt);
}

/* What the store refuses is not acknowledged, and nothing that follows can be stored either. */
static void test_record_that_the_store_refuses(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg record = record_log(1, 0, 1000);
    struct store_op *op = store_op_new(STORE_ATTEMPT_END, NULL, NULL);

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    op->attempt.build_id = 1; /* as if the database had lost track of it */
    op->attempt.attempt = 1;
    op->attempt.lost = true;
    store_post(bench->hub.store, op);
    puppet_record(s, 1, 1, 3, &record);
    bench_settle(bench);
    assert_false(puppet_heard(s, "ACK 1/1 3"));
    assert_false(bench_told(bench, "log 1/1 1 1000"));
    assert_true(puppet_heard(s, "FORGET 1/1"));
    assert_true(puppet_heard(s, "START 1/2"));
}

/* --- slaves that come back --- */

static void test_resume(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg record = record_log(1, 0, 1000);

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    puppet_cut(s, 0);
    bench_settle(bench);
    s = bench_puppet_holding(bench, "s", 1, 1, 9);
    assert_true(puppet_heard(s, "KNOWN 1/1 2 keep"));
    assert_false(puppet_heard(s, "START 1/1"));
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
    puppet_record(s, 1, 1, 3, &record);
    bench_settle(bench);
    assert_true(puppet_heard(s, "ACK 1/1 3"));
    bench_advance(bench, 120000);
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
    bench_end(bench, s, 1, 1, 4, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

/* Records that were received, but were not durable when the slave asked, come again. */
static void test_records_in_flight_at_the_cut(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg records[] = {record_attempt_started(), record_step_started(1),
                            record_log(1, 0, 1000)};

    bench_force(bench, "b", NULL);
    bench_disk_fill(bench);
    for (uint64_t i = 0; i < 3; i++)
        puppet_record(s, 1, 1, i + 1, &records[i]);
    bench_disk_full(bench);
    puppet_cut(s, 0);
    bench_settle(bench);
    s = bench_puppet_holding(bench, "s", 1, 1, 3);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 keep"));
    records[2] = record_log(1, 0, 1000);
    for (uint64_t i = 0; i < 3; i++)
        puppet_record(s, 1, 1, i + 1, &records[i]);
    bench_settle(bench);
    assert_true(puppet_is_ready(s));
    bench_disk_free(bench);
    assert_true(puppet_heard(s, "ACK 1/1 3"));
    assert_true(bench_told(bench, "log 1/1 1 1000"));
    assert_false(bench_told(bench, "log 1/1 1 2000"));
    /* They count as a sign that it began. */
    bench_advance(bench, 30000);
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
    bench_end(bench, s, 1, 1, 4, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

static void test_records_sent_again(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct attempt_info attempt;

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    bench_begin(bench, s, 1, 1);
    assert_true(puppet_is_ready(s));
    attempt = bench_attempt_row(bench, 1, 1);
    assert_int_equal(attempt.last, 2);
    attempt_info_release(&attempt);
}

static void test_unknown_held_is_void(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet_holding(bench, "s", 77, 1, 3);

    assert_true(puppet_heard(s, "KNOWN 77/1 0 void"));
    assert_true(puppet_is_ready(s));
}

static void test_not_held_and_nothing_recorded_starts_again(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    puppet_cut(s, 0);
    bench_settle(bench);
    (void)bench_expect(bench, 1, BUILD_DETACHED, RESULT_NONE);
    s = bench_puppet(bench, "s");
    assert_true(puppet_heard(s, "START 1/1"));
    bench_begin(bench, s, 1, 1);
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

static void test_not_held_and_recorded_is_lost(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    puppet_cut(s, 0);
    bench_settle(bench);
    s = bench_puppet(bench, "s");
    assert_false(puppet_heard(s, "START 1/1"));
    assert_true(puppet_heard(s, "START 1/2"));
}

/* The end was received and is not durable yet when the slave comes back. */
static void test_back_between_end_and_disk(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg step = record_step_finished(1, RESULT_SUCCESS);
    struct msg end = record_attempt_finished(RESULT_SUCCESS, "");

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    bench_disk_fill(bench);
    puppet_record(s, 1, 1, 3, &step);
    puppet_record(s, 1, 1, 4, &end);
    bench_disk_full(bench);
    puppet_cut(s, 0);
    bench_settle(bench);
    s = bench_puppet_holding(bench, "s", 1, 1, 4);
    assert_true(puppet_heard(s, "KNOWN 1/1 2 keep"));
    puppet_record(s, 1, 1, 3, &step);
    puppet_record(s, 1, 1, 4, &end);
    bench_settle(bench);
    assert_false(puppet_heard(s, "FORGET 1/1"));
    assert_true(puppet_is_ready(s));
    bench_disk_free(bench);
    assert_true(puppet_heard(s, "FORGET 1/1"));
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

/* --- slaves that misbehave --- */

static void test_gap_closes(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg step = record_step_started(1);

    bench_force(bench, "b", NULL);
    puppet_record(s, 1, 1, 2, &step);
    bench_settle(bench);
    assert_true(puppet_is_closed(s));
    (void)bench_expect(bench, 1, BUILD_DETACHED, RESULT_NONE);
}

static void test_wrong_offset_closes(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg block = record_log(1, 5, 100);
    struct attempt_info attempt;

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    puppet_record(s, 1, 1, 3, &block);
    bench_settle(bench);
    assert_true(puppet_is_closed(s));
    attempt = bench_attempt_row(bench, 1, 1);
    assert_int_equal(attempt.last, 2);
    attempt_info_release(&attempt);
}

static void test_record_after_the_end(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg step = record_step_started(1);

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    puppet_clear(s);
    puppet_record(s, 1, 1, 5, &step);
    bench_settle(bench);
    assert_true(puppet_heard(s, "FORGET 1/1"));
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

/* A record for another slave's attempt changes nothing of it. */
static void test_record_for_anothers_build(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s"), *t;
    struct msg end = record_attempt_finished(RESULT_FAILURE, "");

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    t = bench_puppet(bench, "t");
    puppet_record(t, 1, 1, 3, &end);
    puppet_record(t, 99, 1, 1, &end);
    bench_settle(bench);
    assert_true(puppet_heard(t, "FORGET 1/1"));
    assert_true(puppet_heard(t, "FORGET 99/1"));
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

/* A slave that claims to hold what another runs. */
static void test_held_by_another(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s"), *t;

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    t = bench_puppet_holding(bench, "t", 1, 1, 2);
    assert_true(puppet_heard(t, "KNOWN 1/1 2 void"));
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

/* One attempt listed many times is still one. */
static void test_held_twice(void **state)
{
    struct masterbench *bench = *state;
    struct msg_held held[] = {
        {.build = 1, .attempt = 1, .last = 2},
        {.build = 2, .attempt = 1, .last = 2},
        {.build = 1, .attempt = 1, .last = 2},
        {.build = 1, .attempt = 2, .last = 2},
    };
    struct puppet_hello hello = {.name = "s", .slots = 2};
    struct puppet *s = bench_puppet_with(bench, &hello);

    for (uint64_t build = 1; build <= 2; build++) {
        bench_force(bench, "b", NULL);
        bench_begin(bench, s, build, 1);
    }
    bench_force(bench, "b", NULL);
    puppet_cut(s, 0);
    bench_settle(bench);
    hello.held = held;
    hello.n_held = 4;
    s = bench_puppet_with(bench, &hello);
    assert_true(puppet_heard(s, "KNOWN 1/1 2 keep"));
    assert_true(puppet_heard(s, "KNOWN 1/2 0 void"));
    assert_false(puppet_heard(s, "START 3/1"));
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 3/1"));
    bench_end(bench, s, 2, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 2, BUILD_FINISHED, RESULT_SUCCESS);
}

/* Only the credit that was given may be used; it comes back as records become durable. */
static void test_credit_comes_back(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg points[64];
    struct msg_point many[512];
    char text[200];
    uint64_t number = 3;

    memset(text, 'm', sizeof text);
    for (size_t i = 0; i < 512; i++)
        many[i] = (struct msg_point){.suite = view_bytes(text, 100), .metric = {text, 80}};
    for (size_t i = 0; i < 64; i++)
        points[i] = (struct msg){.type = REC_POINTS, .u.points = {1, {many, 512}}};
    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    for (size_t i = 0; i < 64; i++)
        puppet_record(s, 1, 1, number++, &points[i]);
    assert_true(puppet_waiting(s) > 0);
    bench_settle(bench);
    assert_int_equal(puppet_waiting(s), 0);
    assert_true(puppet_heard(s, "ACK 1/1 66"));
    assert_true(puppet_is_ready(s));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_start_says_what_to_run, bench_teardown),
        test(test_success),
        test(test_failure_keeps_its_reason),
        test(test_one_burst),
        test(test_nothing_before_durable),
        test(test_cancel_running_twice),
        test(test_cancel_that_the_slave_ignores),
        test(test_cancel_before_the_first_record),
        test(test_cancel_detached),
        test(test_cut_while_cancelling),
        test(test_lost_is_queued_at_its_old_place),
        test(test_most_attempts),
        test(test_start_limit),
        test(test_interrupted_runs_again),
        test(test_record_that_the_store_refuses),
        test(test_resume),
        test(test_records_in_flight_at_the_cut),
        test(test_records_sent_again),
        test(test_unknown_held_is_void),
        test(test_not_held_and_nothing_recorded_starts_again),
        test(test_not_held_and_recorded_is_lost),
        test(test_back_between_end_and_disk),
        test(test_gap_closes),
        test(test_wrong_offset_closes),
        test(test_record_after_the_end),
        test(test_record_for_anothers_build),
        test(test_held_by_another),
        test(test_held_twice),
        test(test_credit_comes_back),
    };

    return cmocka_run_group_tests_name("attempt", tests, NULL, NULL);
}

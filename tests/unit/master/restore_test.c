/* A master that dies or is stopped and starts again: every build goes on where it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "tests/support/masterbench.h"

#define HEAD                                                                                       \
    "master: {listen: '127.0.0.1:0', lost_after: 60s, start_timeout: 20s, max_attempts: 2}\n"      \
    "pools: {p: {}}\n"                                                                             \
    "slaves: {s: {pools: [p], slots: 4}, t: {pools: [p]}}\n"                                       \
    "projects: {j: {git: /srv/j.git, branches: [main]}}\n"                                         \
    "builders:\n"
#define BUILDER(name, more) "  " name ": {project: j, pool: p, " more "steps: [{build: make}]}\n"
#define CHAIN               HEAD BUILDER("a", "") BUILDER("b", "after: a, ")

static int setup(void **state)
{
    *state = bench_new(CHAIN);
    return 0;
}

/* Puts another file there for the next start. */
static void other_config(struct masterbench *bench, const char *yaml)
{
    bench_write(bench, "master.yaml", yaml);
}

static void test_queued_and_waiting(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s;

    bench_force(bench, "a", "cafe");
    bench_force(bench, "a", "beef");
    bench_crash(bench);
    (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
    (void)bench_expect(bench, 2, BUILD_WAITING, RESULT_NONE);
    s = bench_puppet(bench, "s");
    assert_true(puppet_heard(s, "START 1/1"));
    assert_true(view_is(puppet_start(s)->revision, "cafe"));
    bench_begin(bench, s, 1, 1);
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1"));
    assert_int_equal(bench_force(bench, "a", NULL), 5);
}

static void test_running_is_resumed(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg record = record_log(1, 0, 1000);

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    puppet_record(s, 1, 1, 3, &record);
    bench_settle(bench);
    bench_crash(bench);
    s = bench_puppet_holding(bench, "s", 1, 1, 5);
    assert_true(puppet_heard(s, "KNOWN 1/1 3 keep"));
    record = record_log(1, 1000, 500);
    puppet_record(s, 1, 1, 4, &record);
    bench_settle(bench);
    assert_true(puppet_heard(s, "ACK 1/1 4"));
    assert_true(bench_told(bench, "log 1/1 1 1500"));
    bench_advance(bench, 120000);
    bench_end(bench, s, 1, 1, 5, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

/* A clean stop tells the slave, and changes nothing else. */
static void test_stop_and_start(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s"), *again;

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_restart(bench);
    assert_true(puppet_heard(s, "BYE the master is stopping"));
    (void)bench_expect(bench, 1, BUILD_DETACHED, RESULT_NONE);
    again = bench_puppet_holding(bench, "s", 1, 1, 2);
    assert_true(puppet_heard(again, "KNOWN 1/1 2 keep"));
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
}

static void test_running_whose_slave_stays_away(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_crash(bench);
    bench_advance(bench, 61000);
    (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
    s = bench_puppet(bench, "t");
    assert_true(puppet_heard(s, "START 1/2"));
    bench_begin(bench, s, 1, 2);
    bench_crash(bench);
    bench_advance(bench, 61000);
    assert_non_null(
        strstr(bench_expect(bench, 1, BUILD_FINISHED, RESULT_EXCEPTION), "lost: attempt 2 of 2"));
    (void)bench_expect(bench, 2, BUILD_FINISHED, RESULT_SKIPPED);
}

/* START went out, and the master died before the attempt was durable. */
static void test_adoption(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s;
    struct attempt_info attempt;

    bench_force(bench, "a", NULL);
    bench_disk_fill(bench);
    s = bench_puppet(bench, "s");
    assert_true(puppet_heard(s, "START 1/1"));
    bench_crash(bench);
    (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
    s = bench_puppet_holding(bench, "s", 1, 1, 2);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 keep"));
    assert_false(puppet_heard(s, "START 1/1"));
    bench_begin(bench, s, 1, 1);
    assert_true(puppet_heard(s, "ACK 1/1 2"));
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
    attempt = bench_attempt_row(bench, 1, 1);
    assert_int_equal(attempt.last, 4);
    assert_string_equal(attempt.slave, "s");
    attempt_info_release(&attempt);
}

/* Another slave was given the build before the first came back with it. */
static void test_adoption_too_late(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s, *t;

    bench_force(bench, "a", NULL);
    bench_disk_fill(bench);
    s = bench_puppet(bench, "s");
    assert_true(puppet_heard(s, "START 1/1"));
    bench_crash(bench);
    t = bench_puppet(bench, "t");
    assert_true(puppet_heard(t, "START 1/1"));
    s = bench_puppet_holding(bench, "s", 1, 1, 2);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 void"));
    bench_begin(bench, t, 1, 1);
    bench_end(bench, t, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

/* An adopted attempt of which nothing ever comes. */
static void test_adopted_and_silent(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s;

    bench_force(bench, "a", NULL);
    bench_disk_fill(bench);
    s = bench_puppet(bench, "s");
    bench_crash(bench);
    s = bench_puppet_holding(bench, "s", 1, 1, 0);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 keep"));
    bench_advance(bench, 21000);
    assert_true(puppet_heard(s, "FORGET 1/1"));
    assert_true(puppet_heard(s, "START 1/2"));
}

/* What a slave claims to hold is adopted as the build's next attempt only. */
static void test_adoption_of_a_wrong_number(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s;

    bench_force(bench, "a", NULL);
    s = bench_puppet_holding(bench, "s", 1, 7, 2);
    assert_true(puppet_heard(s, "KNOWN 1/7 0 void"));
    assert_true(puppet_heard(s, "START 1/1"));
    s = bench_puppet_holding(bench, "t", 2, 1, 2);
    assert_true(puppet_heard(s, "KNOWN 2/1 0 void")); /* waits: was never handed out */
}

static void test_started_and_nothing_recorded(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "a", NULL);
    assert_true(puppet_heard(s, "START 1/1"));
    bench_crash(bench);
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
    s = bench_puppet(bench, "s");
    assert_true(puppet_heard(s, "START 1/1"));
}

static void test_recorded_and_not_held(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_crash(bench);
    s = bench_puppet(bench, "s");
    assert_true(puppet_heard(s, "START 1/2"));
}

/* Posts an attempt's last record by itself, as a crash between it and the end leaves it. */
static void last_record(struct masterbench *bench, const struct msg *record, uint64_t number)
{
    struct store_op *op = store_op_new(STORE_RECORD, NULL, NULL);
    struct str body = STR_INIT(4096);

    assert_int_equal(msg_encode(record, &body, NULL), ERR_OK);
    op->attempt.build_id = 1;
    op->attempt.attempt = builds_find(bench->hub.builds, 1)->info.attempt;
    op->number = number;
    op->body_bytes = body.n;
    op->body = str_detach(&body);
    store_post(bench->hub.store, op);
    bench_settle(bench);
}

static void test_end_that_was_only_recorded(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg started = record_attempt_started(), end;

    bench_force(bench, "a", "cafe");
    puppet_record(s, 1, 1, 1, &started);
    bench_settle(bench);
    end = record_attempt_finished(RESULT_SUCCESS, "");
    last_record(bench, &end, 2);
    bench_crash(bench);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
    (void)bench_expect(bench, 2, BUILD_QUEUED, RESULT_NONE);
    s = bench_puppet_holding(bench, "s", 1, 1, 2);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 void"));
    assert_true(puppet_heard(s, "START 2/1"));
}

static void test_failure_that_was_only_recorded(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg started = record_attempt_started(), end;

    bench_force(bench, "a", NULL);
    puppet_record(s, 1, 1, 1, &started);
    bench_settle(bench);
    end = record_attempt_finished(RESULT_FAILURE, "exit code 1");
    last_record(bench, &end, 2);
    bench_crash(bench);
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_FAILURE), "exit code 1");
    assert_non_null(strstr(bench_expect(bench, 2, BUILD_FINISHED, RESULT_SKIPPED),
                           "build 1 ended with failure"));
}

static void test_interruption_that_was_only_recorded(void **state)
{
    struct masterbench *bench = *state;
    struct msg started = record_attempt_started(), end = record_interrupted("killed");
    struct attempt_info attempt;

    bench_force(bench, "a", NULL);
    for (uint32_t i = 1; i <= 2; i++) {
        struct puppet *s = bench_puppet(bench, "s");

        puppet_record(s, 1, i, 1, &started);
        bench_settle(bench);
        last_record(bench, &end, 2);
        bench_crash(bench);
        if (i == 1)
            (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
    }
    assert_non_null(
        strstr(bench_expect(bench, 1, BUILD_FINISHED, RESULT_EXCEPTION), "lost: attempt 2 of 2"));
    attempt = bench_attempt_row(bench, 1, 1);
    assert_true(attempt.lost);
    attempt_info_release(&attempt);
}

/* --- with another configuration --- */

#define WITHOUT_B HEAD BUILDER("a", "")
#define WITHOUT_A HEAD BUILDER("b", "")

static void test_builder_of_a_queued_build_is_gone(void **state)
{
    struct masterbench *bench = *state;

    bench_force(bench, "a", NULL);
    other_config(bench, WITHOUT_A);
    bench_crash(bench);
    assert_non_null(
        strstr(bench_expect(bench, 1, BUILD_FINISHED, RESULT_EXCEPTION), "no longer configured"));
    (void)bench_expect(bench, 2, BUILD_FINISHED, RESULT_SKIPPED);
}

static void test_builder_of_a_waiting_build_is_gone(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s;

    bench_force(bench, "a", NULL);
    other_config(bench, WITHOUT_B);
    bench_crash(bench);
    s = bench_puppet(bench, "s");
    bench_begin(bench, s, 1, 1);
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    assert_non_null(
        strstr(bench_expect(bench, 2, BUILD_FINISHED, RESULT_EXCEPTION), "no longer configured"));
}

static void test_builder_of_a_running_build_is_gone(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    other_config(bench, WITHOUT_A);
    bench_crash(bench);
    s = bench_puppet_holding(bench, "s", 1, 1, 2);
    assert_true(puppet_heard(s, "KNOWN 1/1 2 keep"));
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1"));
}

static void test_lost_build_of_a_builder_that_is_gone(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    other_config(bench, WITHOUT_A);
    bench_crash(bench);
    bench_advance(bench, 61000);
    assert_non_null(strstr(bench_expect(bench, 1, BUILD_FINISHED, RESULT_EXCEPTION), "lost"));
}

static void test_steps_changed_before_it_began(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "a", NULL);
    assert_true(puppet_heard(s, "START 1/1"));
    other_config(bench, HEAD "  a: {project: j, pool: p, steps: [{test: make check}]}\n");
    bench_crash(bench);
    s = bench_puppet(bench, "s");
    assert_false(puppet_heard(s, "START 1/1"));
    assert_true(puppet_heard(s, "START 1/2"));
    assert_true(view_is(puppet_start(s)->steps.v[0].shell, "make check"));
}

/* --- the rest of what survives --- */

static void test_drained_slave(void **state)
{
    struct masterbench *bench = *state;
    struct command *command = command_new(COMMAND_SLAVE_DRAIN);
    struct puppet *s;

    command->name = xstrdup("s");
    command->reason = xstrdup("new disk");
    bench_ask(bench, command);
    assert_int_equal(command->err.code, ERR_OK);
    bench_crash(bench);
    s = bench_puppet(bench, "s");
    bench_force(bench, "a", NULL);
    assert_false(puppet_heard(s, "START 1/1"));
    command = command_new(COMMAND_SLAVE_RESUME);
    command->name = xstrdup("s");
    bench_ask(bench, command);
    assert_true(puppet_heard(s, "START 1/1"));
}

static void test_idempotency_key(void **state)
{
    struct masterbench *bench = *state;

    for (int i = 0; i < 3; i++) {
        struct command *command = command_new(COMMAND_FORCE);

        command->name = xstrdup("a");
        command->idempotency_key = xstrdup("once");
        bench_ask(bench, command);
        assert_int_equal(command->err.code, ERR_OK);
        assert_int_equal(command->build.id, 1);
        assert_int_equal(command->already, i > 0);
        if (i == 1)
            bench_crash(bench);
    }
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_queued_and_waiting),
        test(test_running_is_resumed),
        test(test_stop_and_start),
        test(test_running_whose_slave_stays_away),
        test(test_adoption),
        test(test_adoption_too_late),
        test(test_adopted_and_silent),
        test(test_adoption_of_a_wrong_number),
        test(test_started_and_nothing_recorded),
        test(test_recorded_and_not_held),
        test(test_end_that_was_only_recorded),
        test(test_failure_that_was_only_recorded),
        test(test_interruption_that_was_only_recorded),
        test(test_builder_of_a_queued_build_is_gone),
        test(test_builder_of_a_waiting_build_is_gone),
        test(test_builder_of_a_running_build_is_gone),
        test(test_lost_build_of_a_builder_that_is_gone),
        test(test_steps_changed_before_it_began),
        test(test_drained_slave),
        test(test_idempotency_key),
    };

    return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}

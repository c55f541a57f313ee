/* What would go wrong again and again, and must come to an end; and what must outlive the master.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "master/attempt.h"
#include "tests/support/masterbench.h"

static int setup(void **state)
{
    *state = bench_new("master: {listen: '127.0.0.1:0', lost_after: 60s, start_timeout: 20s}\n"
                       "pools: {p: {}}\n"
                       "slaves: {s: {pools: [p]}}\n"
                       "projects: {j: {git: '/srv/j.git', branches: [main]}}\n"
                       "builders:\n"
                       "  b: {project: j, pool: p, max_attempts: 2, steps: [{build: make}]}\n");
    return 0;
}

static int64_t asked_ms_of(struct masterbench *bench, uint64_t build)
{
    struct build_info row = bench_row(bench, build);
    int64_t asked_ms = row.queued_ms;

    build_info_release(&row);
    return asked_ms;
}

/* As a slave does that has no room for a journal: it is there, and drops the connection. */
static void test_a_slave_that_never_begins(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    char line[32];
    unsigned attempt, i;

    bench_force(bench, "b", NULL);
    for (attempt = 1; attempt <= 2; attempt++) {
        (void)snprintf(line, sizeof line, "START 1/%u", attempt);
        for (i = 0; i < ATTEMPT_STARTS_MAX; i++) {
            (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
            assert_true(puppet_heard(s, line));
            puppet_close(s);
            bench_settle(bench);
            if (i > 0) /* not in the first moments, whatever happens in them */
                bench_advance(bench, 10000);
            s = bench_puppet(bench, "s");
        }
    }
    assert_non_null(strstr(bench_expect(bench, 1, BUILD_FINISHED, RESULT_EXCEPTION), "never did"));
    bench_force(bench, "b", NULL);
    assert_true(puppet_heard(s, "START 2/1"));
}

/* A record that does not fit is sent again by every connection. */
static void test_a_record_that_never_fits(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg misfit = record_step_started(9);
    unsigned i;

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    for (i = 1; i < ATTEMPT_MISFITS_MAX; i++) {
        puppet_record(s, 1, 1, 3, &misfit);
        bench_settle(bench);
        assert_true(puppet_is_closed(s));
        s = bench_puppet_holding(bench, "s", 1, 1, 3);
        assert_true(puppet_heard(s, "KNOWN 1/1 2 keep"));
    }
    puppet_record(s, 1, 1, 3, &misfit);
    bench_settle(bench);
    assert_false(puppet_is_closed(s));
    assert_true(puppet_heard(s, "FORGET 1/1"));
    assert_true(puppet_heard(s, "START 1/2"));
    bench_begin(bench, s, 1, 2);
    bench_end(bench, s, 1, 2, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

/* A cancel that was answered holds, whatever becomes of the master. */
static void test_a_cancel_outlives_the_master(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    puppet_mute(s, true);
    assert_int_equal(bench_cancel(bench, 1, "no longer wanted")->err.code, ERR_OK);
    bench_crash(bench);
    bench_settle(bench);
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_CANCELLED),
                        "no longer wanted");
    s = bench_puppet_holding(bench, "s", 1, 1, 2);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 void"));
}

/* After its database was lost, the master gives out the same ids again: what a slave held for the
 * old build is none of the new one's. */
static void test_an_id_that_was_another_builds(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    struct msg_held held = {.build = 1, .attempt = 1, .last = 2};
    struct puppet_hello hello = {.name = "s", .held = &held, .n_held = 1};

    puppet_close(s);
    bench_settle(bench);
    bench_force(bench, "b", NULL);
    held.asked_ms = asked_ms_of(bench, 1) - 1;
    s = bench_puppet_with(bench, &hello);
    assert_true(puppet_heard(s, "KNOWN 1/1 0 void"));
    assert_true(puppet_heard(s, "START 1/1"));
    bench_begin(bench, s, 1, 1);
    assert_int_equal(puppet_start(s)->asked_ms, held.asked_ms + 1);
    puppet_close(s);
    bench_settle(bench);
    held.asked_ms++;
    s = bench_puppet_with(bench, &hello);
    assert_true(puppet_heard(s, "KNOWN 1/1 2 keep"));
}

/* First asked, first served, whatever somebody does to the clock. */
static void test_a_clock_that_is_set_back(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s;

    bench_force(bench, "b", NULL);
    fake_clock_set_wall(&bench->clock, bench->clock.wall_ms - 3600 * 1000);
    bench_force(bench, "b", NULL);
    s = bench_puppet(bench, "s");
    assert_true(puppet_heard(s, "START 1/1"));
    bench_begin(bench, s, 1, 1);
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1"));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_a_slave_that_never_begins),    test(test_a_record_that_never_fits),
        test(test_a_cancel_outlives_the_master), test(test_an_id_that_was_another_builds),
        test(test_a_clock_that_is_set_back),
    };

    return cmocka_run_group_tests_name("attempt_faults", tests, NULL, NULL);
}

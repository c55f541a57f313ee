/* The benchmark step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slave/steps/step.h"
#include "tests/unit/slave/attempt_rig.h"

enum { POINTS = 4 };

static struct msg_step benchmark(const char *text, uint32_t warmup, uint32_t iterations)
{
    struct msg_step step = rig_shell("speed", text);

    step.kind = STEP_BENCHMARK;
    step.warmup = warmup;
    step.iterations = iterations;
    return step;
}

static const struct rig_point *point(const struct rig *rig, uint32_t iteration, const char *metric)
{
    size_t i;

    for (i = 0; i < rig->points.n; i++)
        if (rig->points.v[i].iteration == iteration && strcmp(rig->points.v[i].metric, metric) == 0)
            return &rig->points.v[i];
    fail_msg("no point %s of iteration %u", metric, iteration);
    return NULL;
}

static void check_point(const struct rig *rig, uint32_t iteration, const char *metric,
                        const char *unit)
{
    const struct rig_point *p = point(rig, iteration, metric);

    assert_string_equal(p->suite, "b");
    assert_string_equal(p->test, "speed");
    assert_string_equal(p->unit, unit);
    assert_int_equal(p->better, 1);
    assert_true(p->value >= 0);
}

static void test_iterations_give_points(void **state)
{
    struct msg_step steps[] = {benchmark(
        "echo run $TAILRACE_ITERATION; i=0; "
        "case $TAILRACE_ITERATION in 2) while [ $i -lt 60000 ]; do i=$((i+1)); done; esac",
        2, 3)};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;
    uint32_t i;

    (void)state;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_int_equal(rig.result, RESULT_SUCCESS);
    assert_int_equal(rig.points.n, 3 * POINTS);
    for (i = 1; i <= 3; i++) {
        check_point(&rig, i, "wall", "s");
        check_point(&rig, i, "user", "s");
        check_point(&rig, i, "system", "s");
        check_point(&rig, i, "max_rss", "bytes");
        assert_true(point(&rig, i, "max_rss")->value > 100000);
    }
    assert_true(point(&rig, 2, "wall")->value >= 0.01);
    assert_true(point(&rig, 2, "wall")->value * 1e3 !=
                (double)(int)(point(&rig, 2, "wall")->value * 1e3));
    assert_true(point(&rig, 2, "user")->value > 0);
    assert_true(rig.steps[1].user_s >= point(&rig, 2, "user")->value);
    assert_true(rig_log_has(&rig, 1, "run w1\ntailrace: iteration w1: wall "));
    assert_true(rig_log_has(&rig, 1, "run w2\n"));
    assert_true(rig_log_has(&rig, 1, "run 3\ntailrace: iteration 3: wall "));
    rig_close(&rig);
}

static void test_a_failed_iteration_ends_it(void **state)
{
    struct msg_step steps[] = {benchmark("test $TAILRACE_ITERATION != 2", 1, 4)};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_int_equal(rig.steps[1].result, RESULT_FAILURE);
    assert_string_equal(rig.steps[1].reason, "iteration 2: exit code 1");
    assert_int_equal(rig.points.n, POINTS);
    (void)point(&rig, 1, "wall");

    steps[0].shell = view_of("test $TAILRACE_ITERATION != w1");
    rig_run(&rig, &job);
    assert_string_equal(rig.steps[1].reason, "iteration w1: exit code 1");
    assert_int_equal(rig.points.n, 0);
    rig_close(&rig);
}

/* What fits into the pipe is not looked at before the end of the run. */
static void test_a_run_is_left_in_peace(void **state)
{
    struct msg_step steps[] = {
        benchmark("echo begin; mkfifo go; echo > up; read x < go || :; echo end", 0, 1)};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;
    char *up;
    char *go;
    FILE *file;

    (void)state;
    rig_open(&rig);
    up = rig_path(&rig, "work/b/src/up");
    go = rig_path(&rig, "work/b/src/go");
    rig_start(&rig, &job);
    while (access(up, F_OK) != 0)
        loop_run_once(&rig.loop, false);
    rig_turn(&rig); /* the first look, a second later, finds the pipe nearly empty */
    rig_turn(&rig);
    assert_int_equal(rig.steps[1].log[0].n, 0);
    file = fopen(go, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    rig_finish(&rig);
    assert_true(rig_log_has(&rig, 1, "begin\nend\n"));
    free(up);
    free(go);
    rig_close(&rig);
}

static void test_more_than_the_pipe_holds_is_taken(void **state)
{
    struct msg_step steps[] = {benchmark("head -c 5000000 /dev/zero | tr '\\0' x", 0, 1)};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_int_equal(rig.result, RESULT_SUCCESS);
    assert_true(rig.steps[1].log[0].n >= 5000000);
    rig_close(&rig);
}

static void test_idle_limit_counts_unread_output(void **state)
{
    struct msg_step steps[] = {
        benchmark("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done; exec sleep 300", 0, 1)};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    steps[0].idle_timeout_ms = 1500;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_string_equal(rig.steps[1].reason, "idle limit: no output for 1500 ms");
    assert_true(rig_log_has(&rig, 1, "8\n"));
    assert_int_equal(rig.points.n, 0);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iterations_give_points),
        cmocka_unit_test(test_a_failed_iteration_ends_it),
        cmocka_unit_test(test_a_run_is_left_in_peace),
        cmocka_unit_test(test_more_than_the_pipe_holds_is_taken),
        cmocka_unit_test(test_idle_limit_counts_unread_output),
    };

    return cmocka_run_group_tests_name("slave/runner_benchmark", tests, NULL, NULL);
}

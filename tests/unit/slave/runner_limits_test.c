/* Limits, cancel, forget. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slave/steps/step.h"
#include "tests/unit/slave/attempt_rig.h"

static void assert_ended(struct rig *rig, enum build_result result, const char *reason)
{
    char *note = xasprintf("tailrace: %s\n", reason);

    assert_int_equal(rig->steps[1].result, result);
    assert_int_equal(rig->steps[1].exit_code, -1);
    assert_string_equal(rig->steps[1].reason, reason);
    assert_true(rig_log_has(rig, 1, note));
    free(note);
}

static void test_total_limit(void **state)
{
    struct msg_step steps[] = {rig_shell("long", "while :; do echo x; sleep 0.01; done"),
                               rig_shell("next", "true")};
    struct msg_start job = rig_job(steps, 2);
    struct rig rig;

    (void)state;
    steps[0].timeout_ms = 300;
    steps[0].idle_timeout_ms = 5000;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_ended(&rig, RESULT_FAILURE, "total limit: not done after 300 ms");
    assert_int_equal(rig.steps[2].result, RESULT_SKIPPED);
    assert_int_equal(rig.result, RESULT_FAILURE);
    assert_string_equal(rig.reason, "long: total limit: not done after 300 ms");
    rig_close(&rig);
}

static void test_idle_limit(void **state)
{
    /* Output for longer than the limit, then none. */
    struct msg_step steps[] = {
        rig_shell("mute", "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done; exec sleep 300")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    steps[0].timeout_ms = 60 * 1000;
    steps[0].idle_timeout_ms = 500;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_true(rig_log_has(&rig, 1, "8\n"));
    assert_ended(&rig, RESULT_FAILURE, "idle limit: no output for 500 ms");
    rig_close(&rig);
}

static void test_a_limit_takes_the_whole_tree(void **state)
{
    struct msg_step steps[] = {rig_shell(
        "tree", "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & "
                "while :; do sleep 1; done")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    steps[0].idle_timeout_ms = 200;
    steps[0].grace_ms = 200;
    rig_open(&rig);
    rig_run(&rig, &job); /* checks for strays */
    assert_ended(&rig, RESULT_FAILURE, "idle limit: no output for 200 ms");
    assert_true(rig.steps[1].killed >= 2);
    assert_true(rig_log_has(&rig, 1, "had to be killed"));
    rig_close(&rig);
}

static void test_policy_holds_for_limits(void **state)
{
    struct msg_step steps[] = {rig_shell("slow", "exec sleep 300"), rig_shell("next", "true")};
    struct msg_start job = rig_job(steps, 2);
    struct rig rig;

    (void)state;
    steps[0].timeout_ms = 50;
    steps[0].on_failure = ON_FAILURE_WARN;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_int_equal(rig.steps[2].result, RESULT_SUCCESS);
    assert_int_equal(rig.result, RESULT_WARNINGS);
    rig_close(&rig);
}

static void test_cancel(void **state)
{
    struct msg_step steps[] = {rig_shell("one", "true"),
                               rig_shell("two", "sleep 300 & echo up; wait"),
                               rig_shell("clean", "true")};
    struct msg_start job = rig_job(steps, 3);
    struct rig rig;

    (void)state;
    steps[2].always = true;
    rig_open(&rig);
    rig_start(&rig, &job);
    rig_until_log(&rig, 2, "up\n");
    runner_cancel(rig.runner, "cancelled by somebody");
    runner_cancel(rig.runner, "again");
    rig_finish(&rig);
    assert_int_equal(rig.steps[1].result, RESULT_SUCCESS);
    assert_int_equal(rig.steps[2].result, RESULT_CANCELLED);
    assert_string_equal(rig.steps[2].reason, "cancelled by somebody");
    assert_true(rig_log_has(&rig, 2, "tailrace: cancelled by somebody\n"));
    assert_int_equal(rig.steps[3].result, RESULT_SKIPPED);
    assert_int_equal(rig.result, RESULT_CANCELLED);
    assert_string_equal(rig.reason, "cancelled by somebody");
    rig_close(&rig);
}

static void test_cancel_before_anything_ran(void **state)
{
    struct msg_step steps[] = {rig_shell("one", "true")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_start(&rig, &job);
    runner_cancel(rig.runner, "");
    rig_finish(&rig);
    assert_false(rig.steps[1].started);
    assert_int_equal(rig.steps[1].result, RESULT_SKIPPED);
    assert_int_equal(rig.result, RESULT_CANCELLED);
    rig_close(&rig);
}

static void test_forget_says_no_more(void **state)
{
    struct msg_step steps[] = {
        rig_shell("one", "echo up; trap '' TERM; while :; do sleep 1; done")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;
    uint64_t last;

    (void)state;
    steps[0].grace_ms = 100;
    rig_open(&rig);
    rig_start(&rig, &job);
    rig_until_log(&rig, 1, "up\n");
    last = journal_last(rig.journal);
    runner_forget(rig.runner);
    rig_finish(&rig);
    assert_int_equal(journal_last(rig.journal), last);
    assert_false(rig.finished);
    rig_close(&rig);
}

static void test_log_limit(void **state)
{
    struct msg_step steps[] = {
        rig_shell("loud", "head -c 1000000 /dev/zero | tr '\\0' x; echo end")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    steps[0].log_limit = 200 * 1024;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_int_equal(rig.result, RESULT_SUCCESS);
    assert_in_range(rig.steps[1].log[0].n, 200 * 1024, 201 * 1024);
    assert_true(rig_log_has(&rig, 1, "tailrace: 795204 bytes left out here (log_limit 200 KiB)\n"));
    assert_string_equal(rig_log(&rig, 1) + rig.steps[1].log[0].n - 6, "xxend\n");
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_total_limit),
        cmocka_unit_test(test_idle_limit),
        cmocka_unit_test(test_a_limit_takes_the_whole_tree),
        cmocka_unit_test(test_policy_holds_for_limits),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_before_anything_ran),
        cmocka_unit_test(test_forget_says_no_more),
        cmocka_unit_test(test_log_limit),
    };

    return cmocka_run_group_tests_name("slave/runner_limits", tests, NULL, NULL);
}

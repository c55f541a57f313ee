#include "slave/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/fsx.h"
#include "tests/unit/slave/attempt_rig.h"

static void assert_step(const struct rig *rig, uint32_t step, enum build_result result,
                        int64_t exit_code, const char *reason)
{
    assert_true(rig->steps[step].finished);
    assert_int_equal(rig->steps[step].result, result);
    assert_int_equal(rig->steps[step].exit_code, exit_code);
    assert_string_equal(rig->steps[step].reason, reason);
}

static void test_steps_run_in_order(void **state)
{
    struct msg_step steps[] = {
        rig_shell("one", "echo one; echo 1 > file"),
        rig_shell("two", "cat file; echo two >&2"),
        {.name = view_of("three"),
         .kind = STEP_BUILD,
         .argv = {.v = (struct view[]){{"printf", 6}, {"<%s>", 4}, {"$HOME; a b", 10}}, .n = 3}},
    };
    struct msg_start job = rig_job(steps, 3);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_int_equal(rig.attempts_started, 1);
    assert_true(rig.finished);
    assert_int_equal(rig.result, RESULT_SUCCESS);
    assert_string_equal(rig.reason, "");
    assert_step(&rig, 1, RESULT_SUCCESS, 0, "");
    assert_string_equal(rig_log(&rig, 1), "one\n");
    assert_string_equal(rig_log(&rig, 2), "1\ntwo\n");
    assert_string_equal(rig_log(&rig, 3), "<$HOME; a b>");
    assert_int_equal(rig.steps[1].killed, 0);
    assert_true(rig.steps[1].max_rss_bytes > 0);
    rig_close(&rig);
}

static void test_a_failure_stops_all_but_always(void **state)
{
    struct msg_step steps[] = {
        rig_shell("bad", "echo before; false; echo after"),
        rig_shell("next", "echo next"),
        rig_shell("clean", "echo clean"),
        rig_shell("last", "echo last"),
    };
    struct msg_start job = rig_job(steps, 4);
    struct rig rig;

    (void)state;
    steps[2].always = true;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_step(&rig, 1, RESULT_FAILURE, 1, "exit code 1");
    assert_string_equal(rig_log(&rig, 1), "before\n"); /* as of sh -e */
    assert_step(&rig, 2, RESULT_SKIPPED, -1, "");
    assert_false(rig.steps[2].started);
    assert_step(&rig, 3, RESULT_SUCCESS, 0, "");
    assert_step(&rig, 4, RESULT_SKIPPED, -1, "");
    assert_int_equal(rig.result, RESULT_FAILURE);
    assert_string_equal(rig.reason, "bad: exit code 1");
    rig_close(&rig);
}

static void test_policies(void **state)
{
    struct msg_step steps[] = {
        rig_shell("warns", "exit 3"),
        rig_shell("goes-on", "exit 4"),
        rig_shell("good", "true"),
    };
    struct msg_start job = rig_job(steps, 3);
    struct rig rig;

    (void)state;
    steps[0].on_failure = ON_FAILURE_WARN;
    steps[1].on_failure = ON_FAILURE_CONTINUE;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_step(&rig, 1, RESULT_FAILURE, 3, "exit code 3");
    assert_step(&rig, 2, RESULT_FAILURE, 4, "exit code 4");
    assert_step(&rig, 3, RESULT_SUCCESS, 0, "");
    assert_int_equal(rig.result, RESULT_FAILURE);
    assert_string_equal(rig.reason, "goes-on: exit code 4");

    steps[1].on_failure = ON_FAILURE_WARN;
    rig_run(&rig, &job);
    assert_int_equal(rig.result, RESULT_WARNINGS);
    assert_string_equal(rig.reason, "warns: exit code 3");
    rig_close(&rig);
}

static void test_signals_and_missing_programs(void **state)
{
    struct msg_step steps[] = {
        rig_shell("killed", "kill -SEGV $$"),
        {.name = view_of("missing"),
         .kind = STEP_BUILD,
         .on_failure = ON_FAILURE_CONTINUE,
         .argv = {.v = (struct view[]){{"tailrace-no-such-program", 24}}, .n = 1}},
        {.name = view_of("no-exec"),
         .kind = STEP_BUILD,
         .on_failure = ON_FAILURE_CONTINUE,
         .argv = {.v = (struct view[]){{"/etc/passwd", 11}}, .n = 1}},
        rig_shell("no-dir", "true"),
    };
    struct msg_start job = rig_job(steps, 4);
    struct rig rig;

    (void)state;
    steps[0].on_failure = ON_FAILURE_CONTINUE;
    steps[3].dir = view_of("not/there");
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_step(&rig, 1, RESULT_FAILURE, -1, "ended by signal 11 (Segmentation fault)");
    assert_int_equal(rig.steps[2].result, RESULT_FAILURE);
    assert_int_equal(rig.steps[2].exit_code, 127);
    assert_non_null(strstr(rig.steps[2].reason, "tailrace-no-such-program"));
    assert_true(rig_log_has(&rig, 2, "tailrace: "));
    assert_int_equal(rig.steps[3].result, RESULT_FAILURE);
    assert_int_equal(rig.steps[3].exit_code, 126);
    assert_int_equal(rig.steps[4].result, RESULT_FAILURE);
    assert_int_equal(rig.steps[4].exit_code, 127);
    assert_non_null(strstr(rig.steps[4].reason, "not/there"));
    assert_int_equal(rig.result, RESULT_FAILURE);
    rig_close(&rig);
}

static bool has_line(struct rig *rig, uint32_t step, const char *line)
{
    char *text = xasprintf("\n%s\n", line);
    char *log = xasprintf("\n%s", rig_log(rig, step));
    bool has = strstr(log, text) != NULL;

    if (!has)
        print_error("no line %s in\n%s\n", line, log);
    free(log);
    free(text);
    return has;
}

static void test_environment(void **state)
{
    struct msg_pair build_env[] = {{view_of("A"), view_of("build")},
                                   {view_of("B"), view_of("b=1")}};
    struct msg_pair step_env[] = {{view_of("A"), view_of("two\nlines")},
                                  {view_of("TAILRACE_MARK"), view_of("none")}};
    struct msg_step steps[] = {rig_shell("env", "env"), rig_shell("step", "echo \"<$A>\"; env"),
                               rig_shell("tmp", "cd \"$TMPDIR\"; mkdir d; : > d/f; pwd")};
    struct msg_start job = rig_job(steps, 3);
    struct rig rig;
    char *tmp;

    (void)state;
    job.branch = view_of("-x $(touch /tmp/owned) `id`");
    job.revision = view_of("abc");
    job.env.v = build_env;
    job.env.n = 2;
    steps[1].env.v = step_env;
    steps[1].env.n = 2;
    assert_int_equal(setenv("TAILRACE_TEST_LEAK", "1", 1), 0);
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_int_equal(rig.result, RESULT_SUCCESS);
    assert_true(has_line(&rig, 1, "TAILRACE=1"));
    assert_true(has_line(&rig, 1, "CI=true"));
    assert_true(has_line(&rig, 1, "TAILRACE_BUILD=7"));
    assert_true(has_line(&rig, 1, "TAILRACE_BUILDER=b"));
    assert_true(has_line(&rig, 1, "TAILRACE_PROJECT=p"));
    assert_true(has_line(&rig, 1, "TAILRACE_BRANCH=-x $(touch /tmp/owned) `id`"));
    assert_true(has_line(&rig, 1, "TAILRACE_REVISION=abc"));
    assert_true(has_line(&rig, 1, "TAILRACE_SLAVE=slave-1"));
    assert_true(has_line(&rig, 1, "TAILRACE_URL=http://ci.example.org/builds/7"));
    assert_true(has_line(&rig, 1, "TAILRACE_TRY="));
    assert_true(has_line(&rig, 1, "TAILRACE_UNITS="));
    assert_true(has_line(&rig, 1, "TAILRACE_ITERATION="));
    assert_true(has_line(&rig, 1, "A=build"));
    assert_true(has_line(&rig, 1, "B=b=1"));
    assert_true(rig_log_has(&rig, 1, "\nPATH=/"));
    assert_true(rig_log_has(&rig, 1, "HOME=/"));
    assert_false(rig_log_has(&rig, 1, "TAILRACE_TEST_LEAK"));
    assert_true(rig_log_has(&rig, 2, "<two\nlines>"));
    assert_false(rig_log_has(&rig, 2, "TAILRACE_MARK=none"));
    assert_true(rig_log_has(&rig, 2, "TAILRACE_MARK="));
    tmp = xstrndup(rig_log(&rig, 3), strcspn(rig_log(&rig, 3), "\n"));
    assert_non_null(strstr(tmp, "/work/b/tmp-7-1"));
    assert_false(fs_exists(tmp));
    free(tmp);
    rig_close(&rig);
}

static void test_folders(void **state)
{
    struct msg_step steps[] = {rig_shell("make", "mkdir -p sub/dir; pwd"), rig_shell("in", "pwd")};
    struct msg_start job = rig_job(steps, 2);
    struct rig rig;
    char *expected;
    char *real;

    (void)state;
    steps[1].dir = view_of("sub/dir");
    rig_open(&rig);
    rig_run(&rig, &job);
    real = realpath(rig.dir, NULL);
    expected = xasprintf("%s/work/b/src/sub/dir\n", real);
    assert_string_equal(rig_log(&rig, 2), expected);
    free(expected);
    free(real);
    rig_close(&rig);
}

static void test_work_folder_cannot_be_made(void **state)
{
    struct msg_step steps[] = {rig_shell("one", "true"), rig_shell("always", "true")};
    struct msg_start job = rig_job(steps, 2);
    struct rig rig;

    (void)state;
    steps[1].always = true;
    rig_open(&rig);
    free(rig_sh(&rig, ": > work"));
    rig_run(&rig, &job);
    assert_int_equal(rig.result, RESULT_EXCEPTION);
    assert_non_null(strstr(rig.reason, "make the work folder"));
    assert_step(&rig, 1, RESULT_SKIPPED, -1, "");
    assert_step(&rig, 2, RESULT_SKIPPED, -1, "");
    rig_close(&rig);
}

static void test_streams_apart(void **state)
{
    struct msg_step steps[] = {rig_shell("two", "echo out; echo err >&2")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    steps[0].separate_stderr = true;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_string_equal(rig_log(&rig, 1), "out\n");
    assert_string_equal(str_cstr(&rig.steps[1].log[1]), "err\n");
    rig_close(&rig);
}

static void test_exact_bytes(void **state)
{
    struct msg_step steps[] = {rig_shell(
        "bytes", "head -c 3000000 /dev/urandom > f; printf '\\r\\0\\377\\n' >> f; cat f")};
    struct msg_start job = rig_job(steps, 1);
    struct str file = STR_INIT(1 << 24);
    struct err err = ERR_INIT;
    struct rig rig;
    char *path;

    (void)state;
    rig_open(&rig);
    rig_run(&rig, &job);
    path = rig_path(&rig, "work/b/src/f");
    assert_int_equal(fs_read(path, &file, &err), ERR_OK);
    assert_true(view_equal(str_view(&file), str_view(&rig.steps[1].log[0])));
    str_release(&file);
    free(path);
    rig_close(&rig);
}

static void test_a_step_ends_with_its_process(void **state)
{
    /* The background child keeps the pipe. */
    struct msg_step steps[] = {rig_shell("left", "sleep 300 & echo done; exit 3")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;
    uint64_t begin;

    (void)state;
    rig_open(&rig);
    begin = loop_now_ms(&rig.loop);
    rig_run(&rig, &job);
    assert_true(loop_now_ms(&rig.loop) - begin < 2000);
    assert_step(&rig, 1, RESULT_FAILURE, 3, "exit code 3");
    assert_true(rig_log_has(&rig, 1, "done\ntailrace: 1 process was still running"));
    assert_int_equal(rig.steps[1].killed, 1);
    rig_close(&rig);
}

static void test_what_the_dying_write_is_kept(void **state)
{
    struct msg_step steps[] = {
        rig_shell("last-words", "mkfifo ready; sh -c 'trap \"echo bye; exit\" TERM; echo > ready; "
                                "while :; do sleep 0.01; done' & read x < ready; echo end")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig_run(&rig, &job);
    assert_int_equal(rig.result, RESULT_SUCCESS);
    assert_true(rig_log_has(&rig, 1, "bye\n"));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_run_in_order),
        cmocka_unit_test(test_a_failure_stops_all_but_always),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_signals_and_missing_programs),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_work_folder_cannot_be_made),
        cmocka_unit_test(test_streams_apart),
        cmocka_unit_test(test_exact_bytes),
        cmocka_unit_test(test_a_step_ends_with_its_process),
        cmocka_unit_test(test_what_the_dying_write_is_kept),
    };

    return cmocka_run_group_tests_name("slave/runner", tests, NULL, NULL);
}

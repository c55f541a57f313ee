/* What is asked for, what waits for what, and who gets the next slot. */
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
    "master: {listen: '127.0.0.1:0', dependency_timeout: 1h}\n"                                    \
    "pools: {p: {}, latest: {backlog: latest}}\n"                                                  \
    "slaves:\n"                                                                                    \
    "  s: {pools: [p, latest], slots: 8}\n"                                                        \
    "  big: {pools: [p], labels: [big]}\n"                                                         \
    "projects: {j: {git: /srv/j.git, branches: [main, 'release-*']}}\n"                            \
    "builders:\n"
#define BUILDER(name, more) "  " name ": {project: j, pool: p, " more "steps: [{build: make}]}\n"

/* a, then b and c, then d after both. */
#define DIAMOND                                                                                    \
    HEAD BUILDER("a", "") BUILDER("b", "after: a, ") BUILDER("c", "after: a, ")                    \
        BUILDER("d", "after: [b, c], ")

static struct puppet *wide_puppet(struct masterbench *bench)
{
    struct puppet_hello hello = {.name = "s", .slots = 8};

    return bench_puppet_with(bench, &hello);
}

/* Runs the attempt to its end in one go. */
static void run(struct masterbench *bench, struct puppet *puppet, uint64_t build,
                enum build_result result)
{
    bench_begin(bench, puppet, build, 1);
    bench_end(bench, puppet, build, 1, 3, result);
}

static struct command *change(struct masterbench *bench, const char *branch, const char *revision)
{
    struct command *command = command_new(COMMAND_CHANGE);

    command->change_asked.project = xstrdup("j");
    command->change_asked.branch = xstrdup(branch);
    command->change_asked.revision = xstrdup(revision);
    return bench_ask(bench, command);
}

/* --- after --- */

static void test_diamond(void **state)
{
    struct masterbench *bench = bench_new(DIAMOND);
    struct puppet *s;
    struct build_info row;

    *state = bench;
    s = wide_puppet(bench);
    assert_int_equal(bench_force(bench, "a", NULL), 1);
    for (uint64_t id = 2; id <= 4; id++)
        (void)bench_expect(bench, id, BUILD_WAITING, RESULT_NONE);
    assert_true(bench_told(bench, "build 4 waiting"));
    bench_begin(bench, s, 1, 1);
    puppet_record(s, 1, 1, 3, &(struct msg){.type = REC_REVISION, .u.revision = {{"cafe", 4}}});
    bench_end(bench, s, 1, 1, 4, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1"));
    assert_true(puppet_heard(s, "START 3/1"));
    assert_true(view_is(puppet_start(s)->revision, "cafe"));
    run(bench, s, 2, RESULT_WARNINGS);
    (void)bench_expect(bench, 4, BUILD_WAITING, RESULT_NONE);
    row = bench_row(bench, 4);
    assert_string_equal(row.revision, "cafe");
    build_info_release(&row);
    run(bench, s, 3, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 4/1"));
    assert_true(view_is(puppet_start(s)->revision, "cafe"));
    run(bench, s, 4, RESULT_SUCCESS);
    (void)bench_expect(bench, 4, BUILD_FINISHED, RESULT_SUCCESS);
}

static void test_revision_of_a_burst_is_passed_on(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", "") BUILDER("b", "after: a, "));
    struct msg records[] = {record_attempt_started(), record_revision("cafe"),
                            record_attempt_finished(RESULT_SUCCESS, "")};
    struct puppet *s;

    *state = bench;
    s = wide_puppet(bench);
    bench_force(bench, "a", NULL);
    for (uint64_t i = 0; i < 3; i++)
        puppet_record(s, 1, 1, i + 1, &records[i]);
    bench_settle(bench);
    assert_true(puppet_heard(s, "START 2/1"));
    assert_true(view_is(puppet_start(s)->revision, "cafe"));
}

static void test_skips_go_down(void **state)
{
    struct masterbench *bench = bench_new(DIAMOND);
    struct puppet *s;

    *state = bench;
    s = wide_puppet(bench);
    bench_force(bench, "a", NULL);
    run(bench, s, 1, RESULT_SUCCESS);
    run(bench, s, 2, RESULT_FAILURE);
    assert_string_equal(bench_expect(bench, 4, BUILD_FINISHED, RESULT_SKIPPED),
                        "b (build 2) ended with failure");
    run(bench, s, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 4, BUILD_FINISHED, RESULT_SKIPPED);
    bench_force(bench, "a", NULL);
    run(bench, s, 5, RESULT_EXCEPTION);
    for (uint64_t id = 6; id <= 8; id++)
        (void)bench_expect(bench, id, BUILD_FINISHED, RESULT_SKIPPED);
    assert_false(puppet_heard(s, "START 6/1"));
    assert_null(builds_find(bench->hub.builds, 8));
}

static void test_cancel_queued_skips_the_waiting(void **state)
{
    struct masterbench *bench = bench_new(DIAMOND);
    struct command *command;

    *state = bench;
    bench_force(bench, "a", NULL);
    command = bench_cancel(bench, 1, "no");
    assert_int_equal(command->err.code, ERR_OK);
    assert_string_equal(bench_expect(bench, 1, BUILD_FINISHED, RESULT_CANCELLED), "no");
    for (uint64_t id = 2; id <= 4; id++)
        (void)bench_expect(bench, id, BUILD_FINISHED, RESULT_SKIPPED);
    assert_int_equal(bench_cancel(bench, 1, "no")->err.code, ERR_NOTFOUND);
    assert_int_equal(bench_cancel(bench, 999, "no")->err.code, ERR_NOTFOUND);
}

static void test_cancel_waiting(void **state)
{
    struct masterbench *bench = bench_new(DIAMOND);
    struct puppet *s;

    *state = bench;
    s = wide_puppet(bench);
    bench_force(bench, "a", NULL);
    bench_cancel(bench, 2, "no");
    (void)bench_expect(bench, 2, BUILD_FINISHED, RESULT_CANCELLED);
    (void)bench_expect(bench, 4, BUILD_FINISHED, RESULT_SKIPPED);
    run(bench, s, 1, RESULT_SUCCESS);
    assert_false(puppet_heard(s, "START 2/1"));
    assert_true(puppet_heard(s, "START 3/1"));
}

/* Cancelled between the end of what it waited for and the disk. */
static void test_cancel_while_it_is_released(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", "") BUILDER("b", "after: a, "));
    struct msg step = record_step_finished(1, RESULT_SUCCESS);
    struct msg end = record_attempt_finished(RESULT_SUCCESS, "");
    struct puppet *s;
    bool already;

    *state = bench;
    s = wide_puppet(bench);
    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_disk_fill(bench);
    puppet_record(s, 1, 1, 3, &step);
    puppet_record(s, 1, 1, 4, &end);
    bench_disk_full(bench);
    assert_int_equal(builds_cancel(bench->hub.builds, 2, "no", &already, NULL), ERR_OK);
    bench_disk_free(bench);
    assert_string_equal(bench_expect(bench, 2, BUILD_FINISHED, RESULT_CANCELLED), "no");
    assert_false(puppet_heard(s, "START 2/1"));
}

static void test_dependency_limit(void **state)
{
    struct masterbench *bench = bench_new(DIAMOND);

    *state = bench;
    bench_force(bench, "a", NULL);
    bench_advance(bench, 3599000);
    (void)bench_expect(bench, 2, BUILD_WAITING, RESULT_NONE);
    bench_advance(bench, 2000);
    assert_non_null(strstr(bench_expect(bench, 2, BUILD_FINISHED, RESULT_EXCEPTION),
                           "dependency limit: waited 1 h"));
    (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
}

/* A forced builder in the middle does not wait, and what comes after it follows. */
static void test_force_in_the_middle(void **state)
{
    struct masterbench *bench = bench_new(DIAMOND);
    struct puppet *s;

    *state = bench;
    s = wide_puppet(bench);
    assert_int_equal(bench_force(bench, "b", NULL), 1);
    assert_true(puppet_heard(s, "START 1/1"));
    (void)bench_expect(bench, 2, BUILD_WAITING, RESULT_NONE);
    run(bench, s, 1, RESULT_SUCCESS);
    assert_true(view_is(puppet_start(s)->builder, "d"));
}

static void test_change_builds_the_branch(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", "") BUILDER(
        "b", "branches: [main], after: a, ") BUILDER("r", "branches: ['release-*'], "));
    struct command *command;

    *state = bench;
    command = change(bench, "main", "aa11");
    assert_int_equal(command->err.code, ERR_OK);
    assert_int_equal(command->change.id, 1);
    assert_int_equal(command->n_build_ids, 2);
    assert_true(bench_told(bench, "change 1"));
    command = change(bench, "release-2", "bb22");
    assert_int_equal(command->n_build_ids, 2);
    command = change(bench, "other", "cc33");
    assert_int_equal(command->err.code, ERR_OK);
    assert_int_equal(command->n_build_ids, 0);
    command = change(bench, "main", "aa11");
    assert_true(command->already);
    assert_int_equal(command->change.id, 1);
    command = change(bench, "main", "dd44");
    assert_false(command->already);
    command = change(bench, "main", "aa11");
    assert_false(command->already);
}

/* --- the queue --- */

static void test_fifo_and_priority(void **state)
{
    struct masterbench *bench =
        bench_new(HEAD BUILDER("a", "") BUILDER("low", "priority: low, ") BUILDER("b", ""));
    struct command *command = command_new(COMMAND_FORCE);
    struct puppet *s;

    *state = bench;
    change(bench, "main", "aa11"); /* 1 to 3: a, low, b */
    command->name = xstrdup("a");
    command->has_priority = true;
    command->priority = PRIORITY_LOW;
    bench_ask(bench, command);     /* 4 */
    bench_force(bench, "a", NULL); /* 5: high */
    s = bench_puppet(bench, "s");
    assert_true(puppet_heard(s, "START 5/1"));
    run(bench, s, 5, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 1/1"));
    run(bench, s, 1, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 3/1"));
    run(bench, s, 3, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1"));
    run(bench, s, 2, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 4/1"));
}

static void test_labels(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", "needs: [big], ") BUILDER("b", ""));
    struct puppet *s, *big;

    *state = bench;
    s = wide_puppet(bench);
    bench_force(bench, "a", NULL);
    bench_force(bench, "b", NULL);
    assert_false(puppet_heard(s, "START 1/1"));
    assert_true(puppet_heard(s, "START 2/1"));
    big = bench_puppet(bench, "big");
    assert_true(puppet_heard(big, "START 1/1"));
}

static void test_max_running(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", "max_running: 1, ") BUILDER("b", ""));
    struct puppet *s;

    *state = bench;
    s = wide_puppet(bench);
    for (int i = 0; i < 3; i++)
        bench_force(bench, "a", NULL);
    bench_force(bench, "b", NULL);
    assert_true(puppet_heard(s, "START 1/1"));
    assert_true(puppet_heard(s, "START 4/1"));
    assert_false(puppet_heard(s, "START 2/1"));
    run(bench, s, 1, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1"));
    assert_false(puppet_heard(s, "START 3/1"));
    bench_cancel(bench, 2, "no");
    bench_begin(bench, s, 2, 1);
    bench_end(bench, s, 2, 1, 3, RESULT_CANCELLED);
    assert_true(puppet_heard(s, "START 3/1"));
}

/* A build that is lost takes its turn in the queue again, and lets others run meanwhile. */
static void test_max_running_of_a_lost_build(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", "max_running: 1, lost_after: 5s, "));
    struct puppet *s, *big;

    *state = bench;
    big = bench_puppet(bench, "big");
    bench_force(bench, "a", NULL);
    bench_begin(bench, big, 1, 1);
    s = wide_puppet(bench);
    fake_clock_advance(&bench->clock, 1);
    bench_force(bench, "a", NULL);
    puppet_cut(big, 0);
    bench_settle(bench);
    assert_false(puppet_heard(s, "START 2/1"));
    bench_advance(bench, 6000);
    assert_true(puppet_heard(s, "START 1/2"));
    assert_false(puppet_heard(s, "START 2/1"));
    bench_cancel(bench, 1, "no");
    puppet_cut(s, 0);
    bench_settle(bench);
    s = wide_puppet(bench);
    assert_true(puppet_heard(s, "START 2/1"));
}

static void test_slots(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", ""));
    struct puppet_hello hello = {.name = "s", .slots = 2};
    struct puppet *s;

    *state = bench;
    s = bench_puppet_with(bench, &hello);
    for (int i = 0; i < 3; i++)
        bench_force(bench, "a", NULL);
    assert_true(puppet_heard(s, "START 2/1"));
    assert_false(puppet_heard(s, "START 3/1"));
    run(bench, s, 1, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 3/1"));
}

#define LATEST(name, more)                                                                         \
    "  " name ": {project: j, pool: latest, " more "steps: [{build: make}]}\n"

static void test_backlog_latest(void **state)
{
    struct masterbench *bench = bench_new(HEAD LATEST("a", "") LATEST("b", ""));
    struct puppet *s;
    struct build_info row;

    *state = bench;
    change(bench, "main", "aa11");      /* 1 a, 2 b */
    change(bench, "release-1", "aa22"); /* 3 a, 4 b */
    change(bench, "main", "bb11");      /* 5 a, 6 b */
    assert_non_null(
        strstr(bench_expect(bench, 1, BUILD_FINISHED, RESULT_SKIPPED), "build 5 took its place"));
    (void)bench_expect(bench, 2, BUILD_FINISHED, RESULT_SKIPPED);
    row = bench_row(bench, 2);
    assert_int_equal(row.stands_for_id, 6);
    build_info_release(&row);
    (void)bench_expect(bench, 3, BUILD_QUEUED, RESULT_NONE);
    s = wide_puppet(bench);
    assert_true(puppet_heard(s, "START 5/1"));
    change(bench, "main", "cc11"); /* 7 a, 8 b: nothing is queued, the running ones go on */
    (void)bench_expect(bench, 5, BUILD_RUNNING, RESULT_NONE);
}

/* A request that had to wait for another build comes into the queue behind a newer one. */
static void test_backlog_latest_after_waiting(void **state)
{
    struct masterbench *bench =
        bench_new(HEAD BUILDER("a", "") LATEST("t", "after: a, max_running: 1, "));
    struct puppet *s;

    *state = bench;
    s = wide_puppet(bench);
    bench_force(bench, "a", NULL); /* 1 a, 2 t */
    run(bench, s, 1, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1")); /* so that others queue up */
    change(bench, "main", "aa11");             /* 3 a, 4 t */
    change(bench, "main", "bb11");             /* 5 a, 6 t */
    run(bench, s, 5, RESULT_SUCCESS);
    (void)bench_expect(bench, 6, BUILD_QUEUED, RESULT_NONE);
    run(bench, s, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 6, BUILD_QUEUED, RESULT_NONE);
    assert_non_null(
        strstr(bench_expect(bench, 4, BUILD_FINISHED, RESULT_SKIPPED), "build 6 took its place"));
}

static void test_pause(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", ""));
    struct command *command = command_new(COMMAND_POOL_PAUSE);
    struct puppet *s;

    *state = bench;
    s = wide_puppet(bench);
    command->name = xstrdup("p");
    bench_ask(bench, command);
    assert_int_equal(command->err.code, ERR_OK);
    assert_true(command->pool.paused);
    bench_force(bench, "a", NULL);
    bench_restart(bench);
    s = wide_puppet(bench);
    assert_false(puppet_heard(s, "START 1/1"));
    command = command_new(COMMAND_POOL_RESUME);
    command->name = xstrdup("p");
    bench_ask(bench, command);
    assert_true(puppet_heard(s, "START 1/1"));
    command = command_new(COMMAND_POOL_PAUSE);
    command->name = xstrdup("none");
    assert_int_equal(bench_ask(bench, command)->err.code, ERR_NOTFOUND);
}

static void test_pool_counters(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", ""));
    struct puppet *s;

    *state = bench;
    bench_force(bench, "a", NULL);
    bench_force(bench, "a", NULL);
    bench_advance(bench, 100);
    assert_true(bench_told(bench, "pool p 2 0"));
    s = bench_puppet(bench, "s");
    bench_advance(bench, 100);
    assert_true(bench_told(bench, "pool p 1 1"));
    assert_true(bench_told(bench, "slave s busy"));
    run(bench, s, 1, RESULT_SUCCESS);
    run(bench, s, 2, RESULT_SUCCESS);
    bench_advance(bench, 100);
    assert_true(bench_told(bench, "pool p 0 0"));
    assert_true(bench_told(bench, "slave s idle"));
}

/* --- a disk that takes nothing --- */

static void test_full_disk(void **state)
{
    struct masterbench *bench = bench_new(HEAD BUILDER("a", ""));
    struct command *command;
    struct puppet *s;

    *state = bench;
    s = bench_puppet(bench, "s");
    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_force(bench, "a", NULL);
    bench_disk_fill(bench);
    puppet_clear(s);
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    bench_disk_full(bench);
    assert_string_equal(puppet_lines(s), "");
    assert_true(bench_told(bench, "health bad"));
    command = command_new(COMMAND_FORCE);
    command->name = xstrdup("a");
    bench_ask(bench, command);
    assert_true(bench->answered);
    assert_int_equal(command->err.code, ERR_NOSPACE);
    assert_int_equal(bench_cancel(bench, 2, "no")->err.code, ERR_NOSPACE);
    bench_disk_free(bench);
    assert_true(bench_told(bench, "health good"));
    assert_true(puppet_heard(s, "FORGET 1/1"));
    assert_true(puppet_heard(s, "START 2/1"));
    assert_int_equal(bench_force(bench, "a", NULL), 3);
}

#define test(name) cmocka_unit_test_teardown(name, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_diamond),
        test(test_revision_of_a_burst_is_passed_on),
        test(test_skips_go_down),
        test(test_cancel_queued_skips_the_waiting),
        test(test_cancel_waiting),
        test(test_cancel_while_it_is_released),
        test(test_dependency_limit),
        test(test_force_in_the_middle),
        test(test_change_builds_the_branch),
        test(test_fifo_and_priority),
        test(test_labels),
        test(test_max_running),
        test(test_max_running_of_a_lost_build),
        test(test_slots),
        test(test_backlog_latest),
        test(test_backlog_latest_after_waiting),
        test(test_pause),
        test(test_pool_counters),
        test(test_full_disk),
    };

    return cmocka_run_group_tests_name("builds", tests, NULL, NULL);
}

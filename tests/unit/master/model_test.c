#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/mem.h"
#include "master/model.h"

static void test_names_go_both_ways(void **state)
{
    enum build_state build;
    enum priority priority;

    (void)state;
    for (unsigned i = BUILD_WAITING; i <= BUILD_FINISHED; i++) {
        assert_true(build_state_of_name(build_state_name((enum build_state)i), &build));
        assert_int_equal(build, i);
    }
    for (unsigned i = 0; i < PRIORITY_COUNT; i++) {
        assert_true(priority_of_name(priority_name((enum priority)i), &priority));
        assert_int_equal(priority, i);
    }
    assert_false(build_state_of_name("Queued", &build));
    assert_false(build_state_of_name(NULL, &build));
    assert_false(build_state_of_name("?", &build));
    assert_false(priority_of_name("", &priority));
    assert_string_equal(build_state_name((enum build_state)0), "?");
    assert_string_equal(build_state_name((enum build_state)99), "?");
    assert_string_equal(slave_state_name(SLAVE_QUARANTINED), "quarantined");
    assert_string_equal(step_state_name(STEP_FINISHED), "finished");
}

/* Sanitizers see a string that two records own, or none. */
static void test_copies_stand_alone(void **state)
{
    struct change_info change = {.id = 7, .project = xstrdup("p"), .branch = xstrdup("b")};
    struct slave_info slave = {.name = xstrdup("s"), .slots = 2};
    struct change_info change_copy = {0};
    struct slave_info slave_copy = {0};

    (void)state;
    vec_push(&change.files, xstrdup("src/main.c"));
    change_info_copy(&change_copy, &change);
    change_info_release(&change);
    assert_int_equal(change_copy.id, 7);
    assert_string_equal(change_copy.branch, "b");
    assert_null(change_copy.author);
    assert_int_equal(change_copy.files.n, 1);
    assert_string_equal(change_copy.files.v[0], "src/main.c");
    change_info_release(&change_copy);
    vec_push(&slave.pools, xstrdup("linux"));
    vec_push(&slave.builds, 12);
    slave_info_copy(&slave_copy, &slave);
    slave_info_release(&slave);
    assert_int_equal(slave.builds.n, 0);
    assert_string_equal(slave_copy.pools.v[0], "linux");
    assert_int_equal(slave_copy.builds.v[0], 12);
    assert_int_equal(slave_copy.labels.n, 0);
    slave_info_release(&slave_copy);
}

static void test_all_records_copy_and_release(void **state)
{
    struct build_info build = {.builder = xstrdup("b"), .note = xstrdup("n")}, build_copy = {0};
    struct attempt_info attempt = {.slave = xstrdup("s"), .last = 3}, attempt_copy = {0};
    struct step_info step = {.name = xstrdup("x"), .log = {{1, 2, 3}}}, step_copy = {0};
    struct set_info set = {.reason = xstrdup("r")}, set_copy = {0};
    struct pool_info pool = {.name = xstrdup("p"), .paused = true}, pool_copy = {0};

    (void)state;
    build_info_copy(&build_copy, &build);
    attempt_info_copy(&attempt_copy, &attempt);
    step_info_copy(&step_copy, &step);
    set_info_copy(&set_copy, &set);
    pool_info_copy(&pool_copy, &pool);
    build_info_release(&build);
    attempt_info_release(&attempt);
    step_info_release(&step);
    set_info_release(&set);
    pool_info_release(&pool);
    assert_null(build.builder);
    assert_string_equal(build_copy.note, "n");
    assert_int_equal(attempt_copy.last, 3);
    assert_int_equal(step_copy.log[0].stored_bytes, 3);
    assert_string_equal(set_copy.reason, "r");
    assert_true(pool_copy.paused);
    build_info_release(&build_copy);
    attempt_info_release(&attempt_copy);
    step_info_release(&step_copy);
    set_info_release(&set_copy);
    pool_info_release(&pool_copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_go_both_ways),
        cmocka_unit_test(test_copies_stand_alone),
        cmocka_unit_test(test_all_records_copy_and_release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "slave/envlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_later_values_win(void **state)
{
    struct envlist env = ENVLIST_INIT;
    struct envlist more = ENVLIST_INIT;
    char *const *array;

    (void)state;
    envlist_set(&env, "A", "1");
    envlist_set(&env, "AB", "2");
    envlist_set(&env, "A", "");
    envlist_set_view(&env, view_of("C"), view_bytes("x=y", 3));
    envlist_put(&env, "AB=3=4");
    envlist_put(&more, "C=z");
    envlist_add(&env, &more);
    array = envlist_array(&env);
    assert_string_equal(array[0], "A=");
    assert_string_equal(array[1], "AB=3=4");
    assert_string_equal(array[2], "C=z");
    assert_null(array[3]);
    assert_string_equal(envlist_get(&env, "AB"), "3=4");
    assert_null(envlist_get(&env, "B"));
    envlist_set(&env, "D", "4"); /* the end moves along */
    assert_null(envlist_array(&env)[4]);
    envlist_release(&more);
    envlist_release(&env);
}

static void test_the_base_is_small(void **state)
{
    struct envlist env = ENVLIST_INIT;

    (void)state;
    assert_int_equal(setenv("TAILRACE_TEST_LEAK", "1", 1), 0);
    assert_int_equal(setenv("PATH", "/a:/b", 1), 0);
    assert_int_equal(setenv("TZ", "Europe/Vienna", 1), 0);
    assert_int_equal(unsetenv("LANG"), 0);
    envlist_base(&env);
    assert_null(envlist_get(&env, "TAILRACE_TEST_LEAK"));
    assert_string_equal(envlist_get(&env, "PATH"), "/a:/b");
    assert_string_equal(envlist_get(&env, "TZ"), "Europe/Vienna");
    assert_string_equal(envlist_get(&env, "LANG"), "C.UTF-8");
    assert_non_null(envlist_get(&env, "HOME"));
    assert_non_null(envlist_get(&env, "USER"));
    assert_int_equal(env.vars.n, 6);
    envlist_release(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later_values_win),
        cmocka_unit_test(test_the_base_is_small),
    };

    return cmocka_run_group_tests_name("slave/envlist", tests, NULL, NULL);
}

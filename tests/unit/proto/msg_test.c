#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/msg.h"

static void names_and_back(void **state)
{
    (void)state;
    for (int r = RESULT_SUCCESS; r <= RESULT_LAST; r++)
        assert_int_equal(result_of_name(result_name((enum build_result)r)), r);
    for (int k = STEP_CHECKOUT; k <= STEP_KIND_LAST; k++)
        assert_int_equal(step_kind_of_name(step_kind_name((enum step_kind)k)), k);
}

static void words(void **state)
{
    (void)state;
    assert_string_equal(result_name(RESULT_SUCCESS), "success");
    assert_string_equal(result_name(RESULT_CANCELLED), "cancelled");
    assert_string_equal(step_kind_name(STEP_BENCHMARK), "benchmark");
}

static void numbers_and_words_that_are_none(void **state)
{
    (void)state;
    assert_string_equal(result_name((enum build_result)(RESULT_LAST + 1)), "?");
    assert_string_equal(step_kind_name((enum step_kind)0), "?");
    assert_string_equal(step_kind_name((enum step_kind)(STEP_KIND_LAST + 1)), "?");
    assert_int_equal(result_of_name("succes"), RESULT_NONE);
    assert_int_equal(result_of_name(NULL), RESULT_NONE);
    assert_int_equal(step_kind_of_name(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_back),
        cmocka_unit_test(words),
        cmocka_unit_test(numbers_and_words_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

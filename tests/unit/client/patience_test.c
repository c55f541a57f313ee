#include "client/patience.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t mono_ms;

static uint64_t test_mono_ms(const struct clock *clock)
{
    (void)clock;
    return mono_ms;
}

static int64_t test_wall_ms(const struct clock *clock)
{
    (void)clock;
    return 0;
}

static const struct clock test_clock = {test_mono_ms, test_wall_ms};

static void test_pauses_double_to_a_cap(void **state)
{
    struct retry retry = RETRY_INIT;

    (void)state;
    assert_int_equal(retry_base_ms(0), 250);
    assert_int_equal(retry_base_ms(1), 500);
    assert_int_equal(retry_base_ms(5), 8000);
    assert_int_equal(retry_base_ms(1000), 8000);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t ms = retry_next_ms(&retry);

        assert_in_range(ms, retry_base_ms(i) / 2, retry_base_ms(i));
    }
}

static void test_no_master_at_first_is_an_error(void **state)
{
    struct patience p = PATIENCE_INIT(&test_clock, 1000);

    (void)state;
    assert_int_equal(patience_judge(&p, ERR_IO), PATIENCE_OVER);
}

static void test_a_restart_is_told_once(void **state)
{
    struct patience p = PATIENCE_INIT(&test_clock, 1000);

    (void)state;
    mono_ms = 5000;
    assert_false(patience_heard(&p));
    mono_ms = 6000;
    assert_int_equal(patience_judge(&p, ERR_TIMEOUT), PATIENCE_AGAIN);
    assert_int_equal(patience_judge(&p, ERR_AGAIN), PATIENCE_TELL);
    assert_int_equal(patience_judge(&p, ERR_IO), PATIENCE_AGAIN);
    assert_true(patience_heard(&p));
    assert_false(patience_heard(&p));
    assert_int_equal(patience_judge(&p, ERR_IO), PATIENCE_TELL);
    mono_ms = 7001;
    assert_int_equal(patience_judge(&p, ERR_IO), PATIENCE_OVER);
}

static void test_refusals_are_final(void **state)
{
    struct patience p = PATIENCE_INIT(&test_clock, 1000);

    (void)state;
    (void)patience_heard(&p);
    assert_int_equal(patience_judge(&p, ERR_AUTH), PATIENCE_OVER);
    assert_int_equal(patience_judge(&p, ERR_NOTFOUND), PATIENCE_OVER);
    assert_int_equal(patience_judge(&p, ERR_CONFIG), PATIENCE_OVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses_double_to_a_cap),
        cmocka_unit_test(test_no_master_at_first_is_an_error),
        cmocka_unit_test(test_a_restart_is_told_once),
        cmocka_unit_test(test_refusals_are_final),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

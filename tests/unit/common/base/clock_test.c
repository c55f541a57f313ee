#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"

static void shows_rfc3339(void **state)
{
    char out[CLOCK_TEXT_MAX];

    (void)state;
    assert_string_equal(clock_rfc3339(0, out), "1970-01-01T00:00:00.000Z");
    assert_string_equal(clock_rfc3339(1769772840007, out), "2026-01-30T11:34:00.007Z");
    assert_string_equal(clock_rfc3339(951827696999, out), "2000-02-29T12:34:56.999Z");
    assert_string_equal(clock_rfc3339(-1, out), "1969-12-31T23:59:59.999Z");
    assert_string_equal(clock_rfc3339(-1000, out), "1969-12-31T23:59:59.000Z");
    /* The nearest that the format can say. */
    assert_string_equal(clock_rfc3339(INT64_MAX, out), "9999-12-31T23:59:59.999Z");
    assert_string_equal(clock_rfc3339(253402300800000, out), "9999-12-31T23:59:59.999Z");
    assert_string_equal(clock_rfc3339(INT64_MIN, out), "0000-01-01T00:00:00.000Z");
    assert_string_equal(clock_rfc3339(-62167219200000, out), "0000-01-01T00:00:00.000Z");
}

static void monotonic_time_does_not_go_back(void **state)
{
    const struct clock *clock = clock_system();
    uint64_t before = clock_mono_ms(clock);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t now = clock_mono_ms(clock);

        assert_true(now >= before);
        before = now;
    }
    assert_true(clock_wall_ms(clock) > 1577836800000); /* 2020 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_rfc3339),
        cmocka_unit_test(monotonic_time_does_not_go_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

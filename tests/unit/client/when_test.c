#include "client/when.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_times_are_read(void **state)
{
    (void)state;
    assert_int_equal(when_parse("1970-01-01T00:00:00.000Z"), 0);
    assert_int_equal(when_parse("2026-01-30T11:34:00.250Z"), 1769772840250);
    assert_int_equal(when_parse("2026-01-30T11:34:00Z"), 1769772840000);
    assert_int_equal(when_parse("2026-01-30T11:34:00.123456Z"), 1769772840123);
    assert_int_equal(when_parse("2026-01-30T11:34:00+00:00"), 1769772840000);
    assert_int_equal(when_parse(NULL), -1);
    assert_int_equal(when_parse(""), -1);
    assert_int_equal(when_parse("2026-01-30 11:34:00Z"), -1);
    assert_int_equal(when_parse("2026-01-30T11:34:00"), -1);
    assert_int_equal(when_parse("2026-13-30T11:34:00Z"), -1);
}

static void check_ago(int64_t ago_ms, const char *expected)
{
    char out[WHEN_MAX];
    int64_t now_ms = 1769772840000;

    assert_string_equal(when_ago(now_ms - ago_ms, now_ms, out), expected);
}

static void test_ago(void **state)
{
    char out[WHEN_MAX];

    (void)state;
    check_ago(0, "just now");
    check_ago(1999, "just now");
    check_ago(2000, "2 s ago");
    check_ago(119999, "119 s ago");
    check_ago(120000, "2 min ago");
    check_ago(2 * 3600000 - 1, "119 min ago");
    check_ago(2 * 3600000, "2 h ago");
    check_ago(49 * 3600000, "2 days ago");
    check_ago(-1500, "now");
    check_ago(-180000, "in 3 min");
    assert_string_equal(when_ago(-1, 5, out), "-");
}

static void test_contact(void **state)
{
    char out[WHEN_MAX];

    (void)state;
    assert_string_equal(when_contact(1000, 53000, 54000, out), "connected 53 s");
    assert_string_equal(when_contact(0, 0, 3 * 86400000, out), "connected 3 days");
    assert_string_equal(when_contact(-1, 1000, 64000, out), "seen 63 s ago");
    assert_string_equal(when_contact(-1, 0, 7200000, out), "seen 2 h ago");
    assert_string_equal(when_contact(-1, -1, 7200000, out), "never seen");
    /* The master's clock is ahead of ours. */
    assert_string_equal(when_contact(9000, 9000, 1000, out), "connected 0 s");
}

static void check_span(double seconds, const char *expected)
{
    char out[WHEN_MAX];

    assert_string_equal(when_span(seconds, out), expected);
}

static void test_spans(void **state)
{
    char out[WHEN_MAX];

    (void)state;
    check_span(0, "0.0 s");
    check_span(0.44, "0.4 s");
    check_span(9.94, "9.9 s");
    check_span(9.96, "10 s");
    check_span(59.6, "1 min 00 s");
    check_span(184, "3 min 04 s");
    check_span(7500, "2 h 05 min");
    check_span(-1, "-");
    check_span(0.0 / 0.0, "-");
    assert_string_equal(when_between(1000, 4500, out), "3.5 s");
    assert_string_equal(when_between(4500, 1000, out), "0.0 s");
    assert_string_equal(when_between(-1, 1000, out), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_are_read),
        cmocka_unit_test(test_ago),
        cmocka_unit_test(test_contact),
        cmocka_unit_test(test_spans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

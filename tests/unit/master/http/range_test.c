#include "master/http/range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void expect_part(const char *header, uint64_t size, uint64_t first, uint64_t n)
{
    uint64_t got_first = 0, got_n = 0;

    assert_int_equal(range_parse(header, size, &got_first, &got_n), RANGE_PART);
    assert_int_equal(got_first, first);
    assert_int_equal(got_n, n);
}

static void expect_kind(const char *header, uint64_t size, enum range_kind kind)
{
    uint64_t first, n;

    if (range_parse(header, size, &first, &n) != kind)
        fail_msg("%s of %d bytes", header ? header : "NULL", (int)size);
}

static void test_parts(void **state)
{
    (void)state;
    expect_part("bytes=0-0", 10, 0, 1);
    expect_part("bytes=0-9", 10, 0, 10);
    expect_part("Bytes=3-", 10, 3, 7);
    expect_part("bytes=9-99", 10, 9, 1);
    expect_part("bytes=-1", 10, 9, 1);
    expect_part("bytes=-99", 10, 0, 10);
    expect_part("bytes=5-18446744073709551615", 10, 5, 5);
}

static void test_outside(void **state)
{
    (void)state;
    expect_kind("bytes=10-", 10, RANGE_OUTSIDE);
    expect_kind("bytes=10-11", 10, RANGE_OUTSIDE);
    expect_kind("bytes=-0", 10, RANGE_OUTSIDE);
    expect_kind("bytes=0-", 0, RANGE_OUTSIDE);
    expect_kind("bytes=0-0", 0, RANGE_OUTSIDE);
    expect_kind("bytes=-5", 0, RANGE_OUTSIDE);
}

static void test_ignored(void **state)
{
    static const char *const headers[] = {NULL,
                                          "",
                                          "bytes",
                                          "bytes=",
                                          "bytes=-",
                                          "bytes=a-b",
                                          "bytes=1",
                                          "bytes=5-4",
                                          "bytes=0-1,3-4",
                                          "lines=1-2",
                                          "bytes=99999999999999999999-",
                                          "bytes=1-2x",
                                          "bytes=--1"};

    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        expect_kind(headers[i], 10, RANGE_NONE);
}

static void test_gzip(void **state)
{
    static const char *const yes[] = {
        "gzip",       "GZIP", "deflate, gzip",   "gzip;q=0.001",     "x-gzip",
        "gzip ; q=1", "*",    "br;q=0, *;q=0.1", "gzip;q=1.0, *;q=0"};
    static const char *const no[] = {NULL,           "",          "identity", "gzip;q=0",
                                     "gzip;q=0.000", "gzip; q=0", "*;q=0",    "gzip;q=0, *",
                                     "gzipped",      "deflate",   ",,,",      ";q=1"};

    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (!range_accepts_gzip(yes[i]))
            fail_msg("%s takes gzip", yes[i]);
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        if (range_accepts_gzip(no[i]))
            fail_msg("%s takes no gzip", no[i] ? no[i] : "NULL");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_outside),
        cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_gzip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

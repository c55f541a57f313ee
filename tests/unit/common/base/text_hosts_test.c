#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/text.h"

/* The expansion as "a b c". */
static void assert_expands(const char *pattern, const char *expected)
{
    text_list list = {NULL, 0, 0};
    struct str all = STR_INIT(10000);
    struct err err = ERR_INIT;

    if (text_expand_hosts(view_of(pattern), 100, &list, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < list.n; i++)
        str_printf(&all, "%s%s", i ? " " : "", list.v[i]);
    assert_string_equal(str_cstr(&all), expected);
    str_release(&all);
    text_list_release(&list);
}

static void expands(void **state)
{
    (void)state;
    assert_expands("linux", "linux");
    assert_expands("linux-[01-03]", "linux-01 linux-02 linux-03");
    assert_expands("n[8-11]", "n8 n9 n10 n11");
    assert_expands("n[08-11]x", "n08x n09x n10x n11x");
    assert_expands("n[00-1]", "n00 n01");
    assert_expands("[a,b,07-09]", "a b 07 08 09");
    assert_expands("r[1-2]n[1,2]", "r1n1 r1n2 r2n1 r2n2");
    assert_expands("[5]", "5");
    assert_expands("[5-5]", "5");
    assert_expands("[999999999999999998-999999999999999999]",
                   "999999999999999998 999999999999999999");
}

static void appends_or_leaves_alone(void **state)
{
    text_list list = {NULL, 0, 0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(text_expand_hosts(view_of("a[1-2]"), 2, &list, &err), ERR_OK);
    assert_int_equal(text_expand_hosts(view_of("b"), 2, &list, &err), ERR_OK);
    assert_int_equal(list.n, 3);
    assert_int_equal(text_expand_hosts(view_of("c[1-2]["), 100, &list, &err), ERR_CONFIG);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.v[2], "b");
    text_list_release(&list);
    assert_int_equal(list.n, 0);
}

static void refuses_bad_patterns(void **state)
{
    static const char *const bad[] = {
        "",      "[",      "a]",       "a[",     "a[]",     "a[1",
        "a[1-]", "a[-1]",  "a[1-2-3]", "a[3-1]", "a[1,,2]", "a[,1]",
        "a[1,]", "a[[1]]", "a[b-c]",   "a[1-x]", "a[1]]",   "a[1-9999999999999999999]",
    };
    text_list list = {NULL, 0, 0};
    struct err err = ERR_INIT;
    char lots[2000];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(text_expand_hosts(view_of(bad[i]), 1000, &list, &err), ERR_CONFIG);
        assert_int_equal(list.n, 0);
    }
    memset(lots, 'x', sizeof lots);
    assert_int_equal(text_expand_hosts(view_bytes(lots, sizeof lots), 10, &list, &err), ERR_CONFIG);
    assert_int_equal(text_expand_hosts(view_bytes("a\0b", 3), 10, &list, &err), ERR_CONFIG);
}

static void refuses_too_many(void **state)
{
    static const char *const many[] = {"a[1-101]",
                                       "[1-10][1-11]",
                                       "[1-100][1-2]",
                                       "a[1-999999999]",
                                       "[1-99][1-99][1-99][1-99][1-99]",
                                       "[1-100,x]"};
    text_list list = {NULL, 0, 0};
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        assert_int_equal(text_expand_hosts(view_of(many[i]), 100, &list, &err), ERR_LIMIT);
    assert_int_equal(text_expand_hosts(view_of("a"), 0, &list, &err), ERR_LIMIT);
    assert_int_equal(list.n, 0);
    assert_int_equal(text_expand_hosts(view_of("[1-10][1-10]"), 100, &list, &err), ERR_OK);
    assert_int_equal(list.n, 100);
    text_list_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands),
        cmocka_unit_test(appends_or_leaves_alone),
        cmocka_unit_test(refuses_bad_patterns),
        cmocka_unit_test(refuses_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

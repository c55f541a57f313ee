#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/ident.h"

static void idents_sort_by_time(void **state)
{
    char a[IDENT_MAX];
    char b[IDENT_MAX];
    char c[IDENT_MAX];

    (void)state;
    ident_new(0x0123456789ab, a);
    ident_new(0x0123456789ab, b);
    ident_new(0x0123456789ac, c);
    assert_int_equal(strlen(a), 32);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    assert_memory_equal(a, "0123456789ab", 12);
    assert_memory_equal(b, "0123456789ab", 12);
    assert_string_not_equal(a, b);
    assert_true(strcmp(b, c) < 0);
}

static void names(void **state)
{
    static const char *const good[] = {"a", "A9", "linux-x86_64", "v1.2", "_x", "0"};
    static const char *const bad[] = {"",    ".",           "..",  ".git", "-rf", "a b",  "a/b",
                                      "a\n", "caf\xc3\xa9", "a:b", "a*",   "$x",  "a\x7f"};
    char longest[66];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(ident_is_name(view_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(ident_is_name(view_of(bad[i])));
    assert_false(ident_is_name(view_bytes("a\0b", 3)));
    assert_false(ident_is_name(VIEW_NULL));
    memset(longest, 'x', sizeof longest);
    assert_true(ident_is_name(view_bytes(longest, 64)));
    assert_false(ident_is_name(view_bytes(longest, 65)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idents_sort_by_time),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

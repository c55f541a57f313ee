#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

static void gives_memory(void **state)
{
    unsigned char *zeroed = xcalloc(100, 7);
    char *p = xmalloc(4);
    char *none = xmalloc(0);

    (void)state;
    for (size_t i = 0; i < 700; i++)
        assert_int_equal(zeroed[i], 0);
    memcpy(p, "abc", 4);
    p = xrealloc(p, 1000);
    assert_string_equal(p, "abc");
    assert_non_null(none);
    free(none);
    free(p);
    free(zeroed);
    p = xcalloc(0, 0);
    assert_non_null(p);
    free(p);
}

static void copies(void **state)
{
    char *a = xstrdup("whole");
    char *b = xstrndup("whole", 2);
    char *c = xmemdup("a\0b", 4);
    char *d = xmemdup(NULL, 0);
    char *e = xasprintf("%s-%03d", "n", 7);

    (void)state;
    assert_string_equal(a, "whole");
    assert_string_equal(b, "wh");
    assert_memory_equal(c, "a\0b", 4);
    assert_non_null(d);
    assert_string_equal(e, "n-007");
    free(a);
    free(b);
    free(c);
    free(d);
    free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_memory),
        cmocka_unit_test(copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "master/changes/lsremote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define REV "0123456789abcdef0123456789abcdef01234567"

static void test_reads_heads(void **state)
{
    struct view text = view_of(REV "\trefs/heads/main\n" REV "\trefs/heads/release/1.9\n");
    struct view revision, branch;

    (void)state;
    assert_true(lsremote_next(&text, &revision, &branch));
    assert_true(view_is(revision, REV));
    assert_true(view_is(branch, "main"));
    assert_true(lsremote_next(&text, &revision, &branch));
    assert_true(view_is(branch, "release/1.9"));
    assert_false(lsremote_next(&text, &revision, &branch));
}

static void test_passes_over_what_is_no_head(void **state)
{
    struct view text = view_of("warning: redirecting to elsewhere\n" REV "\trefs/tags/v1\n" REV
                               "\trefs/heads/\nshort\trefs/heads/x\n" REV
                               " refs/heads/y\n\n\t\n" REV "\trefs/heads/last");
    struct view revision, branch;

    (void)state;
    assert_true(lsremote_next(&text, &revision, &branch));
    assert_true(view_is(branch, "last"));
    assert_false(lsremote_next(&text, &revision, &branch));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_heads),
        cmocka_unit_test(test_passes_over_what_is_no_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/glob.h"

static struct glob *glob_of(const char *pattern)
{
    struct glob *glob = NULL;
    struct err err = ERR_INIT;

    if (glob_new(view_of(pattern), &glob, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    return glob;
}

static bool matches(const char *pattern, const char *text)
{
    struct glob *glob = glob_of(pattern);
    bool found = glob_match(glob, view_of(text));

    glob_free(glob);
    return found;
}

static void branches_and_paths(void **state)
{
    (void)state;
    assert_true(matches("release-*", "release-1.2"));
    assert_true(matches("release-*", "release-"));
    assert_false(matches("release-*", "release-1/x"));
    assert_false(matches("release-*", "xrelease-1"));
    assert_true(matches("feature/**", "feature/a/b"));
    assert_false(matches("feature/**", "feature"));
    assert_true(matches("**/test.c", "a/b/test.c"));
    assert_true(matches("**/test.c", "test.c"));
    assert_false(matches("**/test.c", "a/xtest.c"));
    assert_true(matches("src/**/x.c", "src/x.c"));
    assert_true(matches("src/**/x.c", "src/a/b/x.c"));
    assert_true(matches("**", "any/thing"));
    assert_true(matches("*.xml", ".xml"));
    assert_true(matches("v[0-9]", "v7"));
    assert_false(matches("v[!0-9]", "v7"));
    assert_false(matches("a[!x]b", "a/b"));
    assert_true(matches("a?c", "a\xc3\xa9"
                               "c"));
    assert_true(matches("a?c", "a\xff"
                               "c"));
    assert_true(matches("a??c", "a\xc3(c"));
    assert_false(matches("a?c", "a/c"));
    assert_true(matches("a.c", "a.c"));
    assert_false(matches("a.c", "abc"));
    assert_true(matches("\\*", "*"));
    assert_false(matches("\\*", "x"));
    assert_true(matches("a*", "a\nb"));
    assert_false(matches("a", "a\n"));
    assert_false(matches("[a]", "a\n"));
}

/* What the header says, without any cleverness. A "**" between slashes may also be no folder at
 * all. */
static bool reference(const char *p, const char *t)
{
    if (p[0] == '*' && p[1] == '*') {
        for (const char *rest = t;; rest++) {
            if (reference(p + 2, rest))
                return true;
            if (*rest == '\0')
                break;
        }
        return false;
    }
    if (p[0] == '*')
        return reference(p + 1, t) || (*t != '\0' && *t != '/' && reference(p, t + 1));
    if (*t == '\0' || *p == '\0')
        return *t == *p;
    if (p[0] == '?')
        return *t != '/' && reference(p + 1, t + 1);
    return *p == *t && reference(p + 1, t + 1);
}

/* The n-th word over an alphabet, shorter ones first. */
static void word(const char *alphabet, unsigned n, char out[16])
{
    unsigned letters = (unsigned)strlen(alphabet);
    size_t len = 0;

    for (; n > 0; n = (n - 1) / letters)
        out[len++] = alphabet[(n - 1) % letters];
    out[len] = '\0';
}

/* All patterns of up to five and texts of up to six letters; "**" beside a slash has its own rules.
 */
static void agrees_with_the_plain_reading(void **state)
{
    char pattern[16];
    char text[16];

    (void)state;
    for (unsigned i = 1; i <= 4 + 16 + 64 + 256 + 1024; i++) {
        struct glob *glob;

        word("a/*?", i, pattern);
        if (strstr(pattern, "***") || strstr(pattern, "/**") || strstr(pattern, "**/"))
            continue;
        glob = glob_of(pattern);
        for (unsigned k = 0; k <= 2 + 4 + 8 + 16 + 32 + 64; k++) {
            word("a/", k, text);
            if (glob_match(glob, view_of(text)) != reference(pattern, text))
                fail_msg("pattern '%s', text '%s'", pattern, text);
        }
        glob_free(glob);
    }
}

static void bad_patterns_are_refused(void **state)
{
    static const char *const bad[] = {"", "[", "a[b", "a\\", "[z-a]", "a\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct glob *glob = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(glob_new(view_of(bad[i]), &glob, &err), ERR_CONFIG);
        assert_null(glob);
        assert_memory_equal(err.msg, "pattern '", 9);
    }
}

static void odd_sizes_are_refused(void **state)
{
    static char lots[5000];
    struct glob *glob = NULL;
    struct err err = ERR_INIT;

    (void)state;
    memset(lots, 'a', sizeof lots);
    assert_int_equal(glob_new(view_bytes("a\0b", 3), &glob, &err), ERR_CONFIG);
    assert_int_equal(glob_new(view_bytes(lots, sizeof lots), &glob, &err), ERR_CONFIG);
    assert_int_equal(glob_new(view_bytes(lots, 4096), &glob, &err), ERR_OK);
    assert_true(glob_match(glob, view_bytes(lots, 4096)));
    glob_free(glob);
    glob_free(NULL);
}

static void literals(void **state)
{
    struct glob *plain = glob_of("a.b{c}");
    struct glob *wild = glob_of("a*");

    (void)state;
    assert_true(glob_is_literal(plain));
    assert_true(glob_match(plain, view_of("a.b{c}")));
    assert_false(glob_match(plain, view_of("a.b")));
    assert_false(glob_match(plain, VIEW_NULL));
    assert_false(glob_is_literal(wild));
    assert_false(glob_match(wild, VIEW_NULL));
    assert_string_equal(glob_text(wild), "a*");
    glob_free(plain);
    glob_free(wild);
}

static void hostile_patterns_cost_bounded_time(void **state)
{
    const struct clock *clock = clock_system();
    struct glob *glob = glob_of("**a**a**a**a**a**a**a**a**a**a**a**b");
    static char lots[4000];
    uint64_t begin = clock_mono_ms(clock);

    (void)state;
    memset(lots, 'a', sizeof lots);
    assert_false(glob_match(glob, view_bytes(lots, sizeof lots)));
    assert_true(clock_mono_ms(clock) - begin < 5000);
    glob_free(glob);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_and_paths),
        cmocka_unit_test(agrees_with_the_plain_reading),
        cmocka_unit_test(bad_patterns_are_refused),
        cmocka_unit_test(odd_sizes_are_refused),
        cmocka_unit_test(literals),
        cmocka_unit_test(hostile_patterns_cost_bounded_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

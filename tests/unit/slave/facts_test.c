#include "slave/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_os_release(void **state)
{
    static const char text[] = "NAME=\"Debian GNU/Linux\"\n"
                               "# PRETTY_NAME=no\n"
                               "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"
                               "ID=debian\n"
                               "EMPTY=\n"
                               "LONE=\"\n"
                               "LAST='x=y'";
    struct view v = view_of(text);
    char out[65] = "old";

    (void)state;
    facts_os_release(v, "PRETTY_NAME", out, sizeof out);
    assert_string_equal(out, "Debian GNU/Linux 12 (bookworm)");
    facts_os_release(v, "ID", out, sizeof out);
    assert_string_equal(out, "debian");
    facts_os_release(v, "LAST", out, sizeof out);
    assert_string_equal(out, "x=y");
    facts_os_release(v, "LONE", out, sizeof out);
    assert_string_equal(out, "\"");
    facts_os_release(v, "EMPTY", out, sizeof out);
    assert_string_equal(out, "");
    facts_os_release(v, "PRETTY_NAME", out, 7);
    assert_string_equal(out, "Debian");
    facts_os_release(v, "NONE", out, sizeof out);
    assert_string_equal(out, "");
    facts_os_release(VIEW_NULL, "ID", out, sizeof out);
    assert_string_equal(out, "");
}

static void test_cpuinfo(void **state)
{
    static const char text[] = "processor\t: 0\n"
                               "model\t\t: 85\n"
                               "model name\t: Example CPU @ 2.00GHz\n"
                               "\n"
                               "processor\t: 1\n"
                               "model name\t: Another\n";
    char out[129];

    (void)state;
    facts_cpuinfo(view_of(text), "model name", out, sizeof out);
    assert_string_equal(out, "Example CPU @ 2.00GHz");
    facts_cpuinfo(view_of(text), "Model", out, sizeof out);
    assert_string_equal(out, "");
}

static void test_this_machine(void **state)
{
    struct facts facts;

    (void)state;
    facts_read(&facts);
    assert_true(facts.os[0] != '\0');
    assert_true(facts.arch[0] != '\0');
    assert_true(facts.cores > 0);
    assert_true(facts.memory_bytes > 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_os_release),
        cmocka_unit_test(test_cpuinfo),
        cmocka_unit_test(test_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "master/http/framing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* Pairs of name and value, up to a NULL. */
static const char *fault(const char *const *headers, bool needs_host)
{
    struct framing framing = FRAMING_INIT;

    for (; headers[0]; headers += 2)
        framing_add(&framing, headers[0], headers[1]);
    return framing_fault(&framing, needs_host);
}

static void test_good(void **state)
{
    const char *const plain[] = {"Host", "ci:8010", "Content-Length", "12", NULL};
    const char *const chunked[] = {"host", "[::1]:80", "transfer-encoding", "Chunked", NULL};
    const char *const none[] = {NULL};

    (void)state;
    assert_null(fault(plain, true));
    assert_null(fault(chunked, true));
    assert_null(fault(none, false));
}

static void test_faults(void **state)
{
    static const char *const cases[][7] = {
        {NULL},
        {"Host", "a", "Host", "a", NULL},
        {"Host", "a b", NULL},
        {"Host", "a@b", NULL},
        {"Host", "a,b", NULL},
        {"Host", "a", "Content-Length", "1", "content-length", "1", NULL},
        {"Host", "a", "Content-Length", "1", "Transfer-Encoding", "chunked", NULL},
        {"Host", "a", "Content-Length", "", NULL},
        {"Host", "a", "Content-Length", "+1", NULL},
        {"Host", "a", "Content-Length", "1, 1", NULL},
        {"Host", "a", "Content-Length", "0x1", NULL},
        {"Host", "a", "Content-Length", "9999999999999999999", NULL},
        {"Host", "a", "Transfer-Encoding", "gzip, chunked", NULL},
        {"Host", "a", "Transfer-Encoding", "chunked ", NULL},
        {"Host", "a", "Transfer-Encoding", "identity", NULL},
        {"Host", "a", "Content-Length ", "1", NULL},
        {"Host", "a", "", "1", NULL},
        {"Host", "a", "na\tme", "1", NULL},
        {"Host", "a", "Origin", "x", "origin", "x", NULL},
        {"Host", "a", "Authorization", "x", "Authorization", "y", NULL},
        {"Host", "a", "Content-Type", "x", "Content-Type", "y", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!fault(cases[i], true))
            fail_msg("case %d is taken", (int)i);
    }
}

static void test_facts(void **state)
{
    struct framing framing = FRAMING_INIT;

    (void)state;
    framing_add(&framing, "Content-Length", "1048577");
    framing_add(&framing, "expect", "100-continue");
    assert_int_equal(framing.length, 1048577);
    assert_true(framing.expect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

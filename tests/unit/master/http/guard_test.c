#include "master/http/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static char secret[] = "a-long-enough-token";
static char other[] = "another-one-of-those";
static char *both[] = {other, secret};
static const text_list no_tokens = {NULL, 0, 0};
static const text_list tokens = {both, 2, 2};

static enum guard_verdict judge(const struct guard_request *request, const text_list *list,
                                const char *url, bool loopback)
{
    const struct guard_site site = {list, url, loopback};
    const char *why = NULL;
    enum guard_verdict verdict = guard_judge(request, &site, &why);

    assert_int_equal(verdict != GUARD_PASS, why != NULL);
    assert_int_equal(guard_judge(request, &site, NULL), verdict);
    return verdict;
}

static void test_origins(void **state)
{
    static const struct {
        const char *host, *origin, *url;
        enum guard_verdict verdict;
    } cases[] = {
        {"ci:8010", NULL, NULL, GUARD_PASS},
        {"ci:8010", "http://ci:8010", NULL, GUARD_PASS},
        {"CI:8010", "http://ci:8010", NULL, GUARD_PASS},
        {"ci:8010", "http://ci:8011", NULL, GUARD_CROSS},
        {"ci:8010", "http://ci", NULL, GUARD_CROSS},
        {"ci", "http://ci.evil.example", NULL, GUARD_CROSS},
        {"ci", "null", NULL, GUARD_CROSS},
        {"ci", "", NULL, GUARD_CROSS},
        {"inside:8010", "https://ci.example.org", "https://ci.example.org/tr/", GUARD_PASS},
        {"inside:8010", "https://ci.example.org:444", "https://ci.example.org/tr/", GUARD_CROSS},
        {NULL, "http://ci", NULL, GUARD_CROSS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct guard_request request = {.host = cases[i].host, .origin = cases[i].origin};

        if (judge(&request, &no_tokens, cases[i].url, false) != cases[i].verdict)
            fail_msg("case %d", (int)i);
    }
}

static void test_fetch_site(void **state)
{
    struct guard_request request = {.host = "ci", .fetch_site = "same-origin"};

    (void)state;
    assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_PASS);
    request.fetch_site = "none";
    assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_PASS);
    request.fetch_site = "same-site";
    assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_CROSS);
    request.fetch_site = "cross-site";
    assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_CROSS);
}

static void test_rebinding(void **state)
{
    static const char *const good[] = {"localhost", "localhost:80", "127.0.0.1:8010",   "[::1]:80",
                                       "[::1]",     "127.9.9.9",    "ci.example.org:99"};
    static const char *const bad[] = {
        "evil.example", "127.0.0.1.evil.example", "10.0.0.1", "",
        "[::2]:80",     "localhost.evil",         "[",        "ci.example.org.evil"};
    struct guard_request request = {.host = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        request.host = good[i];
        if (judge(&request, &no_tokens, "https://ci.example.org/", true) != GUARD_PASS)
            fail_msg("%s is ours", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        request.host = bad[i];
        if (judge(&request, &no_tokens, "https://ci.example.org/", true) != GUARD_HOST)
            fail_msg("%s is not ours", bad[i]);
        assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_PASS);
    }
    /* With a token the name does not matter. */
    request.host = "evil.example";
    request.authorization = "Bearer a-long-enough-token";
    assert_int_equal(judge(&request, &tokens, NULL, true), GUARD_PASS);
}

static void test_types(void **state)
{
    static const char *const good[] = {"application/json", "Application/JSON; charset=utf-8",
                                       "application/json ;x"};
    static const char *const bad[] = {"text/plain", "application/jsonp", "", "application/json,x",
                                      "application/x-www-form-urlencoded"};
    struct guard_request request = {.host = "ci"};

    (void)state;
    assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_PASS);
    request.body_bytes = 1;
    assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_TYPE);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        request.content_type = good[i];
        assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_PASS);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        request.content_type = bad[i];
        assert_int_equal(judge(&request, &no_tokens, NULL, false), GUARD_TYPE);
    }
}

static void test_tokens(void **state)
{
    static const char *const good[] = {"Bearer a-long-enough-token", "bearer another-one-of-those",
                                       "Bearer   a-long-enough-token"};
    static const char *const bad[] = {NULL,
                                      "",
                                      "Bearer",
                                      "Bearer ",
                                      "a-long-enough-token",
                                      "Bearer a-long-enough-token ",
                                      "Bearer a-long-enough-toke",
                                      "Bearer a-long-enough-tokenx",
                                      "Bearer A-long-enough-token",
                                      "Basic a-long-enough-token"};
    struct guard_request request = {.host = "ci"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        request.authorization = good[i];
        assert_int_equal(judge(&request, &tokens, NULL, false), GUARD_PASS);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        request.authorization = bad[i];
        assert_int_equal(judge(&request, &tokens, NULL, false), GUARD_TOKEN);
    }
    /* A token does not open the door to a page of another site. */
    request.authorization = good[0];
    request.origin = "http://evil.example";
    assert_int_equal(judge(&request, &tokens, NULL, false), GUARD_CROSS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origins),   cmocka_unit_test(test_fetch_site),
        cmocka_unit_test(test_rebinding), cmocka_unit_test(test_types),
        cmocka_unit_test(test_tokens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "client/uri.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_names_are_escaped(void **state)
{
    struct str path = STR_INIT(URI_MAX);

    (void)state;
    uri_segment(&path, "builds");
    uri_segment(&path, "a/b ?c%\xc3\xa4");
    assert_string_equal(str_cstr(&path), "/builds/a%2Fb%20%3Fc%25%C3%A4");
    str_release(&path);
}

static void test_queries_join(void **state)
{
    struct str path = STR_INIT(URI_MAX);

    (void)state;
    str_put(&path, "/builds");
    uri_query(&path, "builder", NULL);
    uri_query(&path, "branch", "release&x=1");
    uri_query(&path, "state", "");
    uri_query_u64(&path, "limit", 20);
    assert_string_equal(str_cstr(&path), "/builds?branch=release%26x%3D1&limit=20");
    str_release(&path);
}

static void check_master(const char *text, const char *expected)
{
    struct err err = ERR_INIT;
    char *out = NULL;

    if (!expected) {
        assert_int_equal(uri_master(text, &out, &err), ERR_CONFIG);
        assert_null(out);
        assert_string_not_equal(err.msg, "");
        return;
    }
    assert_int_equal(uri_master(text, &out, &err), ERR_OK);
    assert_string_equal(out, expected);
    free(out);
}

static void test_master_addresses(void **state)
{
    (void)state;
    check_master("127.0.0.1:8010", "http://127.0.0.1:8010");
    check_master("http://ci.example.org///", "http://ci.example.org");
    check_master("https://ci.example.org/tailrace/", "https://ci.example.org/tailrace");
    check_master("ftp://ci.example.org", NULL);
    check_master("file:///etc/passwd", NULL);
    check_master("http://", NULL);
    check_master("", NULL);
    check_master("a b", NULL);
}

static void check_build(const char *text, uint64_t expected)
{
    struct err err = ERR_INIT;
    uint64_t id = 0;

    assert_int_equal(uri_build_id(text, &id, &err), expected ? ERR_OK : ERR_CONFIG);
    assert_int_equal(id, expected);
}

static void test_builds(void **state)
{
    (void)state;
    check_build("12", 12);
    check_build("#12", 12);
    check_build("http://ci.example.org/builds/12", 12);
    check_build("http://ci.example.org/builds/12/steps/3#L4711", 12);
    check_build("", 0);
    check_build("0", 0);
    check_build("12x", 0);
    check_build("-1", 0);
    check_build("http://ci.example.org/builds/", 0);
    check_build("http://ci.example.org/builds/12x", 0);
    check_build("99999999999999999999", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_escaped),
        cmocka_unit_test(test_queries_join),
        cmocka_unit_test(test_master_addresses),
        cmocka_unit_test(test_builds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

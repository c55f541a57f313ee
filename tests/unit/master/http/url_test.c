#include "master/http/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static enum err_code parse(const char *target, struct url *url, struct err *err)
{
    return url_parse(view_of(target), url, err);
}

static void test_parts(void **state)
{
    struct url url;

    (void)state;
    assert_int_equal(parse("/a/b%2Fc/?x=1&y=a+b%26&flag&&z=", &url, NULL), ERR_OK);
    assert_string_equal(url.path, "/a/b%2Fc/");
    assert_int_equal(url.n_segments, 3);
    assert_string_equal(url.segments[0], "a");
    assert_string_equal(url.segments[1], "b/c");
    assert_string_equal(url.segments[2], "");
    assert_int_equal(url.n_params, 4);
    assert_string_equal(url_param(&url, "x"), "1");
    assert_string_equal(url_param(&url, "y"), "a b&");
    assert_string_equal(url_param(&url, "flag"), "");
    assert_string_equal(url_param(&url, "z"), "");
    assert_null(url_param(&url, "w"));
    url_release(&url);
}

static void test_roots(void **state)
{
    static const char *const roots[] = {"/", "/?", "http://host/", "https://host:1/?a"};
    struct url url;

    (void)state;
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        assert_int_equal(parse(roots[i], &url, NULL), ERR_OK);
        assert_int_equal(url.n_segments, 1);
        assert_string_equal(url.segments[0], "");
        url_release(&url);
    }
}

static void test_plus_is_a_plus_in_a_path(void **state)
{
    struct url url;

    (void)state;
    assert_int_equal(parse("/c++", &url, NULL), ERR_OK);
    assert_string_equal(url.segments[0], "c++");
    url_release(&url);
}

static void test_refused(void **state)
{
    static const char *const targets[] = {
        "",      "*",       "a",         "http://host", "/%",      "/%4",
        "/%4g",  "/%g4",    "/%00",      "/%0a",        "/%7f",    "/%ff",
        "/\xc3", "/%c0%af", "/?a=1&a=2", "/?a=%",       "/?%zz=1", "/?a=%ed%a0%80",
    };
    struct url url = {.path = NULL};
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (parse(targets[i], &url, &err) != ERR_CONFIG)
            fail_msg("%s is taken", targets[i]);
        assert_true(strlen(err.msg) > 0);
        assert_null(url.path);
    }
}

static void test_limits(void **state)
{
    struct str text = STR_INIT(2 * URL_MAX_BYTES);
    struct url url;

    (void)state;
    for (int i = 0; i < URL_MAX_SEGMENTS; i++)
        str_put(&text, "/a");
    assert_int_equal(parse(str_cstr(&text), &url, NULL), ERR_OK);
    url_release(&url);
    str_put(&text, "/a");
    assert_int_equal(parse(str_cstr(&text), &url, NULL), ERR_LIMIT);
    str_clear(&text);
    str_put(&text, "/?");
    for (int i = 0; i < URL_MAX_PARAMS; i++)
        str_printf(&text, "p%d&", i);
    assert_int_equal(parse(str_cstr(&text), &url, NULL), ERR_OK);
    url_release(&url);
    str_put(&text, "more");
    assert_int_equal(parse(str_cstr(&text), &url, NULL), ERR_LIMIT);
    str_clear(&text);
    str_putc(&text, '/');
    while (text.n < URL_MAX_BYTES)
        str_putc(&text, 'a');
    assert_int_equal(parse(str_cstr(&text), &url, NULL), ERR_OK);
    url_release(&url);
    str_putc(&text, 'a');
    assert_int_equal(parse(str_cstr(&text), &url, NULL), ERR_LIMIT);
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_roots),
        cmocka_unit_test(test_plus_is_a_plus_in_a_path),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

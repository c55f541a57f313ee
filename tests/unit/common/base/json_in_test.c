#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/json_in.h"

static struct json *parsed(const char *text)
{
    struct json *document = NULL;
    struct err err = ERR_INIT;

    if (json_parse(view_of(text), &document, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    return document;
}

static void reads_values(void **state)
{
    struct json *d =
        parsed("{\"a\": [1, 2.5, \"x\", null, true], \"o\": {\"k\": \"v\"}, \"n\": -7}");
    struct json *a = json_get(d, "a");

    (void)state;
    assert_true(json_is_object(d));
    assert_true(json_is_array(a));
    assert_int_equal(json_len(a), 5);
    assert_int_equal(json_int(json_at(a, 0), 9), 1);
    assert_true(json_number(json_at(a, 1), 0) == 2.5);
    assert_true(json_number(json_at(a, 0), 0) == 1);
    assert_string_equal(json_text(json_at(a, 2)), "x");
    assert_true(json_is_null(json_at(a, 3)));
    assert_true(json_truth(json_at(a, 4), false));
    assert_null(json_at(a, 5));
    assert_string_equal(json_get_text(json_get(d, "o"), "k"), "v");
    assert_int_equal(json_get_int(d, "n", 0), -7);
    json_free(d);
}

static void wrong_types_answer_as_absent(void **state)
{
    struct json *d = parsed("[\"x\", 1, 2.5, {}]");

    (void)state;
    assert_false(json_is_object(d));
    assert_null(json_get(d, "k"));
    assert_int_equal(json_int(json_at(d, 0), 9), 9);
    assert_int_equal(json_int(json_at(d, 2), 9), 9);
    assert_null(json_text(json_at(d, 1)));
    assert_true(json_truth(json_at(d, 1), true));
    assert_true(json_number(json_at(d, 0), 1.5) == 1.5);
    assert_int_equal(json_len(json_at(d, 3)), 0);
    assert_false(json_is_null(d));
    json_free(d);
}

static void accepts_null_everywhere(void **state)
{
    char *text = json_dump(NULL);

    (void)state;
    assert_null(json_get(NULL, "x"));
    assert_false(json_is_object(NULL));
    assert_false(json_is_array(NULL));
    assert_true(json_is_null(NULL));
    assert_int_equal(json_len(NULL), 0);
    assert_null(json_at(NULL, 0));
    assert_null(json_text(NULL));
    assert_int_equal(json_int(NULL, 3), 3);
    assert_true(json_number(NULL, 3) == 3);
    assert_true(json_truth(NULL, true));
    assert_null(json_get_text(NULL, "x"));
    assert_null(json_first(NULL));
    assert_string_equal(text, "null");
    free(text);
    json_free(NULL);
}

static void integers_are_exact(void **state)
{
    struct json *d =
        parsed("[9007199254740993, 9223372036854775807, -9223372036854775808, 1e3, 12.0,"
               " 1e300, -0.5]");

    (void)state;
    assert_true(json_int(json_at(d, 0), 0) == 9007199254740993);
    assert_true(json_int(json_at(d, 1), 0) == INT64_MAX);
    assert_true(json_int(json_at(d, 2), 0) == INT64_MIN);
    assert_int_equal(json_int(json_at(d, 3), 0), 1000);
    assert_int_equal(json_int(json_at(d, 4), 0), 12);
    assert_int_equal(json_int(json_at(d, 5), 7), 7);
    assert_int_equal(json_int(json_at(d, 6), 7), 7);
    json_free(d);
}

static void walks_objects(void **state)
{
    struct json *d = parsed("{\"a\": 1, \"b\": 2, \"c\": 3}");
    struct str seen = STR_INIT(100);
    int64_t sum = 0;

    (void)state;
    for (void *i = json_first(d); i; i = json_next(d, i)) {
        str_put(&seen, json_iter_key(i));
        sum += json_int(json_iter_value(i), 0);
    }
    assert_string_equal(str_cstr(&seen), "abc");
    assert_int_equal(sum, 6);
    str_release(&seen);
    json_free(d);
}

static void dumps(void **state)
{
    struct json *d = parsed(" { \"a\" : [ 1 , \"\\u00e9\\n\" , null ] } ");
    char *whole = json_dump(d);
    char *part = json_dump(json_at(json_get(d, "a"), 0));

    (void)state;
    assert_string_equal(whole, "{\"a\":[1,\"\xc3\xa9\\n\",null]}");
    assert_string_equal(part, "1");
    free(whole);
    free(part);
    json_free(d);
}

static void refuses(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "[1,]",
        "{\"a\":1,\"a\":2}",
        "[1] x",
        "\"\xff\"",
        "'a'",
        "{a:1}",
        "NaN",
        "01",
        "[1 2]",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "99999999999999999999",
        "\"a\nb\"",
        "[\"]",
        "\"\xc0\x80\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct json *document = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(json_parse(view_of(bad[i]), &document, &err), ERR_CONFIG);
        assert_null(document);
        assert_memory_equal(err.msg, "line ", 5);
    }
}

static void names_the_place(void **state)
{
    struct json *document = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(json_parse(view_of("{\n  \"a\": 1,\n  \"a\": 2\n}"), &document, &err),
                     ERR_CONFIG);
    assert_memory_equal(err.msg, "line 3, column 5: duplicate", 27);
    assert_int_equal(json_parse(view_of("[\n  x]"), &document, &err), ERR_CONFIG);
    assert_memory_equal(err.msg, "line 2, column 3: ", 18);
    assert_int_equal(json_parse(VIEW_NULL, &document, &err), ERR_CONFIG);
    assert_null(document);
}

static void nested(char *out, size_t depth)
{
    memset(out, '[', depth);
    memset(out + depth, ']', depth);
    out[2 * depth] = '\0';
}

static void depth_is_bounded(void **state)
{
    static char deep[2 * 100000 + 1];
    struct json *document = NULL;
    struct err err = ERR_INIT;

    (void)state;
    nested(deep, 64);
    json_free(parsed(deep));
    nested(deep, 65);
    assert_int_equal(json_parse(view_of(deep), &document, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "line 1, column 65: nested deeper than 64 levels");
    nested(deep, 100000);
    assert_int_equal(json_parse(view_of(deep), &document, &err), ERR_CONFIG);
    /* Brackets in strings are no depth, also behind an escaped quote. */
    json_free(
        parsed("\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_values),
        cmocka_unit_test(wrong_types_answer_as_absent),
        cmocka_unit_test(accepts_null_everywhere),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(walks_objects),
        cmocka_unit_test(dumps),
        cmocka_unit_test(refuses),
        cmocka_unit_test(names_the_place),
        cmocka_unit_test(depth_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "client/points.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define POINT(test, metric, unit, value)                                                           \
    "{\"step\":2,\"suite\":\"app\",\"test\":\"" test "\",\"metric\":\"" metric "\",\"unit\":" unit \
    ",\"value\":" value "}"

static void add(struct points *points, const char *list)
{
    static const char build[] = "{\"builder\":\"app\",\"steps\":[{\"number\":1,\"name\":\"build\"},"
                                "{\"number\":2,\"name\":\"bench\"}]}";
    struct str page = STR_INIT(10000);
    struct json *page_doc = NULL;
    struct json *build_doc = NULL;

    str_printf(&page, "{\"points\":[%s]}", list);
    assert_int_equal(json_parse(str_view(&page), &page_doc, NULL), ERR_OK);
    assert_int_equal(json_parse(view_of(build), &build_doc, NULL), ERR_OK);
    points_add(points, page_doc, build_doc);
    json_free(build_doc);
    json_free(page_doc);
    str_release(&page);
}

static void check(struct points *points, size_t i, const char *name, const char *expected)
{
    char text[POINTS_TEXT_MAX];

    assert_in_range(i + 1, 1, points->metrics.n);
    assert_string_equal(points->metrics.v[i].name, name);
    assert_string_equal(points_describe(&points->metrics.v[i], text), expected);
}

static void test_medians(void **state)
{
    struct points points;

    (void)state;
    points_init(&points);
    add(&points,
        POINT("bench", "wall", "\"s\"", "0.131") "," POINT("bench", "rss", "\"bytes\"", "2097152"));
    add(&points,
        POINT("bench", "wall", "\"s\"", "0.127") "," POINT("bench", "wall", "\"s\"", "0.129"));
    add(&points,
        POINT("sort", "ops", "null", "123456.7") "," POINT("sort", "ops", "null", "123460"));
    assert_int_equal(points.metrics.n, 3);
    check(&points, 0, "bench wall", "0.129 s (3 runs, 0.127 to 0.131)");
    check(&points, 1, "bench rss", "2.0 MiB (1 run)");
    /* Of two values the median is the middle. */
    check(&points, 2, "bench sort ops", "123458 (2 runs, 123457 to 123460)");
    points_release(&points);
}

static void test_odd_points(void **state)
{
    struct points points;

    (void)state;
    points_init(&points);
    add(&points, "");
    add(&points,
        "null,{\"step\":9,\"metric\":\"a\\u001bb\",\"value\":1e-9},{\"step\":2,\"value\":null}");
    assert_int_equal(points.metrics.n, 1);
    check(&points, 0, "a\\x1bb", "1e-09 (1 run)");
    points_release(&points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_odd_points),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "client/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Writes each event as "name=data;" */
static void note(void *arg, const char *name, struct view data)
{
    struct str *seen = arg;

    str_printf(seen, "%s=%.*s;", name, VIEW_ARG(data));
}

/* The stream's events must be the same however it is cut. */
static void check(const char *stream, const char *expected)
{
    size_t n = strlen(stream);

    for (size_t piece = 1; piece <= n; piece++) {
        struct str seen = STR_INIT(10000);
        struct err err = ERR_INIT;
        struct sse sse;

        sse_init(&sse);
        for (size_t at = 0; at < n; at += piece) {
            size_t take = n - at < piece ? n - at : piece;

            assert_int_equal(sse_feed(&sse, view_bytes(stream + at, take), note, &seen, &err),
                             ERR_OK);
        }
        assert_string_equal(str_cstr(&seen), expected);
        sse_release(&sse);
        str_release(&seen);
    }
}

static void test_events(void **state)
{
    (void)state;
    check("id: 1\nevent: build\ndata: {\"id\": 12}\n\nevent: step\ndata: {}\n\n",
          "build={\"id\": 12};step={};");
}

static void test_line_ends(void **state)
{
    (void)state;
    check("event: a\r\ndata: 1\r\n\r\ndata: 2\r\rdata: 3\n\n", "a=1;message=2;message=3;");
}

static void test_details(void **state)
{
    (void)state;
    check("\xef\xbb\xbf"
          "data: 1\n\n",
          "message=1;");
    check(": a comment\n\n:\n\ndata: x\n\n", "message=x;");
    check("data: a\ndata:  b\ndata\n\n", "message=a\n b\n;");
    check("event: e\n\ndata: x\n\n", "message=x;");
    check("data:\n\n", "message=;");
    check("data: not ended\n", "");
}

static void test_long_lines_are_refused(void **state)
{
    char bytes[64 * 1024];
    struct str seen = STR_INIT(100);
    struct err err = ERR_INIT;
    enum err_code rc = ERR_OK;
    struct sse sse;

    (void)state;
    memset(bytes, 'x', sizeof bytes);
    sse_init(&sse);
    for (size_t n = 0; n <= SSE_EVENT_MAX && rc == ERR_OK; n += sizeof bytes)
        rc = sse_feed(&sse, view_bytes(bytes, sizeof bytes), note, &seen, &err);
    assert_int_equal(rc, ERR_LIMIT);
    sse_release(&sse);
    str_release(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_long_lines_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

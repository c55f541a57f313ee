#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/json_in.h"
#include "common/base/json_out.h"

struct fixture {
    struct str text;
    struct json_out j;
};

static void begin(struct fixture *f)
{
    f->text = (struct str)STR_INIT(100000);
    json_out_init(&f->j, &f->text);
}

/* Also that a strict reader takes it. */
static void assert_written(struct fixture *f, const char *expected)
{
    struct json *document = NULL;
    struct err err = ERR_INIT;

    assert_string_equal(str_cstr(&f->text), expected);
    if (json_parse(str_view(&f->text), &document, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    json_free(document);
    str_release(&f->text);
}

static void nests(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    json_object(&f.j);
    json_key(&f.j, "list");
    json_array(&f.j);
    json_u64(&f.j, 1);
    json_array(&f.j);
    json_end(&f.j);
    json_object(&f.j);
    json_end(&f.j);
    json_null(&f.j);
    json_bool(&f.j, true);
    json_end(&f.j);
    json_kv_i64(&f.j, "n", -5);
    json_key(&f.j, "o");
    json_object(&f.j);
    json_kv_bool(&f.j, "x", false);
    json_end(&f.j);
    json_kv_str(&f.j, "z", NULL);
    json_end(&f.j);
    assert_written(&f, "{\"list\":[1,[],{},null,true],\"n\":-5,\"o\":{\"x\":false},\"z\":null}");
}

static void reaches_its_depth(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    for (int i = 0; i < JSON_OUT_DEPTH; i++)
        json_array(&f.j);
    for (int i = 0; i < JSON_OUT_DEPTH; i++)
        json_end(&f.j);
    assert_written(&f, "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]");
}

static void numbers_and_times(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    json_array(&f.j);
    json_u64(&f.j, UINT64_C(9223372036854775807));
    json_i64(&f.j, INT64_MIN + 1);
    json_double(&f.j, 0.1);
    json_double(&f.j, 1.0 / 3);
    json_double(&f.j, 1e300);
    json_double(&f.j, NAN);
    json_double(&f.j, INFINITY);
    json_time(&f.j, 0);
    json_time(&f.j, 1769772840007);
    json_end(&f.j);
    assert_written(&f, "[9223372036854775807,-9223372036854775807,0.1,0.3333333333333333,1e+300,"
                       "null,null,null,\"2026-01-30T11:34:00.007Z\"]");
}

static void doubles_read_back(void **state)
{
    uint64_t bits = 88172645463325252ULL;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        struct fixture f;
        double value;

        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        begin(&f);
        json_double(&f.j, value);
        assert_true(strtod(str_cstr(&f.text), NULL) == value);
        assert_true(f.text.n < 26);
        str_release(&f.text);
    }
}

static void strings_are_quoted(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    json_array(&f.j);
    json_str(&f.j, "");
    json_str(&f.j, "a\"b\\c/\n\r\t\x01\x7f");
    json_str(&f.j, "\xc3\xa9\xf0\x9f\x98\x80");
    json_view(&f.j, view_bytes("a\0b", 3));
    json_str(&f.j, "\xff"
                   "a\xe2\x82"
                   "b\xed\xa0\x80");
    json_str(&f.j, "end\xc3");
    json_view(&f.j, VIEW_NULL);
    json_end(&f.j);
    assert_string_equal(
        str_cstr(&f.text),
        "[\"\",\"a\\\"b\\\\c/\\n\\r\\t\\u0001\\u007f\",\"\xc3\xa9\xf0\x9f\x98\x80\","
        "\"a\\u0000b\",\"\xef\xbf\xbd"
        "a\xef\xbf\xbd\xef\xbf\xbd"
        "b"
        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"end\xef\xbf\xbd\",\"\"]");
    str_release(&f.text);
}

static void keys_are_quoted(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    json_object(&f.j);
    json_kv_u64(&f.j, "a\"b", 1);
    json_kv_time(&f.j, "", 0);
    json_kv_str(&f.j, "c", "d");
    json_end(&f.j);
    assert_written(&f, "{\"a\\\"b\":1,\"\":null,\"c\":\"d\"}");
}

/* Any bytes at all give JSON that a strict reader takes. */
static void any_bytes_make_valid_json(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct fixture f;
        struct json *document = NULL;
        struct err err = ERR_INIT;
        char bytes[24];

        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (char)(seed >> 24 ? seed >> 24 : 1);
        }
        begin(&f);
        json_view(&f.j, view_bytes(bytes, sizeof bytes));
        if (json_parse(str_view(&f.text), &document, &err) != ERR_OK)
            fail_msg("%s", err.msg);
        json_free(document);
        str_release(&f.text);
    }
}

static void misnest(struct json_out *j, int how)
{
    if (how == 0) {
        json_end(j);
    } else if (how == 1) {
        json_object(j);
        json_u64(j, 1);
    } else if (how == 2) {
        json_object(j);
        json_key(j, "a");
        json_end(j);
    } else if (how == 3) {
        json_array(j);
        json_key(j, "a");
    } else if (how == 4) {
        json_u64(j, 1);
        json_u64(j, 2);
    } else {
        for (int i = 0; i <= JSON_OUT_DEPTH; i++)
            json_array(j);
    }
}

static void misnesting_stops_the_program(void **state)
{
    (void)state;
    for (int how = 0; how < 6; how++) {
        pid_t child = fork();
        int status = 0;

        if (child == 0) {
            const struct rlimit no_core = {0, 0};
            struct fixture f;

            (void)setrlimit(RLIMIT_CORE, &no_core);
            (void)close(STDERR_FILENO);
            (void)signal(SIGABRT, SIG_DFL);
            begin(&f);
            misnest(&f.j, how);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nests),
        cmocka_unit_test(reaches_its_depth),
        cmocka_unit_test(numbers_and_times),
        cmocka_unit_test(doubles_read_back),
        cmocka_unit_test(strings_are_quoted),
        cmocka_unit_test(keys_are_quoted),
        cmocka_unit_test(any_bytes_make_valid_json),
        cmocka_unit_test(misnesting_stops_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

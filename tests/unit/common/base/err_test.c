#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "common/base/err.h"

static void set_gives_code_and_sentence(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(err_set(&err, ERR_CONFIG, "line %d: %s", 3, "no"), ERR_CONFIG);
    assert_int_equal(err.code, ERR_CONFIG);
    assert_int_equal(err.sys, 0);
    assert_string_equal(err.msg, "line 3: no");
    assert_int_equal(err_set(NULL, ERR_AUTH, "nobody listens"), ERR_AUTH);
}

static void system_errors_keep_errno(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(err_set_sys(&err, ENOENT, "open %s", "x"), ERR_IO);
    assert_int_equal(err.sys, ENOENT);
    assert_string_equal(err.msg, "open x: No such file or directory");
    assert_int_equal(err_set_sys(&err, ENOSPC, "write"), ERR_NOSPACE);
    assert_int_equal(err_set_sys(&err, EDQUOT, "write"), ERR_NOSPACE);
    assert_int_equal(err_set_sys(NULL, EDQUOT, "write"), ERR_NOSPACE);
}

static void prefixes_grow_outwards(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    (void)err_set(&err, ERR_CONFIG, "inner");
    err_prefix(&err, "line %d", 12);
    err_prefix(&err, "load %s", "a.yaml");
    assert_string_equal(err.msg, "load a.yaml: line 12: inner");
    assert_int_equal(err.code, ERR_CONFIG);
    err_prefix(NULL, "nobody listens");
}

static void long_sentences_are_cut(void **state)
{
    struct err err = ERR_INIT;
    char lots[2 * ERR_MSG_MAX];

    (void)state;
    memset(lots, 'x', sizeof lots - 1);
    lots[sizeof lots - 1] = '\0';
    (void)err_set(&err, ERR_IO, "%s", lots);
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
    err_prefix(&err, "front");
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
    assert_memory_equal(err.msg, "front: xxx", 10);
    (void)err_set_sys(&err, EIO, "%s", lots);
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
}

static void clear_and_names(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    (void)err_set_sys(&err, EIO, "x");
    err_clear(&err);
    assert_int_equal(err.code, ERR_OK);
    assert_int_equal(err.sys, 0);
    assert_string_equal(err.msg, "");
    for (int code = ERR_OK; code <= ERR_NOSPACE; code++) {
        assert_non_null(err_code_name((enum err_code)code));
        for (int other = ERR_OK; other < code; other++)
            assert_string_not_equal(err_code_name((enum err_code)code),
                                    err_code_name((enum err_code)other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_gives_code_and_sentence),
        cmocka_unit_test(system_errors_keep_errno),
        cmocka_unit_test(prefixes_grow_outwards),
        cmocka_unit_test(long_sentences_are_cut),
        cmocka_unit_test(clear_and_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

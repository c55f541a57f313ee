#include "client/roster.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check(const char *builders, const char *name, const char *expected)
{
    struct err err = ERR_INIT;
    struct json *doc = NULL;

    assert_int_equal(json_parse(view_of(builders), &doc, &err), ERR_OK);
    assert_int_equal(roster_missing(doc, name, &err), ERR_NOTFOUND);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_string_equal(err.msg, expected);
    json_free(doc);
}

static void test_the_nearest_is_named(void **state)
{
    (void)state;
    check("[{\"name\": \"sds\"}, {\"name\": \"app-build\"}, {\"pool\": \"p\"}]", "app-bild",
          "there is no builder 'app-bild'; did you mean 'app-build'?");
    check("[{\"name\": \"sds\"}]", "app-bild", "there is no builder 'app-bild'");
    check("[]", "x", "there is no builder 'x'");
    check("null", "x", "there is no builder 'x'");
}

static void test_hostile_names_are_harmless(void **state)
{
    (void)state;
    check("[{\"name\": \"app\\u001b[2J\"}]", "app\033[2K",
          "there is no builder 'app\\x1b[2K'; did you mean 'app\\x1b[2J'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest_is_named),
        cmocka_unit_test(test_hostile_names_are_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

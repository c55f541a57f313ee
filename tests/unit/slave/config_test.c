#include "slave/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/mem.h"

static bool parse(const char *text, struct config *config, struct yaml_errors *errors)
{
    return config_parse(view_of(text), "etc/slave.yaml", config, errors);
}

static void test_reads_every_key(void **state)
{
    struct config config = CONFIG_INIT;
    struct yaml_errors errors = {0};

    (void)state;
    assert_true(parse("master: ci.example.org:9989\n"
                      "name: linux-01\n"
                      "secret_file: secrets/linux\n"
                      "dir: /var/lib/tailrace\n"
                      "slots: 4\n"
                      "spool_limit: 2GiB\n"
                      "backoff_max: 10s\n",
                      &config, &errors));
    assert_int_equal(config_complete(&config, NULL), ERR_OK);
    assert_string_equal(config.master_host, "ci.example.org");
    assert_int_equal(config.master_port, 9989);
    assert_string_equal(config.name, "linux-01");
    assert_string_equal(config.secret_file, "etc/secrets/linux");
    assert_string_equal(config.dir, "/var/lib/tailrace");
    assert_int_equal(config.slots, 4);
    assert_true(config.spool_limit_bytes == 2147483648u);
    assert_int_equal(config.backoff_max_ms, 10000);
    config_release(&config);
    assert_null(config.dir);
    yaml_errors_release(&errors);
}

static void test_defaults(void **state)
{
    struct config config = CONFIG_INIT;
    struct yaml_errors errors = {0};

    (void)state;
    assert_true(parse("{master: 'localhost:9989', name: s, dir: d}", &config, &errors));
    assert_int_equal(config_complete(&config, NULL), ERR_OK);
    assert_null(config.secret_file);
    assert_string_equal(config.dir, "etc/d");
    assert_int_equal(config.slots, 1);
    assert_int_equal(config.spool_limit_bytes, 1 << 30);
    assert_int_equal(config.backoff_max_ms, 30000);
    config_release(&config);
}

static void test_command_line_wins(void **state)
{
    struct config config = {
        .master = xstrdup("other:1"), .name = xstrdup("mine"), .dir = xstrdup("here"), .slots = 2};
    struct yaml_errors errors = {0};

    (void)state;
    assert_true(parse("master: ci:9989\nname: n\ndir: there\nslots: 8\n", &config, &errors));
    assert_int_equal(config_complete(&config, NULL), ERR_OK);
    assert_string_equal(config.master_host, "other");
    assert_string_equal(config.name, "mine");
    assert_string_equal(config.dir, "here");
    assert_int_equal(config.slots, 2);
    config_release(&config);
}

/* The text is refused, with exactly one error, which begins with that place and holds those words.
 */
static void check_error(const char *text, const char *place, const char *words)
{
    struct config config = CONFIG_INIT;
    struct yaml_errors errors = {0};

    assert_false(parse(text, &config, &errors));
    assert_int_equal(errors.v.n, 1);
    if (strncmp(errors.v.v[0], place, strlen(place)) != 0 || !strstr(errors.v.v[0], words))
        fail_msg("'%s' is not '%s ... %s'", errors.v.v[0], place, words);
    yaml_errors_release(&errors);
    config_release(&config);
}

static void test_errors_have_places(void **state)
{
    (void)state;
    check_error("master: ci:9989\nslotz: 2\n", "etc/slave.yaml:2:1:", "slots");
    check_error("master: ci\n", "etc/slave.yaml:1:9:", "HOST:PORT");
    check_error("name: a b\n", "etc/slave.yaml:1:7:", "'a b' cannot be");
    check_error("slots: 0\n", "etc/slave.yaml:1:8:", "");
    check_error("slots: many\n", "etc/slave.yaml:1:8:", "");
    check_error("dir: ''\n", "etc/slave.yaml:1:6:", "empty");
    check_error("dir: [a]\n", "etc/slave.yaml:1:6:", "");
    check_error("spool_limit: 100\n", "etc/slave.yaml:1:14:", "1MiB");
    check_error("spool_limit: big\n", "etc/slave.yaml:1:14:", "");
    check_error("backoff_max: 1ms\n", "etc/slave.yaml:1:14:", "250ms");
    check_error("- a\n", "etc/slave.yaml:1:1:", "");
    check_error("a: [\n", "etc/slave.yaml:", "");
}

static void test_all_errors_are_told(void **state)
{
    struct config config = CONFIG_INIT;
    struct yaml_errors errors = {0};

    (void)state;
    assert_false(parse("master: x\nname: '-'\nslots: 0\nfoo: 1\n", &config, &errors));
    assert_true(errors.v.n >= 4);
    yaml_errors_release(&errors);
    config_release(&config);
}

static void check_incomplete(struct config *config, const char *words)
{
    struct err err = ERR_INIT;

    assert_int_equal(config_complete(config, &err), ERR_CONFIG);
    if (!strstr(err.msg, words))
        fail_msg("'%s' does not say '%s'", err.msg, words);
    config_release(config);
}

static void test_what_is_missing(void **state)
{
    struct config config = CONFIG_INIT;

    (void)state;
    config.dir = xstrdup("d");
    check_incomplete(&config, "--master");
    config.master = xstrdup("ci:9989");
    check_incomplete(&config, "--dir");
    config.master = xstrdup("ci:9989x");
    config.dir = xstrdup("d");
    check_incomplete(&config, "master");
    config.master = xstrdup("ci:9989");
    config.dir = xstrdup("d");
    config.name = xstrdup("../x");
    check_incomplete(&config, "'../x'");
}

static void test_missing_file(void **state)
{
    struct config config = CONFIG_INIT;
    struct yaml_errors errors = {0};

    (void)state;
    assert_false(config_load("/nonexistent/slave.yaml", &config, &errors));
    assert_int_equal(errors.v.n, 1);
    assert_non_null(strstr(errors.v.v[0], "/nonexistent/slave.yaml"));
    yaml_errors_release(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_every_key),     cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_command_line_wins),   cmocka_unit_test(test_errors_have_places),
        cmocka_unit_test(test_all_errors_are_told), cmocka_unit_test(test_what_is_missing),
        cmocka_unit_test(test_missing_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

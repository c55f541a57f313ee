/* A configuration is refused when a slave could not be told of it, and only then: what is accepted
 * reaches the slave in one START. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "tests/support/masterbench.h"

#define HEAD                                                                                       \
    "master: {listen: '127.0.0.1:0'}\n"                                                            \
    "pools: {p: {}}\n"                                                                             \
    "slaves: {s: {pools: [p]}}\n"                                                                  \
    "projects: {j: {git: /srv/j.git, branches: [main]}}\n"                                         \
    "builders: {b: {project: j, pool: p, steps: [\n"
#define TAIL "]}}\n"

static int setup(void **state)
{
    *state = bench_new(HEAD "{build: make}" TAIL);
    return 0;
}

static void put_text(struct str *yaml, size_t n)
{
    for (size_t i = 0; i < n; i++)
        str_putc(yaml, 'x');
}

/* `steps` steps of `arguments` arguments, each of `bytes` bytes. */
static char *steps(size_t n_steps, size_t arguments, size_t bytes)
{
    struct str yaml = STR_INIT(32 << 20);

    str_put(&yaml, HEAD);
    for (size_t i = 0; i < n_steps; i++) {
        str_put(&yaml, "{build: [");
        for (size_t k = 0; k < arguments; k++) {
            put_text(&yaml, bytes);
            str_put(&yaml, k + 1 < arguments ? ", " : "");
        }
        str_put(&yaml, "]},\n");
    }
    str_put(&yaml, TAIL);
    return str_detach(&yaml);
}

static void accepted(struct masterbench *bench, char *yaml)
{
    struct command *command = bench_reload(bench, yaml);
    struct puppet *s;
    uint64_t build;

    if (command->err.code)
        fail_msg("%s", command->errors.v[0]);
    free(yaml);
    s = bench_puppet(bench, "s");
    build = bench_force(bench, "b", "cafe");
    assert_true(puppet_is_ready(s));
    assert_int_equal(puppet_start(s)->build, build);
    assert_int_equal(puppet_start(s)->steps.n,
                     config_find_builder(bench->hub.config, "b")->steps.n);
    bench_cancel(bench, build, "no");
    puppet_close(s);
    bench_settle(bench);
}

static void refused(struct masterbench *bench, char *yaml, const char *why)
{
    struct command *command = bench_reload(bench, yaml);
    bool found = false;

    free(yaml);
    assert_int_equal(command->err.code, ERR_CONFIG);
    for (size_t i = 0; i < command->errors.n; i++)
        found = found || strstr(command->errors.v[i], why);
    if (!found)
        fail_msg("%s", command->errors.v[0]);
}

static void test_counts(void **state)
{
    struct masterbench *bench = *state;

    accepted(bench, steps(1, 1024, 1));
    refused(bench, steps(1, 1025, 1), "1025 arguments of one command, at most 1024");
    accepted(bench, steps(256, 1, 1));
    refused(bench, steps(257, 1, 1), "257 steps, at most 256");
    accepted(bench, steps(63, 1000, 1));
    refused(bench, steps(66, 1000, 1), "too much for one message");
}

static void test_sizes(void **state)
{
    struct masterbench *bench = *state;

    accepted(bench, steps(1, 2, 65536));
    refused(bench, steps(1, 2, 65537), "an argument of 65537 bytes, at most 65536");
    accepted(bench, steps(1, 15, 65536));
    refused(bench, steps(1, 16, 65536), "too much for one message");
}

static char *with(const char *before, char what, size_t n, const char *after)
{
    struct str yaml = STR_INIT(32 << 20);

    str_put(&yaml, HEAD "{build: make, ");
    str_put(&yaml, before);
    for (size_t i = 0; i < n; i++)
        str_putc(&yaml, what);
    str_put(&yaml, after);
    str_put(&yaml, "}" TAIL);
    return str_detach(&yaml);
}

static void test_texts(void **state)
{
    struct masterbench *bench = *state;

    accepted(bench, with("dir: ", 'd', 4096, ""));
    refused(bench, with("dir: ", 'd', 4097, ""), "dir of 4097 bytes");
    accepted(bench, with("env: {V: ", 'x', 65536, "}"));
    refused(bench, with("env: {V: ", 'x', 65537, "}"), "a variable's value of 65537 bytes");
}

static void test_url(void **state)
{
    struct masterbench *bench = *state;
    struct str yaml = STR_INIT(1 << 20);

    str_put(&yaml, "master: {listen: '127.0.0.1:0', url: 'http://");
    put_text(&yaml, 1000);
    str_put(&yaml, "/'}\n");
    str_put(&yaml, strchr(HEAD, '\n') + 1);
    str_put(&yaml, "{build: make}" TAIL);
    refused(bench, str_detach(&yaml), "url: 1008 bytes, at most 900");
}

static void test_secrets(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"long enough, surely\r\nand another that is\r\n", NULL},
        {"a secret of some length\nshort\n", "a line of 5 bytes, at least 16"},
        {"1234567890123456\n1234567890123456\n1234567890123456\n1234567890123456\n"
         "1234567890123456\n1234567890123456\n1234567890123456\n1234567890123456\n"
         "1234567890123456\n",
         "9 lines, at most 8"},
    };
    struct masterbench *bench = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *yaml = "master: {listen: '127.0.0.1:0'}\n"
                           "pools: {p: {}}\n"
                           "slaves: {s: {pools: [p], secret_file: secret}}\n"
                           "projects: {j: {git: /srv/j.git, branches: [main]}}\n"
                           "builders: {b: {project: j, pool: p, steps: [{build: make}]}}\n";
        struct puppet_hello hello = {.name = "s", .secret = "and another that is"};

        bench_write(bench, "secret", cases[i].text);
        if (cases[i].why) {
            refused(bench, xstrdup(yaml), cases[i].why);
            continue;
        }
        assert_int_equal(bench_reload(bench, yaml)->err.code, ERR_OK);
        assert_true(puppet_is_ready(bench_puppet_with(bench, &hello)));
    }
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_counts), test(test_sizes), test(test_texts), test(test_url), test(test_secrets),
    };

    return cmocka_run_group_tests_name("config_limits", tests, NULL, NULL);
}

#include "master/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"

static char folder[] = "/tmp/tailrace-config.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return fs_remove_tree(folder, NULL);
}

static char *write_file(const char *name, const char *text)
{
    char *path = fs_join(folder, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static struct config *load_good(const char *text)
{
    struct yaml_errors errors = {0};
    char *path = write_file("master.yaml", text);
    struct config *config = config_load(path, &errors);

    for (size_t i = 0; i < errors.v.n; i++)
        print_error("%s\n", errors.v.v[i]);
    assert_non_null(config);
    yaml_errors_release(&errors);
    free(path);
    return config;
}

static void load_bad(const char *text, const char *expected)
{
    struct yaml_errors errors = {0};
    char *path = write_file("master.yaml", text);
    struct config *config = config_load(path, &errors);
    bool found = false;

    assert_null(config);
    for (size_t i = 0; i < errors.v.n; i++)
        found = found || strstr(errors.v.v[i], expected);
    if (!found) {
        print_error("no error holds \"%s\":\n", expected);
        for (size_t i = 0; i < errors.v.n; i++)
            print_error("%s\n", errors.v.v[i]);
    }
    assert_true(found);
    yaml_errors_release(&errors);
    free(path);
}

#define HEAD                                                                                       \
    "slaves:\n  a-[08-11]: {pools: [p], slots: 2, labels: {os: [linux, debian]}}\n"                \
    "pools: {p: , q: {backlog: latest}}\n"                                                         \
    "projects:\n  j: {git: ../repo, poll: 1m, branches: ['rel-*', main]}\n"

static void test_everything_is_read(void **state)
{
    struct config *config = load_good(
        HEAD "builders:\n"
             "  one:\n"
             "    project: j\n"
             "    pool: p\n"
             "    needs: [os=debian]\n"
             "    priority: low\n"
             "    max_running: 3\n"
             "    env: {A: no}\n"
             "    steps:\n"
             "      - checkout: {submodules: yes, clean: no}\n"
             "      - build: make\n"
             "      - build: [make, check]\n"
             "        dir: sub\n"
             "        timeout: 90s\n"
             "        on_failure: warn\n"
             "        stderr: separate\n"
             "        log_limit: 1MiB\n"
             "      - benchmark: ./bench\n"
             "        name: speed\n"
             "        iterations: 7\n"
             "        always: true\n"
             "  two: {project: j, pool: p, after: [one], branches: [main], steps: [build: x]}\n");
    const struct config_builder *one = config_find_builder(config, "one");
    const struct config_builder *two = config_find_builder(config, "two");
    const struct config_slave *slave = config_find_slave(config, "a-09");

    (void)state;
    assert_int_equal(HASH_COUNT(config->slaves), 4);
    assert_non_null(slave);
    assert_int_equal(slave->slots, 2);
    assert_string_equal(slave->labels.v[1], "os=debian");
    assert_true(config_find_pool(config, "q")->backlog_latest);
    assert_int_equal(one->project->poll_ms, 60000);
    assert_non_null(strstr(one->project->git, "/../repo"));
    assert_int_equal(one->priority, PRIORITY_LOW);
    assert_int_equal(one->max_running, 3);
    assert_string_equal(one->env.v[0].value, "no");
    assert_int_equal(one->steps.n, 4);
    assert_true(one->steps.v[0].submodules && one->steps.v[0].keep_tree);
    assert_string_equal(one->steps.v[0].name, "checkout");
    assert_string_equal(one->steps.v[1].name, "build");
    assert_string_equal(one->steps.v[2].name, "build-2");
    assert_string_equal(one->steps.v[2].argv.v[1], "check");
    assert_int_equal(one->steps.v[2].timeout_ms, 90000);
    assert_int_equal(one->steps.v[2].on_failure, ON_FAILURE_WARN);
    assert_true(one->steps.v[2].separate_stderr);
    assert_int_equal(one->steps.v[2].log_limit, 1 << 20);
    assert_int_equal(one->steps.v[3].iterations, 7);
    assert_true(one->steps.v[3].always);
    assert_ptr_equal(two->after.v[0], one);
    assert_true(config_builds_branch(one, "rel-1") && config_builds_branch(one, "main"));
    assert_false(config_builds_branch(one, "topic"));
    assert_false(config_builds_branch(two, "rel-1"));
    assert_string_equal(config_default_branch(one->project), "main");
    config_unref(&config);
    assert_null(config);
}

static void test_errors(void **state)
{
    (void)state;
    load_bad(HEAD "builders: {b: {project: j, pool: p}}\n", ":6:12: builder b has no steps");
    load_bad(HEAD "builders: {b: {project: jj, pool: p, steps: [checkout]}}\n", "did you mean j?");
    load_bad(HEAD "builders: {b: {project: j, pool: q, steps: [checkout]}}\n",
             "no slave is in pool q");
    load_bad(HEAD "builders:\n  a: {project: j, pool: p, after: b, steps: [checkout]}\n"
                  "  b: {project: j, pool: p, after: c, steps: [checkout]}\n"
                  "  c: {project: j, pool: p, after: a, steps: [checkout]}\n",
             " comes after ");
    load_bad(HEAD "builders: {b: {project: j, pool: p, steps: [{build: x, test: y}]}}\n",
             "expected build or test, not both");
    load_bad(HEAD "builders: {b: {project: j, pool: p, steps: [{build: x, dir: a/../../b}]}}\n",
             "leaves the source folder");
    load_bad(HEAD "builders: {b: {project: j, pool: p, env: {TAILRACE_X: 1}, steps: [checkout]}}\n",
             "are the system's");
    load_bad(HEAD "slaves: {}\n", "slaves");
    load_bad("slaves: {a: {pools: [p], secret_file: gone}}\npools: {p: }\n", "gone");
    load_bad("slaves:\n  a-[1-: {pools: [p]}\npools: {p: }\n", ":2:3: ");
    load_bad("slaves:\n  a-[1-999999]: {pools: [p]}\npools: {p: }\n", ":2:3: ");
    load_bad("- a list\n", "the file is a list");
}

static void test_includes(void **state)
{
    char *pools = write_file("pools.yaml", "pools: {p: }\ninclude: more.yaml\n");
    char *more = write_file("more.yaml", "slaves: {a: {pools: [p]}}\n");
    struct config *config = load_good("include: [pools.yaml]\n");

    (void)state;
    assert_non_null(config_find_slave(config, "a"));
    config_unref(&config);
    free(more);
    more = write_file("more.yaml", "include: pools.yaml\n");
    load_bad("include: pools.yaml\n", "more.yaml:1:10: ");
    free(pools);
    free(more);
}

static void test_secrets(void **state)
{
    char *secret =
        write_file("secret", "first-secret-of-this-slave\nsecond-secret-of-this-slave\n");
    struct config *config;

    (void)state;
    assert_int_equal(chmod(secret, 0644), 0);
    load_bad("slaves: {a: {pools: [p], secret_file: secret}}\npools: {p: }\n", "secret");
    assert_int_equal(chmod(secret, 0600), 0);
    config = load_good("slaves: {a: {pools: [p], secret_file: secret}}\npools: {p: }\n");
    assert_int_equal(config_find_slave(config, "a")->secrets.n, 2);
    assert_string_equal(config_find_slave(config, "a")->secrets.v[0], "first-secret-of-this-slave");
    config_unref(&config);
    free(secret);
}

static void expect_list(text_list *list, const char *only)
{
    assert_int_equal(list->n, only ? 1 : 0);
    if (only)
        assert_string_equal(list->v[0], only);
    text_list_release(list);
}

static void test_diff(void **state)
{
    struct config *from =
        load_good(HEAD "builders: {b: {project: j, pool: p, steps: [build: x]}}\n");
    struct config *to = load_good(HEAD "builders: {b: {project: j, pool: p, steps: [build: y]}}\n");
    text_list added = {0}, changed = {0}, removed = {0};

    (void)state;
    config_diff(from, to, &added, &changed, &removed);
    expect_list(&added, NULL);
    expect_list(&changed, "builder b");
    expect_list(&removed, NULL);
    config_unref(&to);
    to = load_good(HEAD "builders: {c: {project: j, pool: p, steps: [build: x]}}\n");
    config_diff(from, to, &added, &changed, &removed);
    expect_list(&added, "builder c");
    expect_list(&changed, NULL);
    expect_list(&removed, "builder b");
    config_diff(to, to, &added, &changed, &removed);
    expect_list(&added, NULL);
    expect_list(&changed, NULL);
    expect_list(&removed, NULL);
    config_unref(&from);
    config_unref(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_read),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_includes),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_diff),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

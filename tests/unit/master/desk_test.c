/* Commands: what is asked is checked, carried out, and answered once it is durable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "tests/support/masterbench.h"

#define CONFIG                                                                                     \
    "master: {listen: '127.0.0.1:0'}\n"                                                            \
    "pools: {p: {}}\n"                                                                             \
    "slaves: {s: {pools: [p]}}\n"                                                                  \
    "projects:\n"                                                                                  \
    "  j: {git: /srv/j.git, branches: ['rel-*', main]}\n"                                          \
    "  k: {git: /srv/k.git, branches: ['*']}\n"                                                    \
    "builders:\n"                                                                                  \
    "  b: {project: j, pool: p, steps: [{build: make}]}\n"                                         \
    "  c: {project: k, pool: p, steps: [{build: make}]}\n"

static int setup(void **state)
{
    *state = bench_new(CONFIG);
    return 0;
}

static struct command *force(struct masterbench *bench, const char *builder, const char *branch,
                             const char *revision)
{
    struct command *command = command_new(COMMAND_FORCE);

    command->name = xstrdup(builder);
    command->branch = branch ? xstrdup(branch) : NULL;
    command->revision = revision ? xstrdup(revision) : NULL;
    return bench_ask(bench, command);
}

static void test_force(void **state)
{
    struct masterbench *bench = *state;
    struct command *command = command_new(COMMAND_FORCE);

    command->name = xstrdup("b");
    command->revision = xstrdup("v1.2-3/x");
    command->reason = xstrdup("to see");
    command->author = xstrdup("me@example.org");
    bench_ask(bench, command);
    assert_int_equal(command->err.code, ERR_OK);
    assert_false(command->already);
    assert_string_equal(command->build.branch, "main");
    assert_string_equal(command->build.revision, "v1.2-3/x");
    assert_string_equal(command->build.reason, "to see");
    assert_string_equal(command->build.author, "me@example.org");
    assert_int_equal(command->build.priority, PRIORITY_HIGH);
    assert_int_equal(command->build.state, BUILD_QUEUED);
    (void)bench_expect(bench, command->build.id, BUILD_QUEUED, RESULT_NONE);
}

static void test_force_of_nothing(void **state)
{
    struct masterbench *bench = *state;

    assert_int_equal(force(bench, "none", NULL, NULL)->err.code, ERR_NOTFOUND);
    assert_int_equal(force(bench, "c", NULL, NULL)->err.code, ERR_CONFIG);
    assert_int_equal(force(bench, "c", "any", NULL)->err.code, ERR_OK);
}

static void test_bad_branches_and_revisions(void **state)
{
    static const char *const branches[] = {"",     "-x",   "/x",    "x/",  "a..b", "a b",
                                           "a\tb", "a\nb", "a\x7f", "a~1", "a^",   "a:b",
                                           "a?",   "a*",   "a[b",   "a\\b"};
    static const char *const revisions[] = {"", "-x", "a b", "a;b", "$(x)", "a\nb", "a'b"};
    struct masterbench *bench = *state;
    char *longest = xcalloc(1, 300);

    for (size_t i = 0; i < sizeof branches / sizeof *branches; i++)
        assert_int_equal(force(bench, "c", branches[i], NULL)->err.code, ERR_CONFIG);
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++)
        assert_int_equal(force(bench, "c", "x", revisions[i])->err.code, ERR_CONFIG);
    memset(longest, 'b', 256);
    assert_int_equal(force(bench, "c", longest, NULL)->err.code, ERR_CONFIG);
    longest[255] = '\0';
    assert_int_equal(force(bench, "c", longest, NULL)->err.code, ERR_OK);
    longest[129] = '\0';
    assert_int_equal(force(bench, "c", "x", longest)->err.code, ERR_CONFIG);
    longest[128] = '\0';
    assert_int_equal(force(bench, "c", "x", longest)->err.code, ERR_OK);
    free(longest);
}

/* The longest branch and revision reach the slave. */
static void test_longest_texts_fit_into_start(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    char *longest = xcalloc(1, 300);

    memset(longest, 'b', 255);
    force(bench, "c", longest, NULL);
    assert_true(puppet_heard(s, "START 1/1"));
    assert_true(puppet_is_ready(s));
    free(longest);
}

static void test_words_have_a_limit(void **state)
{
    struct masterbench *bench = *state;
    struct command *command = command_new(COMMAND_FORCE);

    command->name = xstrdup("b");
    command->reason = xcalloc(1, 4098);
    memset(command->reason, 'r', 4097);
    assert_int_equal(bench_ask(bench, command)->err.code, ERR_LIMIT);
    command = command_new(COMMAND_CANCEL);
    command->build_id = bench_force(bench, "b", NULL);
    command->reason = xcalloc(1, 4098);
    memset(command->reason, 'r', 4097);
    assert_int_equal(bench_ask(bench, command)->err.code, ERR_LIMIT);
}

/* A reason that is longer than CANCEL may carry is cut on the wire, not in the database. */
static void test_long_reason_to_cancel(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");
    char *reason = xcalloc(1, 1000);
    struct build_info row;

    memset(reason, 'r', 999);
    bench_force(bench, "b", NULL);
    bench_begin(bench, s, 1, 1);
    bench_cancel(bench, 1, reason);
    assert_true(puppet_is_ready(s));
    bench_end(bench, s, 1, 1, 3, RESULT_CANCELLED);
    row = bench_row(bench, 1);
    assert_string_equal(row.note, reason);
    build_info_release(&row);
    free(reason);
}

static void test_rebuild(void **state)
{
    struct masterbench *bench = *state;
    struct command *command = command_new(COMMAND_REBUILD);
    struct build_info row;

    bench_force(bench, "b", "cafe");
    command->name = xstrdup("b");
    command->build_id = 1;
    command->branch = xstrdup("main");
    command->revision = xstrdup("cafe");
    bench_ask(bench, command);
    assert_int_equal(command->err.code, ERR_OK);
    assert_int_equal(command->build.id, 2);
    row = bench_row(bench, 2);
    assert_int_equal(row.rebuild_of_id, 1);
    build_info_release(&row);
}

static void test_change(void **state)
{
    struct masterbench *bench = *state;
    struct command *command = command_new(COMMAND_CHANGE);

    command->change_asked.project = xstrdup("none");
    command->change_asked.branch = xstrdup("main");
    assert_int_equal(bench_ask(bench, command)->err.code, ERR_NOTFOUND);
    command = command_new(COMMAND_CHANGE);
    command->change_asked.project = xstrdup("j");
    command->change_asked.branch = xstrdup("a b");
    assert_int_equal(bench_ask(bench, command)->err.code, ERR_CONFIG);
    command = command_new(COMMAND_CHANGE);
    command->change_asked.project = xstrdup("j");
    command->change_asked.branch = xstrdup("rel-1");
    command->change_asked.revision = xstrdup("cafe");
    command->change_asked.author = xstrdup("me");
    bench_ask(bench, command);
    assert_int_equal(command->err.code, ERR_OK);
    assert_int_equal(command->n_build_ids, 1);
    assert_string_equal(command->change.author, "me");
    assert_int_equal(command->change.at_ms, loop_wall_ms(&bench->loop));
    (void)bench_expect(bench, command->build_ids[0], BUILD_QUEUED, RESULT_NONE);
}

/* Two askers with one key, the second before the first is durable. */
static void test_key_is_good_at_once(void **state)
{
    struct masterbench *bench = *state;
    struct command *first = command_new(COMMAND_FORCE), *second;

    first->name = xstrdup("b");
    first->idempotency_key = xstrdup("k");
    desk_take(bench->desk, first); /* its answer is dropped */
    second = command_new(COMMAND_FORCE);
    second->name = xstrdup("b");
    second->idempotency_key = xstrdup("k");
    bench_ask(bench, second);
    assert_true(second->already);
    assert_int_equal(second->build.id, 1);
    assert_null(builds_find(bench->hub.builds, 2));
}

static struct command *change_with_key(struct masterbench *bench, const char *key)
{
    struct command *command = command_new(COMMAND_CHANGE);

    command->change_asked.project = xstrdup("j");
    command->change_asked.branch = xstrdup("main");
    command->change_asked.revision = xstrdup("cafe");
    command->idempotency_key = xstrdup(key);
    return bench_ask(bench, command);
}

/* A key that stands for a build is none for a change, and the other way round. */
static void test_key_of_another_kind(void **state)
{
    struct masterbench *bench = *state;
    struct command *command = command_new(COMMAND_FORCE);

    command->name = xstrdup("b");
    command->idempotency_key = xstrdup("k");
    bench_ask(bench, command);
    assert_int_equal(change_with_key(bench, "k")->err.code, ERR_EXISTS);
    assert_int_equal(change_with_key(bench, "l")->err.code, ERR_OK);
    assert_true(change_with_key(bench, "l")->already);
    command = command_new(COMMAND_FORCE);
    command->name = xstrdup("b");
    command->idempotency_key = xstrdup("l");
    assert_int_equal(bench_ask(bench, command)->err.code, ERR_EXISTS);
}

static void test_while_stopping(void **state)
{
    struct masterbench *bench = *state;

    bench->hub.stopping = true;
    assert_int_equal(force(bench, "b", NULL, NULL)->err.code, ERR_NOSPACE);
    assert_int_equal(bench_ask(bench, command_new(COMMAND_PROBE))->err.code, ERR_OK);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_force),
        test(test_force_of_nothing),
        test(test_bad_branches_and_revisions),
        test(test_longest_texts_fit_into_start),
        test(test_words_have_a_limit),
        test(test_long_reason_to_cancel),
        test(test_rebuild),
        test(test_change),
        test(test_key_is_good_at_once),
        test(test_key_of_another_kind),
        test(test_while_stopping),
    };

    return cmocka_run_group_tests_name("desk", tests, NULL, NULL);
}

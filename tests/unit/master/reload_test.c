/* A new configuration while builds are queued and run, and a bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "tests/support/masterbench.h"

#define CONFIG(slaves, builders)                                                                   \
    "master: {listen: '127.0.0.1:0', lost_after: 60s}\n"                                           \
    "pools: {p: {}, q: {}}\n"                                                                      \
    "slaves: {" slaves "}\n"                                                                       \
    "projects: {j: {git: /srv/j.git, branches: [main]}}\n"                                         \
    "builders:\n" builders
#define ST "s: {pools: [p], secret_file: secret}, t: {pools: [p, q]}"
#define T  "t: {pools: [p, q]}"
#define BUILDER(name, pool, command)                                                               \
    "  " name ": {project: j, pool: " pool ", steps: [{build: " command "}]}\n"
#define A      BUILDER("a", "p", "make")
#define SECRET "a secret that is long enough"

static int setup(void **state)
{
    struct masterbench *bench = bench_new(CONFIG(T, A));

    bench_write(bench, "secret", SECRET);
    bench_reload(bench, CONFIG(ST, A));
    *state = bench;
    return 0;
}

static struct puppet *puppet_s(struct masterbench *bench, uint64_t build)
{
    struct msg_held held = {.build = build, .attempt = 1, .last = 2};
    struct puppet_hello hello = {.name = "s", .secret = SECRET, .held = &held, .n_held = build > 0};

    return bench_puppet_with(bench, &hello);
}

static bool has(const text_list *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->v[i], word) == 0)
            return true;
    }
    return false;
}

static void test_bad_file_changes_nothing(void **state)
{
    struct masterbench *bench = *state;
    struct config *before = bench->hub.config;
    struct command *command = bench_reload(bench, "slaves: 3\nbuilders: [\n");

    assert_int_equal(command->err.code, ERR_CONFIG);
    assert_true(command->errors.n > 0);
    assert_ptr_equal(bench->hub.config, before);
    assert_true(bench_told(bench, "config bad"));
    command = bench_reload(bench, CONFIG(ST, A));
    assert_int_equal(command->err.code, ERR_OK);
    assert_int_equal(command->added.n + command->changed.n + command->removed.n, 0);
}

static void test_what_changed_is_said(void **state)
{
    struct masterbench *bench = *state;
    struct command *command =
        bench_reload(bench, CONFIG(T, BUILDER("a", "p", "make all") BUILDER("n", "q", "make")));

    assert_true(has(&command->added, "builder n"));
    assert_true(has(&command->changed, "builder a"));
    assert_true(has(&command->removed, "slave s"));
    assert_int_equal(command->draining.n, 0);
    bench_advance(bench, 100);
    assert_true(bench_told(bench, "slave s gone"));
}

/* --- slaves --- */

static void test_idle_slave_leaves(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = puppet_s(bench, 0);

    assert_true(puppet_is_ready(s));
    bench_reload(bench, CONFIG(T, A));
    assert_true(puppet_heard(s, "BYE the slave left the configuration"));
    bench_advance(bench, 1000);
    assert_true(puppet_is_closed(s));
    assert_true(puppet_heard(puppet_s(bench, 0), "REFUSED name"));
}

static void test_busy_slave_drains_then_leaves(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = puppet_s(bench, 0);
    struct command *command;

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_force(bench, "a", NULL);
    command = bench_reload(bench, CONFIG(T, A));
    assert_true(has(&command->draining, "slave s"));
    assert_false(bench_told(bench, "slave s gone"));
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "FORGET 1/1")); /* it got all that it was waiting for */
    assert_true(puppet_heard(s, "BYE the slave left the configuration"));
    assert_false(puppet_heard(s, "START 2/1"));
    assert_true(bench_told(bench, "slave s gone"));
}

/* The queue is looked at only after it is known who has left. */
static void test_leaving_slave_gets_no_more(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s;

    bench_reload(bench, CONFIG(ST, BUILDER("a", "q", "make")));
    bench_force(bench, "a", NULL);
    s = puppet_s(bench, 0);
    assert_false(puppet_heard(s, "START 1/1"));
    bench_reload(bench, CONFIG(T, A));
    assert_false(puppet_heard(s, "START 1/1"));
    (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
}

/* A connection that breaks meanwhile: it may come back, with its secret, for what it still runs. */
static void test_leaving_slave_reconnects(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = puppet_s(bench, 0);

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_reload(bench, CONFIG(T, A));
    puppet_cut(s, 0);
    bench_settle(bench);
    assert_false(puppet_is_ready(bench_puppet(bench, "s")));
    s = puppet_s(bench, 1);
    assert_true(puppet_heard(s, "KNOWN 1/1 2 keep"));
    s = puppet_s(bench, 1); /* and once more, before the master saw the first one go */
    assert_true(puppet_heard(s, "KNOWN 1/1 2 keep"));
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
    assert_true(bench_told(bench, "slave s gone"));
}

static void test_leaving_slave_returns_without_its_work(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = puppet_s(bench, 0);

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_reload(bench, CONFIG(T, A));
    puppet_cut(s, 0);
    bench_settle(bench);
    s = puppet_s(bench, 0);
    assert_false(puppet_heard(s, "START 1/2"));
    assert_true(bench_told(bench, "slave s gone"));
    (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
    bench_advance(bench, 1000);
    assert_true(puppet_is_closed(s));
}

static void test_leaving_slave_stays_away(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = puppet_s(bench, 0);

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_reload(bench, CONFIG(T, A));
    puppet_cut(s, 0);
    bench_settle(bench);
    assert_false(bench_told(bench, "slave s gone"));
    bench_advance(bench, 61000);
    assert_true(bench_told(bench, "slave s gone"));
    assert_true(puppet_heard(bench_puppet(bench, "t"), "START 1/2"));
}

static void test_leaving_slave_with_a_cancelled_build(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = puppet_s(bench, 0);

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_cancel(bench, 1, "no");
    bench_reload(bench, CONFIG(T, A));
    puppet_cut(s, 0);
    bench_settle(bench);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_CANCELLED);
    assert_true(bench_told(bench, "slave s gone"));
}

static void test_slave_comes_back_into_the_file(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = puppet_s(bench, 0);

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_force(bench, "a", NULL);
    bench_reload(bench, CONFIG(T, A));
    bench_reload(bench, CONFIG(ST, A));
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1"));
}

/* --- builders --- */

static void test_removed_builder_finishes_what_it_has(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = puppet_s(bench, 0);

    bench_force(bench, "a", NULL);
    bench_begin(bench, s, 1, 1);
    bench_force(bench, "a", NULL);
    bench_reload(bench, CONFIG(ST, BUILDER("other", "q", "make")));
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
    assert_true(puppet_heard(s, "START 2/1"));
    assert_true(view_is(puppet_start(s)->steps.v[0].shell, "make"));
}

static void test_changed_builder_holds_for_the_queue(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *t;
    struct build_info row;

    bench_force(bench, "a", NULL);
    bench_clear(bench);
    bench_reload(bench, CONFIG(ST, BUILDER("a", "q", "make all")));
    row = bench_row(bench, 1);
    assert_string_equal(row.pool, "q");
    build_info_release(&row);
    assert_true(bench_told(bench, "build 1 queued"));
    assert_false(puppet_heard(puppet_s(bench, 0), "START 1/1"));
    t = bench_puppet(bench, "t");
    assert_true(puppet_heard(t, "START 1/1"));
    assert_true(view_is(puppet_start(t)->steps.v[0].shell, "make all"));
}

/* The build was asked for, and its builder left before that was durable. */
static void test_builder_leaves_while_a_build_is_made(void **state)
{
    struct masterbench *bench = *state;
    struct config *old = config_ref(bench->hub.config);
    const struct config_builder *def = config_find_builder(old, "a");
    struct builds_request request = {
        .project = def->project, .only = def, .branch = "main", .reason = "forced"};

    (void)puppet_s(bench, 0);
    bench_write(bench, "master.yaml", CONFIG(ST, BUILDER("other", "q", "make")));
    bench_disk_fill(bench);
    assert_int_equal(builds_create(bench->hub.builds, &request, NULL, NULL, NULL), ERR_OK);
    bench_disk_full(bench);
    reload_begin(bench->reload, NULL);
    while (bench->hub.config == old)
        loop_run_once(&bench->loop, true);
    bench_disk_free(bench);
    assert_non_null(
        strstr(bench_expect(bench, 1, BUILD_FINISHED, RESULT_EXCEPTION), "no longer configured"));
    config_unref(&old);
}

/* --- several at once --- */

static void test_reloads_take_turns(void **state)
{
    struct masterbench *bench = *state;
    struct config *old = config_ref(bench->hub.config);

    bench_write(bench, "master.yaml", CONFIG(T, A));
    reload_begin(bench->reload, NULL);
    reload_begin(bench->reload, command_new(COMMAND_RELOAD));
    assert_int_equal(bench_reload(bench, CONFIG(ST, A))->err.code, ERR_OK);
    assert_non_null(config_find_slave(bench->hub.config, "s"));
    assert_ptr_not_equal(bench->hub.config, old);
    config_unref(&old);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_bad_file_changes_nothing),
        test(test_what_changed_is_said),
        test(test_idle_slave_leaves),
        test(test_busy_slave_drains_then_leaves),
        test(test_leaving_slave_gets_no_more),
        test(test_leaving_slave_reconnects),
        test(test_leaving_slave_returns_without_its_work),
        test(test_leaving_slave_stays_away),
        test(test_leaving_slave_with_a_cancelled_build),
        test(test_slave_comes_back_into_the_file),
        test(test_removed_builder_finishes_what_it_has),
        test(test_changed_builder_holds_for_the_queue),
        test(test_builder_leaves_while_a_build_is_made),
        test(test_reloads_take_turns),
    };

    return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}

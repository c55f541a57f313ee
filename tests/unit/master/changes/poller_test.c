/* The poller, with a git of the test's own in PATH: it prints what the test wrote into a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "tests/support/masterbench.h"

#define CONFIG(more)                                                                               \
    "master: {listen: '127.0.0.1:0'}\n"                                                            \
    "pools: {p: {}}\n"                                                                             \
    "slaves: {s: {pools: [p]}}\n"                                                                  \
    "projects: {j: {git: /srv/j.git, poll: 30s, branches: [main, 'rel-*']}" more "}\n"             \
    "builders: {b: {project: j, pool: p, steps: [{build: make}]}}\n"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

#define HEADS(revision, branch) revision "\trefs/heads/" branch "\n"

/* What git prints next, and whether it then fails. */
static void remote_is(struct masterbench *bench, const char *heads, int code)
{
    char *text = xasprintf("%d", code);

    bench_write(bench, "heads", heads);
    bench_write(bench, "code", text);
    free(text);
}

/* Until the looks that are under way are over, and all that came of them is done. */
static void finish(struct masterbench *bench)
{
    while (poller_is_looking(bench->poller))
        loop_run_once(&bench->loop, true);
    bench_settle(bench);
}

/* Forgets what was told, and lets the looks of the next wait_ms happen. */
static void look(struct masterbench *bench, uint64_t wait_ms)
{
    bench_clear(bench);
    for (; wait_ms > 0; wait_ms -= 1000) {
        bench_advance(bench, 1000);
        finish(bench); /* for it the clock stands still */
    }
}

static size_t looks(struct masterbench *bench)
{
    char *path = fs_join(bench->folder, "looks");
    struct str text = STR_INIT(65536);
    size_t n = 0;

    if (fs_read(path, &text, NULL) == ERR_OK)
        n = text.n / strlen("look\n");
    str_release(&text);
    free(path);
    return n;
}

static struct masterbench *start(void **state, const char *yaml)
{
    struct masterbench *bench = bench_new(yaml);
    char *script = xasprintf("#!/bin/sh\n"
                             "trap '' XFSZ\n" /* a full disk is the master's trouble alone */
                             "cat '%s/heads'\n"
                             "echo oops >&2\n"
                             "echo look >>'%s/looks'\n"
                             "exit \"$(cat '%s/code')\"\n",
                             bench->folder, bench->folder, bench->folder);
    char *git = fs_join(bench->folder, "git");
    char *path = xasprintf("%s:/usr/bin:/bin", bench->folder);

    *state = bench;
    bench_write(bench, "git", script);
    assert_int_equal(chmod(git, 0755), 0);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(script);
    free(path);
    free(git);
    return bench;
}

static void begin(struct masterbench *bench)
{
    bench_poll(bench);
    bench_settle(bench);
    finish(bench);
}

static void test_new_heads_become_changes(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));
    struct build_info row;

    remote_is(bench, HEADS(A, "main") HEADS(A, "rel-1") HEADS(A, "other"), 0);
    begin(bench);
    assert_true(bench_told(bench, "change 1"));
    assert_true(bench_told(bench, "change 2"));
    assert_false(bench_told(bench, "change 3"));
    row = bench_row(bench, 1);
    assert_string_equal(row.branch, "main");
    assert_string_equal(row.revision, A);
    assert_string_equal(row.reason, "push");
    build_info_release(&row);
    look(bench, 30000);
    assert_int_equal(looks(bench), 2);
    assert_false(bench_told(bench, "change 3"));
    remote_is(bench, HEADS(B, "main") HEADS(A, "rel-1"), 0);
    look(bench, 30000);
    assert_true(bench_told(bench, "change 3"));
    assert_false(bench_told(bench, "change 4"));
    remote_is(bench, HEADS(A, "main") HEADS(A, "rel-1"), 0); /* pushed back */
    look(bench, 30000);
    assert_true(bench_told(bench, "change 4"));
}

static void test_heads_are_remembered(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));

    remote_is(bench, HEADS(A, "main"), 0);
    begin(bench);
    assert_true(bench_told(bench, "change 1"));
    bench_crash(bench);
    begin(bench);
    assert_int_equal(looks(bench), 2);
    assert_false(bench_told(bench, "change 2"));
    remote_is(bench, HEADS(B, "main"), 0);
    bench_restart(bench);
    begin(bench);
    assert_true(bench_told(bench, "change 2"));
}

static void test_branch_that_goes_and_returns(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));

    remote_is(bench, HEADS(A, "main") HEADS(A, "rel-1"), 0);
    begin(bench);
    remote_is(bench, HEADS(A, "main"), 0);
    look(bench, 30000);
    remote_is(bench, HEADS(A, "main") HEADS(A, "rel-1"), 0);
    look(bench, 30000);
    assert_true(bench_told(bench, "build 3 queued"));
}

/* A failing remote is asked less and less often, and its heads stay known. */
static void test_failures(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));

    remote_is(bench, HEADS(A, "main"), 0);
    begin(bench);
    remote_is(bench, "", 128);
    for (int i = 0; i < 2; i++)
        look(bench, 30000);
    assert_int_equal(looks(bench), 3);
    look(bench, 30000); /* after the second failure in a row: a minute */
    assert_int_equal(looks(bench), 3);
    look(bench, 30000);
    assert_int_equal(looks(bench), 4);
    for (int i = 0; i < 12; i++)
        look(bench, 600000); /* never less often than that */
    assert_in_range(looks(bench), 15, 19);
    remote_is(bench, HEADS(A, "main"), 0);
    look(bench, 600000);
    assert_false(bench_told(bench, "change 2"));
    remote_is(bench, HEADS(B, "main"), 0);
    look(bench, 30000);
    assert_true(bench_told(bench, "change 2"));
}

static void test_no_git_at_all(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));

    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    begin(bench);
    look(bench, 30000);
    assert_int_equal(looks(bench), 0);
    assert_int_equal(setenv("PATH", bench->folder, 1), 0);
}

/* A name that START cannot carry, and lines that are none. */
static void test_odd_output(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));
    char *longest = xcalloc(1, 400);
    char *heads;

    memset(longest, 'x', 300);
    heads = xasprintf("rubbish\n\n" A "\trefs/tags/main\n" HEADS(A, "rel-%s") HEADS("abc", "main")
                          HEADS(A, "rel-2"),
                      longest);
    remote_is(bench, heads, 0);
    begin(bench);
    assert_true(bench_told(bench, "change 1"));
    assert_false(bench_told(bench, "change 2"));
    assert_string_equal(builds_find(bench->hub.builds, 1)->info.branch, "rel-2");
    free(heads);
    free(longest);
}

static struct command *force_op(void)
{
    struct command *command = command_new(COMMAND_FORCE);

    command->name = xstrdup("b");
    return command;
}

static void test_full_disk(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));

    remote_is(bench, "", 0);
    begin(bench);
    remote_is(bench, HEADS(A, "main"), 0);
    bench_disk_fill(bench);
    desk_take(bench->desk, force_op());
    bench_disk_full(bench);
    look(bench, 30000);
    assert_false(bench_told(bench, "change 1"));
    bench_disk_free(bench);
    look(bench, 30000);
    assert_true(bench_told(bench, "change 1"));
}

static void test_reload(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));
    size_t before;

    remote_is(bench, HEADS(A, "main") HEADS(A, "new"), 0);
    begin(bench);
    assert_false(bench_told(bench, "change 2"));
    /* A project without builders: looked at, and nothing comes of it. */
    bench_reload(bench, CONFIG(", k: {git: /srv/k.git, poll: 1h, branches: [main]}"));
    finish(bench);
    assert_int_equal(looks(bench), 3);
    assert_false(bench_told(bench, "change 2"));
    bench_reload(bench, "master: {listen: '127.0.0.1:0'}\n"
                        "pools: {p: {}}\n"
                        "slaves: {s: {pools: [p]}}\n"
                        "projects: {j: {git: /srv/j.git, poll: 30s, branches: [main, new]}}\n"
                        "builders: {b: {project: j, pool: p, steps: [{build: make}]}}\n");
    finish(bench);
    assert_true(bench_told(bench, "change 2"));
    /* Polled no more. */
    bench_reload(bench, "master: {listen: '127.0.0.1:0'}\n"
                        "pools: {p: {}}\n"
                        "slaves: {s: {pools: [p]}}\n"
                        "projects: {j: {git: /srv/j.git, branches: [main, new]}}\n"
                        "builders: {b: {project: j, pool: p, steps: [{build: make}]}}\n");
    finish(bench);
    before = looks(bench);
    look(bench, 120000);
    assert_int_equal(looks(bench), before);
}

/* More projects than may be asked at once: the others take their turn. */
static void test_many_projects(void **state)
{
    struct masterbench *bench = start(
        state, CONFIG(", k1: {git: /srv/1, poll: 30s, branches: [main]}, k2: {git: /srv/2, poll: "
                      "30s, branches: [main]}, k3: {git: /srv/3, poll: 30s, branches: [main]}, "
                      "k4: {git: /srv/4, poll: 30s, branches: [main]}, k5: {git: /srv/5, poll: "
                      "30s, branches: [main]}, k6: {git: /srv/6, poll: 30s, branches: [main]}"));

    remote_is(bench, HEADS(A, "main"), 0);
    begin(bench);
    assert_int_equal(looks(bench), 7);
}

/* A look that is under way when the master stops. */
static void test_stop_while_looking(void **state)
{
    struct masterbench *bench = start(state, CONFIG(""));

    remote_is(bench, HEADS(A, "main"), 0);
    bench_poll(bench);
    bench_settle(bench);
    bench_restart(bench);
    begin(bench);
    assert_true(bench_told(bench, "build 1 queued"));
}

#define test(name) cmocka_unit_test_teardown(name, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_new_heads_become_changes),
        test(test_heads_are_remembered),
        test(test_branch_that_goes_and_returns),
        test(test_failures),
        test(test_no_git_at_all),
        test(test_odd_output),
        test(test_full_disk),
        test(test_reload),
        test(test_many_projects),
        test(test_stop_while_looking),
    };

    return cmocka_run_group_tests_name("poller", tests, NULL, NULL);
}

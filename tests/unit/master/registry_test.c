/* Who may come in, under which name, and what becomes of two that use one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "tests/support/masterbench.h"

#define SLAVES(slaves)                                                                             \
    "master: {listen: '127.0.0.1:0', lost_after: 60s}\n"                                           \
    "pools: {p: {}}\n"                                                                             \
    "slaves: {" slaves "}\n"                                                                       \
    "projects: {j: {git: /srv/j.git, branches: [main]}}\n"                                         \
    "builders: {b: {project: j, pool: p, steps: [{build: make}]}}\n"
#define OPEN SLAVES("s: {pools: [p], slots: 2}, t: {pools: [p]}")

#define OLD_SECRET "the secret of last year"
#define NEW_SECRET "the secret of this year"

static int setup(void **state)
{
    *state = bench_new(OPEN);
    return 0;
}

/* --- names and secrets --- */

static void test_unknown_name(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *u = bench_puppet(bench, "u");

    assert_true(puppet_heard(u, "REFUSED name"));
    assert_false(puppet_is_ready(u));
    bench_advance(bench, 2000);
    assert_true(puppet_is_closed(u));
}

static void test_secrets(void **state)
{
    static const struct {
        const char *secret, *heard;
    } cases[] = {
        {NEW_SECRET, "WELCOME"},
        {OLD_SECRET, "WELCOME"},
        {"a secret of somebody else", "REFUSED secret"},
        {NULL, "CLOSED"}, /* it was asked for one and has none */
    };
    struct masterbench *bench = *state;

    bench_write(bench, "secret", NEW_SECRET "\n" OLD_SECRET "\n");
    bench_reload(bench, SLAVES("s: {pools: [p], secret_file: secret}"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct puppet_hello hello = {.name = "s", .secret = cases[i].secret};
        struct puppet *s = bench_puppet_with(bench, &hello);

        assert_true(puppet_heard(s, cases[i].heard));
        assert_int_equal(puppet_is_ready(s), i < 2);
        puppet_close(s);
        bench_advance(bench, 2000);
    }
}

static void test_rotated_secret(void **state)
{
    struct masterbench *bench = *state;
    struct puppet_hello hello = {.name = "s", .secret = OLD_SECRET};
    struct puppet *s;

    bench_write(bench, "secret", OLD_SECRET);
    bench_reload(bench, SLAVES("s: {pools: [p], secret_file: secret}"));
    s = bench_puppet_with(bench, &hello);
    assert_true(puppet_is_ready(s));
    bench_write(bench, "secret", NEW_SECRET);
    bench_reload(bench, SLAVES("s: {pools: [p], secret_file: secret}"));
    assert_true(puppet_is_ready(s)); /* who is in stays in */
    puppet_close(s);
    bench_settle(bench);
    s = bench_puppet_with(bench, &hello);
    assert_true(puppet_heard(s, "REFUSED secret"));
}

/* --- two under one name --- */

static void test_same_boot_replaces(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *first = bench_puppet(bench, "s"), *second;

    bench_force(bench, "b", NULL);
    bench_begin(bench, first, 1, 1);
    second = bench_puppet_holding(bench, "s", 1, 1, 2);
    assert_true(puppet_is_closed(first));
    assert_true(puppet_is_ready(second));
    assert_true(puppet_heard(second, "KNOWN 1/1 2 keep"));
    bench_end(bench, second, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

static void test_another_machine_is_refused(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *first = bench_puppet(bench, "s"), *second;
    struct puppet_hello hello = {.name = "s", .boot_id = "other"};

    second = bench_puppet_with(bench, &hello);
    assert_false(puppet_is_ready(second));
    bench_advance(bench, 6000);
    assert_true(puppet_heard(second, "REFUSED duplicate"));
    assert_true(puppet_is_ready(first));
    bench_advance(bench, 2000);
    assert_true(puppet_is_closed(second));
}

static void test_another_machine_takes_over_from_a_silent_one(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *first = bench_puppet(bench, "s"), *second;
    struct puppet_hello hello = {.name = "s", .boot_id = "other"};

    bench_force(bench, "b", NULL);
    bench_begin(bench, first, 1, 1);
    puppet_mute(first, true);
    second = bench_puppet_with(bench, &hello);
    fake_clock_advance(&bench->clock, 4900);
    bench_settle(bench);
    assert_false(puppet_is_ready(second));
    fake_clock_advance(&bench->clock, 200);
    bench_settle(bench);
    assert_true(puppet_is_ready(second));
    assert_true(puppet_is_closed(first));
    /* It does not hold what the first ran. */
    assert_true(puppet_heard(second, "START 1/2"));
}

/* The rival hangs up, or breaks the protocol, before it is decided. */
static void test_rival_goes_away(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *first = bench_puppet(bench, "s"), *second, *third;
    struct puppet_hello hello = {.name = "s", .boot_id = "other"};

    second = bench_puppet_with(bench, &hello);
    puppet_close(second);
    bench_settle(bench);
    puppet_mute(first, true);
    third = bench_puppet_with(bench, &hello);
    puppet_close(third);
    bench_advance(bench, 8000);
    assert_true(puppet_is_closed(first));
    assert_false(puppet_is_ready(third));
    third = bench_puppet(bench, "s");
    assert_true(puppet_is_ready(third));
}

/* A rival that talks nonsense while it waits, and is about to be closed when the name is free. */
static void test_rival_that_breaks_the_protocol(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *first = bench_puppet(bench, "s"), *second;
    struct puppet_hello hello = {.name = "s", .boot_id = "other"};

    bench_force(bench, "b", NULL);
    puppet_mute(first, true);
    second = bench_puppet_with(bench, &hello);
    fake_clock_advance(&bench->clock, 4500);
    bench_settle(bench);
    puppet_deafen(second, true); /* so that its last words keep it open for a while */
    puppet_send_raw(second, "nonsense", 8);
    bench_settle(bench);
    fake_clock_advance(&bench->clock, 600);
    bench_settle(bench);
    assert_true(puppet_is_closed(first));
    assert_false(puppet_is_closed(second));
    (void)bench_expect(bench, 1, BUILD_DETACHED, RESULT_NONE);
    puppet_deafen(second, false);
}

static void test_two_rivals(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *first = bench_puppet(bench, "s"), *a, *b;
    struct puppet_hello hello = {.name = "s", .boot_id = "a"};

    puppet_mute(first, true);
    a = bench_puppet_with(bench, &hello);
    hello.boot_id = "b";
    b = bench_puppet_with(bench, &hello);
    for (int i = 0; i < 8; i++)
        bench_advance(bench, 1000);
    assert_int_equal(puppet_is_ready(a) + puppet_is_ready(b), 1);
    assert_true(puppet_heard(puppet_is_ready(a) ? b : a, "REFUSED duplicate"));
}

static void test_silent_slave_is_dropped(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *s = bench_puppet(bench, "s");

    bench_force(bench, "b", NULL);
    puppet_mute(s, true);
    bench_advance(bench, 44000);
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
    bench_advance(bench, 5000);
    (void)bench_expect(bench, 1, BUILD_DETACHED, RESULT_NONE);
}

/* --- limits and nonsense --- */

/* Connections that stay silent cannot keep a slave out: the oldest makes room. */
static void test_connection_limit(void **state)
{
    struct masterbench *bench = *state;
    size_t most = 2 * 2 + 256, closed = 0;

    assert_true(puppet_is_ready(bench_puppet(bench, "s")));
    for (size_t i = 0; i < most + 2; i++)
        vec_push(&bench->puppets, puppet_new_silent(&bench->loop, bench->hub.registry));
    bench_settle(bench);
    for (size_t i = 0; i < bench->puppets.n; i++)
        closed += puppet_is_closed(bench->puppets.v[i]);
    assert_int_equal(closed, 3);
    for (size_t i = 1; i <= 3; i++)
        assert_true(puppet_is_closed(bench->puppets.v[i]));
    assert_true(puppet_is_ready(bench->puppets.v[0])); /* a slave's connection does not make room */
    assert_true(puppet_is_ready(bench_puppet(bench, "t")));
    /* Who says nothing does not stay. */
    bench_advance(bench, 15000);
    for (size_t i = 1; i < most + 3; i++)
        assert_true(puppet_is_closed(bench->puppets.v[i]));
}

static void count_turned_away(void *arg, enum log_level level, struct view line)
{
    size_t *n = arg;

    (void)level;
    n[0] += memmem(line.p, line.n, "slave.turned_away ", 18) != NULL;
    n[1] += memmem(line.p, line.n, "slave.turned_away_more connections=29", 37) != NULL;
}

/* Every connection that is turned away is logged, but a flood of them is only counted. */
static void test_turned_away_is_logged(void **state)
{
    struct masterbench *bench = *state;
    size_t said[2] = {0};

    log_set_sink(count_turned_away, said);
    for (size_t i = 0; i < 50; i++)
        vec_push(&bench->puppets, puppet_new_silent(&bench->loop, bench->hub.registry));
    bench_settle(bench);
    puppet_close(bench->puppets.v[0]); /* before it said its name */
    bench_settle(bench);
    assert_int_equal(said[0], 1);
    bench_advance(bench, 11000); /* the others say nothing for too long */
    assert_int_equal(said[0], 1 + 20);
    assert_int_equal(said[1], 0);
    bench_advance(bench, 11000);
    (void)bench_puppet(bench, "u");
    bench_advance(bench, 2000);
    assert_int_equal(said[0], 1 + 20 + 1);
    assert_int_equal(said[1], 1);
    log_set_sink(NULL, NULL);
}

static void test_too_many_held(void **state)
{
    struct masterbench *bench = *state;
    struct msg_held *held = xcalloc(1024, sizeof *held);
    struct puppet_hello hello = {.name = "s", .held = held, .n_held = 1024};
    struct puppet *s;

    for (uint64_t i = 0; i < 1024; i++)
        held[i] = (struct msg_held){.build = 1000 + i, .attempt = 1, .last = i};
    s = bench_puppet_with(bench, &hello);
    assert_true(puppet_is_ready(s));
    assert_true(puppet_heard(s, "KNOWN 2023/1 0 void"));
    free(held);
}

/* An attempt that the master does not know of may be one that a crash made it forget, but never one
 * that the slave could not have been given. */
static void test_held_of_another_pool(void **state)
{
    struct masterbench *bench = *state;
    struct puppet *v;

    bench_reload(bench, "master: {listen: '127.0.0.1:0'}\n"
                        "pools: {p: {}, q: {}}\n"
                        "slaves: {s: {pools: [p]}, v: {pools: [q]}}\n"
                        "projects: {j: {git: /srv/j.git, branches: [main]}}\n"
                        "builders: {b: {project: j, pool: p, steps: [{build: make}]}}\n");
    bench_force(bench, "b", NULL);
    v = bench_puppet_holding(bench, "v", 1, 1, 2);
    assert_true(puppet_heard(v, "KNOWN 1/1 0 void"));
    (void)bench_expect(bench, 1, BUILD_QUEUED, RESULT_NONE);
    assert_true(puppet_heard(bench_puppet_holding(bench, "s", 1, 1, 2), "KNOWN 1/1 0 keep"));
    (void)bench_expect(bench, 1, BUILD_RUNNING, RESULT_NONE);
}

static void test_absurd_slots(void **state)
{
    struct masterbench *bench = bench_new(SLAVES("s: {pools: [p]}"));
    struct puppet_hello hello = {.name = "s", .slots = UINT32_MAX};
    struct slave_info info = {0};

    *state = bench;
    assert_true(puppet_is_ready(bench_puppet_with(bench, &hello)));
    assert_int_equal(registry_drain(bench->hub.registry, "s", false, NULL, &info, NULL), ERR_OK);
    assert_int_equal(info.slots, 1024);
    assert_string_equal(info.version, "9.9.9");
    slave_info_release(&info);
    bench_settle(bench);
}

/* --- draining --- */

static void test_drain_by_hand(void **state)
{
    struct masterbench *bench = *state;
    struct puppet_hello hello = {.name = "s", .slots = 2};
    struct puppet *s = bench_puppet_with(bench, &hello);
    struct msg state_msg = {.type = MSG_STATE};
    struct command *command;

    bench_force(bench, "b", NULL);
    command = command_new(COMMAND_SLAVE_DRAIN);
    command->name = xstrdup("s");
    command->reason = xstrdup("new disk");
    bench_ask(bench, command);
    assert_int_equal(command->slave.state, SLAVE_DRAINING);
    assert_int_equal(command->slave.running, 1);
    assert_string_equal(command->slave.reason, "new disk");
    bench_force(bench, "b", NULL);
    assert_false(puppet_heard(s, "START 2/1"));
    puppet_send(s, &state_msg); /* what the slave wishes does not lift it */
    bench_settle(bench);
    assert_false(puppet_heard(s, "START 2/1"));
    command = command_new(COMMAND_SLAVE_RESUME);
    command->name = xstrdup("s");
    bench_ask(bench, command);
    assert_int_equal(command->slave.state, SLAVE_BUSY);
    assert_null(command->slave.reason);
    assert_true(puppet_heard(s, "START 2/1"));
    command = command_new(COMMAND_SLAVE_DRAIN);
    command->name = xstrdup("nobody");
    assert_int_equal(bench_ask(bench, command)->err.code, ERR_NOTFOUND);
}

static void test_drain_by_the_slave(void **state)
{
    struct masterbench *bench = *state;
    struct puppet_hello hello = {.name = "s", .draining = true};
    struct puppet *s = bench_puppet_with(bench, &hello);
    struct msg msg = {.type = MSG_STATE};

    bench_force(bench, "b", NULL);
    assert_false(puppet_heard(s, "START 1/1"));
    bench_advance(bench, 100);
    assert_true(bench_told(bench, "slave s draining"));
    puppet_send(s, &msg);
    bench_settle(bench);
    assert_true(puppet_heard(s, "START 1/1"));
    msg.u.state.draining = true;
    puppet_send(s, &msg);
    bench_settle(bench);
    bench_force(bench, "b", NULL);
    assert_false(puppet_heard(s, "START 2/1"));
    bench_begin(bench, s, 1, 1);
    bench_end(bench, s, 1, 1, 3, RESULT_SUCCESS);
    (void)bench_expect(bench, 1, BUILD_FINISHED, RESULT_SUCCESS);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_unknown_name),
        test(test_secrets),
        test(test_rotated_secret),
        test(test_same_boot_replaces),
        test(test_another_machine_is_refused),
        test(test_another_machine_takes_over_from_a_silent_one),
        test(test_rival_goes_away),
        test(test_rival_that_breaks_the_protocol),
        test(test_two_rivals),
        test(test_silent_slave_is_dropped),
        test(test_connection_limit),
        test(test_turned_away_is_logged),
        test(test_too_many_held),
        test(test_held_of_another_pool),
        cmocka_unit_test_teardown(test_absurd_slots, bench_teardown),
        test(test_drain_by_hand),
        test(test_drain_by_the_slave),
    };

    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}

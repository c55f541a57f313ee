#include "master/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"

struct limits {
    const char *builder;
    bool full;
};

static bool may_start(void *owner, const char *builder)
{
    struct limits *limits = owner;

    return !limits->full || strcmp(limits->builder, builder) != 0;
}

static text_list list_of(const char *a, const char *b)
{
    text_list list = {0};

    if (a)
        vec_push(&list, xstrdup(a));
    if (b)
        vec_push(&list, xstrdup(b));
    return list;
}

static struct sched_slave *slave_in(struct sched *sched, const char *pool, const char *label,
                                    char *owner)
{
    text_list pools = list_of(pool, NULL), labels = list_of(label, NULL);
    struct sched_slave *slave = sched_slave_new(sched, &pools, &labels, owner);

    text_list_release(&pools);
    text_list_release(&labels);
    return slave;
}

static struct sched_request request(uint64_t id, enum priority priority)
{
    return (struct sched_request){.pool = "p", .builder = "b", .priority = priority, .id = id};
}

static void test_order(void **state)
{
    struct limits limits = {"b", false};
    struct sched *sched = sched_new(may_start, &limits);
    char owner[] = "a";
    struct sched_slave *slave = slave_in(sched, "p", NULL, owner);
    struct sched_request requests[] = {
        request(1, PRIORITY_LOW),    request(4, PRIORITY_NORMAL), request(3, PRIORITY_NORMAL),
        request(2, PRIORITY_NORMAL), request(5, PRIORITY_HIGH),
    };
    const uint64_t expected[] = {5, 2, 3, 4, 1};
    struct sched_match match;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        sched_add(sched, &requests[i]);
    assert_false(sched_next(sched, &match)); /* nobody is free */
    for (size_t i = 0; i < 5; i++) {
        sched_slave_set_free(slave, 1);
        assert_true(sched_next(sched, &match));
        assert_int_equal(match.request->id, expected[i]);
        assert_ptr_equal(match.slave, owner);
        assert_false(sched_next(sched, &match)); /* its slot is taken */
    }
    assert_int_equal(sched_queued(sched, "p"), 0);
    sched_slave_free(slave);
    sched_free(sched);
}

static void test_remove_keeps_order(void **state)
{
    struct limits limits = {"b", false};
    struct sched *sched = sched_new(may_start, &limits);
    char owner[] = "a";
    struct sched_slave *slave = slave_in(sched, "p", NULL, owner);
    struct sched_request requests[200];
    struct sched_match match;
    uint64_t last = 0;
    unsigned seen = 0;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        requests[i] = request((i * 7919u) % 200 + 1, PRIORITY_NORMAL);
        sched_add(sched, &requests[i]);
    }
    for (unsigned i = 0; i < 200; i += 3)
        sched_remove(sched, &requests[i]);
    sched_slave_set_free(slave, 1000);
    while (sched_next(sched, &match)) {
        assert_true(match.request->id > last);
        assert_true((match.request - requests) % 3 != 0);
        last = match.request->id;
        seen++;
    }
    assert_int_equal(seen, 133);
    sched_remove(sched, &requests[0]); /* not queued: fine */
    sched_slave_free(slave);
    sched_free(sched);
}

static void test_labels_do_not_block(void **state)
{
    struct limits limits = {"b", false};
    struct sched *sched = sched_new(may_start, &limits);
    char plain_owner[] = "plain", gpu_owner[] = "gpu";
    struct sched_slave *plain = slave_in(sched, "p", NULL, plain_owner);
    struct sched_slave *gpu;
    text_list needs = list_of("gpu", NULL);
    struct sched_request picky = request(1, PRIORITY_HIGH), easy = request(2, PRIORITY_LOW);
    struct sched_match match;

    (void)state;
    picky.needs = &needs;
    sched_add(sched, &picky);
    sched_add(sched, &easy);
    sched_slave_set_free(plain, 2);
    assert_true(sched_next(sched, &match));
    assert_int_equal(match.request->id, 2);
    assert_false(sched_next(sched, &match));
    gpu = slave_in(sched, "p", "gpu", gpu_owner);
    sched_slave_set_free(gpu, 1);
    assert_true(sched_next(sched, &match));
    assert_int_equal(match.request->id, 1);
    assert_ptr_equal(match.slave, gpu_owner);
    sched_slave_free(plain);
    sched_slave_free(gpu);
    text_list_release(&needs);
    sched_free(sched);
}

static void test_limits(void **state)
{
    struct limits limits = {"b", true};
    struct sched *sched = sched_new(may_start, &limits);
    char owner[] = "a";
    struct sched_slave *slave = slave_in(sched, "p", NULL, owner);
    struct sched_request limited = request(1, PRIORITY_NORMAL);
    struct sched_request other = request(2, PRIORITY_NORMAL);
    struct sched_match match;

    (void)state;
    limited.limited = true;
    other.builder = "c";
    sched_add(sched, &limited);
    sched_add(sched, &other);
    sched_slave_set_free(slave, 2);
    assert_true(sched_next(sched, &match));
    assert_int_equal(match.request->id, 2);
    assert_false(sched_next(sched, &match));
    limits.full = false;
    sched_unblock(sched);
    assert_true(sched_next(sched, &match));
    assert_int_equal(match.request->id, 1);
    sched_slave_free(slave);
    sched_free(sched);
}

static void test_pause(void **state)
{
    struct limits limits = {"b", false};
    struct sched *sched = sched_new(may_start, &limits);
    char owner[] = "a";
    struct sched_slave *slave = slave_in(sched, "p", NULL, owner);
    struct sched_request one = request(1, PRIORITY_NORMAL);
    struct sched_match match;

    (void)state;
    sched_pause(sched, "p", true);
    sched_add(sched, &one);
    sched_slave_set_free(slave, 1);
    assert_true(sched_is_paused(sched, "p"));
    assert_false(sched_next(sched, &match));
    sched_pause(sched, "p", false);
    assert_true(sched_next(sched, &match));
    sched_slave_free(slave);
    sched_free(sched);
}

static void test_two_pools_one_slave(void **state)
{
    struct limits limits = {"b", false};
    struct sched *sched = sched_new(may_start, &limits);
    text_list pools = list_of("p", "q"), none = {0};
    char owner[] = "a";
    struct sched_slave *slave = sched_slave_new(sched, &pools, &none, owner);
    struct sched_request late = request(2, PRIORITY_NORMAL), early = request(1, PRIORITY_NORMAL);
    struct sched_match match;

    (void)state;
    early.pool = "q";
    sched_add(sched, &late);
    sched_add(sched, &early);
    sched_slave_set_free(slave, 1);
    assert_true(sched_next(sched, &match));
    assert_ptr_equal(match.request, &early);
    assert_false(sched_next(sched, &match));
    sched_slave_free(slave);
    text_list_release(&pools);
    sched_free(sched);
}

static void test_longest_free_first(void **state)
{
    struct limits limits = {"b", false};
    struct sched *sched = sched_new(may_start, &limits);
    char owners[3][2] = {"a", "b", "c"};
    struct sched_slave *slaves[3];
    struct sched_request requests[6];
    struct sched_match match;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        slaves[i] = slave_in(sched, "p", NULL, owners[i]);
        sched_slave_set_free(slaves[i], 2);
    }
    for (unsigned i = 0; i < 6; i++) {
        requests[i] = request(i + 1, PRIORITY_NORMAL);
        sched_add(sched, &requests[i]);
    }
    for (unsigned i = 0; i < 6; i++) {
        assert_true(sched_next(sched, &match));
        assert_ptr_equal(match.slave, owners[i % 3]); /* work spreads over the machines */
    }
    for (size_t i = 0; i < 3; i++)
        sched_slave_free(slaves[i]);
    sched_free(sched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_remove_keeps_order),
        cmocka_unit_test(test_labels_do_not_block),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_two_pools_one_slave),
        cmocka_unit_test(test_longest_free_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "slave/steps/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fake_clock.h"

struct fixture {
    struct fake_clock clock;
    struct loop loop;
    struct limits limits;
    unsigned asked;
    bool refuse;
    char text[LIMITS_TEXT_MAX];
};

static bool on_limit(void *owner, const char *text)
{
    struct fixture *f = owner;

    f->asked++;
    (void)snprintf(f->text, sizeof f->text, "%s", text);
    return !f->refuse;
}

static void start(struct fixture *f, uint64_t total_ms, uint64_t idle_ms)
{
    struct err err = ERR_INIT;

    memset(f, 0, sizeof *f);
    fake_clock_init(&f->clock, 1000, 0);
    assert_int_equal(loop_init(&f->loop, &f->clock.clock, &err), ERR_OK);
    f->limits.on_limit = on_limit;
    f->limits.owner = f;
    limits_start(&f->limits, &f->loop, "total", total_ms, idle_ms);
}

static void pass(struct fixture *f, uint64_t ms)
{
    fake_clock_advance(&f->clock, ms);
    loop_run_once(&f->loop, false);
}

static void stop(struct fixture *f)
{
    limits_stop(&f->limits);
    limits_stop(&f->limits);
    loop_release(&f->loop);
}

static void test_total(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 60000, 0);
    pass(&f, 59999);
    assert_int_equal(f.asked, 0);
    pass(&f, 1);
    assert_int_equal(f.asked, 1);
    assert_string_equal(f.text, "total limit: not done after 1 min");
    stop(&f);
}

static void test_idle(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 0, 20 * 60000);
    pass(&f, 15 * 60000);
    limits_sign(&f.limits);
    pass(&f, 15 * 60000);
    pass(&f, 5 * 60000 - 1);
    assert_int_equal(f.asked, 0);
    pass(&f, 1);
    assert_int_equal(f.asked, 1);
    assert_string_equal(f.text, "idle limit: no output for 20 min");
    stop(&f);
}

static void test_held_time_does_not_count(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 10000, 3000);
    pass(&f, 2000);
    limits_hold(&f.limits, true);
    limits_hold(&f.limits, true);
    pass(&f, 100000);
    assert_int_equal(f.asked, 0);
    limits_hold(&f.limits, false);
    pass(&f, 2999);
    assert_int_equal(f.asked, 0);
    limits_sign(&f.limits);
    pass(&f, 2000);
    limits_sign(&f.limits);
    pass(&f, 2000);
    limits_sign(&f.limits);
    pass(&f, 1000); /* 9999 ms of its own */
    assert_int_equal(f.asked, 0);
    pass(&f, 1);
    assert_string_equal(f.text, "total limit: not done after 10 s");
    stop(&f);
}

static void test_refused_is_asked_again(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, 500, 0);
    f.refuse = true;
    pass(&f, 500);
    assert_int_equal(f.asked, 1);
    pass(&f, LIMITS_POSTPONE_MS - 1);
    assert_int_equal(f.asked, 1);
    pass(&f, 1);
    assert_int_equal(f.asked, 2);
    stop(&f);
}

static void test_values_as_people_write_them(void **state)
{
    char out[32];

    (void)state;
    assert_string_equal(limits_show(3600000, out), "1 h");
    assert_string_equal(limits_show(5400000, out), "90 min");
    assert_string_equal(limits_show(90000, out), "90 s");
    assert_string_equal(limits_show(1500, out), "1500 ms");
    assert_string_equal(limits_show(0, out), "0 ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_total),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_held_time_does_not_count),
        cmocka_unit_test(test_refused_is_asked_again),
        cmocka_unit_test(test_values_as_people_write_them),
    };

    return cmocka_run_group_tests_name("slave/steps/limits", tests, NULL, NULL);
}

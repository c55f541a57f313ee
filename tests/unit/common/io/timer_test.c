#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/timer.h"
#include "tests/support/fake_clock.h"

struct bed {
    struct fake_clock clock;
    struct loop loop;
    char fired[256]; /* the names of the timers, in the order they fired */
};

struct named {
    struct timer timer;
    struct bed *bed;
    char name;
};

static int setup(void **state)
{
    struct bed *bed = xcalloc(1, sizeof *bed);

    fake_clock_init(&bed->clock, 1000, 5000);
    assert_int_equal(loop_init(&bed->loop, &bed->clock.clock, NULL), ERR_OK);
    *state = bed;
    return 0;
}

static int teardown(void **state)
{
    struct bed *bed = *state;

    loop_release(&bed->loop);
    free(bed);
    return 0;
}

static void note(struct timer *timer, void *owner)
{
    struct named *named = owner;
    char one[2] = {named->name, '\0'};

    (void)timer;
    memcpy(named->bed->fired + strlen(named->bed->fired), one, sizeof one);
}

static void named_init(struct named *named, struct bed *bed, char name, timer_fn fn)
{
    named->bed = bed;
    named->name = name;
    timer_init(&named->timer, &bed->loop, fn, named);
}

static void pass(struct bed *bed, uint64_t ms)
{
    fake_clock_advance(&bed->clock, ms);
    loop_run_once(&bed->loop, false);
}

static void fires_at_its_time(void **state)
{
    struct bed *bed = *state;
    struct named a;

    named_init(&a, bed, 'a', note);
    timer_start(&a.timer, 100, 0);
    pass(bed, 99);
    assert_string_equal(bed->fired, "");
    assert_true(timer_is_running(&a.timer));
    pass(bed, 1);
    assert_string_equal(bed->fired, "a");
    assert_false(timer_is_running(&a.timer));
    pass(bed, 1000);
    assert_string_equal(bed->fired, "a");
}

static void waiting_pass_needs_no_real_time(void **state)
{
    struct bed *bed = *state;
    struct named a;

    named_init(&a, bed, 'a', note);
    timer_start(&a.timer, 3600 * 1000, 0);
    fake_clock_advance(&bed->clock, 3600 * 1000);
    loop_run_once(&bed->loop, true);
    assert_string_equal(bed->fired, "a");
}

static void fires_in_order_of_time_then_of_start(void **state)
{
    struct bed *bed = *state;
    struct named n[5];
    static const uint64_t due[5] = {30, 10, 20, 10, 30};
    int i;

    for (i = 0; i < 5; i++) {
        named_init(&n[i], bed, (char)('a' + i), note);
        timer_start(&n[i].timer, due[i], 0);
    }
    pass(bed, 30);
    assert_string_equal(bed->fired, "bdcae");
}

static void repeats_without_making_up(void **state)
{
    struct bed *bed = *state;
    struct named a;

    named_init(&a, bed, 'a', note);
    timer_start(&a.timer, 10, 10);
    pass(bed, 10);
    pass(bed, 9);
    assert_string_equal(bed->fired, "a");
    pass(bed, 1);
    assert_string_equal(bed->fired, "aa");
    pass(bed, 500);
    assert_string_equal(bed->fired, "aaa");
    pass(bed, 10);
    assert_string_equal(bed->fired, "aaaa");
    timer_stop(&a.timer);
    pass(bed, 100);
    assert_string_equal(bed->fired, "aaaa");
}

static void restart_at_once(struct timer *timer, void *owner)
{
    note(timer, owner);
    timer_start(timer, 0, 0);
}

static void restart_fires_in_the_next_pass(void **state)
{
    struct bed *bed = *state;
    struct named a;

    named_init(&a, bed, 'a', restart_at_once);
    timer_start(&a.timer, 0, 0);
    pass(bed, 0);
    assert_string_equal(bed->fired, "a");
    pass(bed, 0);
    assert_string_equal(bed->fired, "aa");
    timer_stop(&a.timer);
}

static void free_itself(struct timer *timer, void *owner)
{
    note(timer, owner);
    free(owner);
}

static void may_free_itself(void **state)
{
    struct bed *bed = *state;
    struct named *a = xcalloc(1, sizeof *a);

    named_init(a, bed, 'a', free_itself);
    timer_start(&a->timer, 5, 0);
    pass(bed, 5);
    assert_string_equal(bed->fired, "a");
}

static void stop_is_harmless(void **state)
{
    struct timer zeroed;

    (void)state;
    memset(&zeroed, 0, sizeof zeroed);
    timer_stop(&zeroed);
    timer_stop(&zeroed);
    assert_false(timer_is_running(&zeroed));
}

static void endless_delay_never_fires(void **state)
{
    struct bed *bed = *state;
    struct named a;

    named_init(&a, bed, 'a', note);
    timer_start(&a.timer, UINT64_MAX, 0);
    pass(bed, 1000 * 1000);
    assert_string_equal(bed->fired, "");
    timer_stop(&a.timer);
}

struct many {
    struct timer timer;
    uint64_t due_ms;
    uint64_t *last_ms;
    int *left;
};

static void check_order(struct timer *timer, void *owner)
{
    struct many *one = owner;

    (void)timer;
    assert_true(*one->last_ms <= one->due_ms);
    *one->last_ms = one->due_ms;
    --*one->left;
}

/* Pseudo-random, the same in each run: starts, restarts and stops in a heap of some depth. */
static void heap_keeps_order(void **state)
{
    enum { N = 2000 };
    struct bed *bed = *state;
    struct many *all = xcalloc(N, sizeof *all);
    uint64_t last_ms = 0, seed = 12345;
    int i, left = 0;

    for (i = 0; i < 3 * N; i++) {
        struct many *one;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        one = &all[(seed >> 33) % N];
        if (!one->last_ms)
            timer_init(&one->timer, &bed->loop, check_order, one);
        one->last_ms = &last_ms;
        one->left = &left;
        if (timer_is_running(&one->timer))
            left--;
        timer_stop(&one->timer);
        if (i % 5 == 0)
            continue;
        one->due_ms = (seed >> 20) % 1000;
        timer_start(&one->timer, one->due_ms, 0);
        left++;
    }
    assert_true(left > N / 2);
    assert_int_equal(bed->loop.n_timers, left);
    pass(bed, 1000);
    assert_int_equal(left, 0);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fires_at_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(waiting_pass_needs_no_real_time, setup, teardown),
        cmocka_unit_test_setup_teardown(fires_in_order_of_time_then_of_start, setup, teardown),
        cmocka_unit_test_setup_teardown(repeats_without_making_up, setup, teardown),
        cmocka_unit_test_setup_teardown(restart_fires_in_the_next_pass, setup, teardown),
        cmocka_unit_test_setup_teardown(may_free_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(stop_is_harmless, setup, teardown),
        cmocka_unit_test_setup_teardown(endless_delay_never_fires, setup, teardown),
        cmocka_unit_test_setup_teardown(heap_keeps_order, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

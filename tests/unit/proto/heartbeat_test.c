#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/heartbeat.h"

static void silence(void **state)
{
    struct heartbeat hb;

    (void)state;
    heartbeat_init(&hb, 15000, 45000, 1000);
    assert_int_equal(heartbeat_next_ms(&hb), 16000);
    assert_int_equal(heartbeat_tick(&hb, 15999), BEAT_NONE);
    assert_int_equal(heartbeat_tick(&hb, 16000), BEAT_PING);
    assert_int_equal(heartbeat_tick(&hb, 16001), BEAT_NONE);
    assert_int_equal(heartbeat_next_ms(&hb), 46000);
    assert_int_equal(heartbeat_tick(&hb, 45999), BEAT_NONE);
    assert_int_equal(heartbeat_tick(&hb, 46000), BEAT_DROP);
}

static void any_byte_is_life(void **state)
{
    struct heartbeat hb;

    (void)state;
    heartbeat_init(&hb, 15000, 45000, 0);
    assert_int_equal(heartbeat_tick(&hb, 20000), BEAT_PING);
    heartbeat_seen(&hb, 44999);
    assert_int_equal(heartbeat_tick(&hb, 45000), BEAT_NONE);
    assert_int_equal(heartbeat_next_ms(&hb), 59999);
    assert_int_equal(heartbeat_tick(&hb, 59999), BEAT_PING);
    assert_int_equal(heartbeat_tick(&hb, 89999), BEAT_DROP);
}

/* A loop that slept long: the drop is due at once, no PING is wasted on it. */
static void late_tick(void **state)
{
    struct heartbeat hb;

    (void)state;
    heartbeat_init(&hb, 15000, 45000, 0);
    assert_int_equal(heartbeat_tick(&hb, 100000), BEAT_DROP);
}

static void doubt(void **state)
{
    struct heartbeat hb;

    (void)state;
    heartbeat_init(&hb, 15000, 45000, 0);
    heartbeat_probe(&hb, 1000, 5000);
    assert_int_equal(heartbeat_next_ms(&hb), 6000);
    heartbeat_probe(&hb, 4000, 5000); /* asked again: the first limit stands */
    assert_int_equal(heartbeat_next_ms(&hb), 6000);
    assert_int_equal(heartbeat_tick(&hb, 5999), BEAT_NONE);
    assert_int_equal(heartbeat_tick(&hb, 6000), BEAT_DROP);
}

static void doubt_removed(void **state)
{
    struct heartbeat hb;

    (void)state;
    heartbeat_init(&hb, 15000, 45000, 0);
    heartbeat_probe(&hb, 1000, 5000);
    heartbeat_seen(&hb, 5999);
    assert_int_equal(heartbeat_tick(&hb, 6000), BEAT_NONE);
    assert_int_equal(heartbeat_next_ms(&hb), 20999);
}

/* A peer that is about to be dropped anyway gains nothing by a probe. */
static void doubt_does_not_postpone(void **state)
{
    struct heartbeat hb;

    (void)state;
    heartbeat_init(&hb, 15000, 45000, 0);
    heartbeat_probe(&hb, 44000, 5000);
    assert_int_equal(heartbeat_tick(&hb, 45000), BEAT_DROP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence),       cmocka_unit_test(any_byte_is_life),
        cmocka_unit_test(late_tick),     cmocka_unit_test(doubt),
        cmocka_unit_test(doubt_removed), cmocka_unit_test(doubt_does_not_postpone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The rules of stream.h, over the connection in memory that tests of other parts use too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/stream.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memstream.h"

struct side {
    struct stream *stream; /* NULL once closed */
    char got[256];
    size_t n_got, n_calls;
    int drained, closed;
    struct err why;
    bool close_on_data;
};

struct bed {
    struct fake_clock clock;
    struct loop loop;
    struct memstream *pair;
    struct side sides[2];
};

static void on_data(void *owner, struct view bytes)
{
    struct side *side = owner;
    size_t i;

    assert_int_equal(side->closed, 0);
    for (i = 0; i < bytes.n; i++)
        if (side->n_got + i < sizeof side->got - 1)
            side->got[side->n_got + i] = bytes.p[i];
    side->n_got += bytes.n;
    side->n_calls++;
    if (side->close_on_data)
        stream_close(side->stream, NULL);
}

static void on_drain(void *owner)
{
    ((struct side *)owner)->drained++;
}

static void on_closed(void *owner, const struct err *why)
{
    struct side *side = owner;

    side->closed++;
    side->why = *why;
    side->stream = NULL;
}

static const struct stream_ops ops = {on_data, on_drain, on_closed};

static int setup(void **state)
{
    struct bed *bed = xcalloc(1, sizeof *bed);
    int i;

    fake_clock_init(&bed->clock, 1000, 0);
    assert_int_equal(loop_init(&bed->loop, &bed->clock.clock, NULL), ERR_OK);
    bed->pair = memstream_new(&bed->loop);
    for (i = 0; i < 2; i++) {
        bed->sides[i].stream = memstream_end(bed->pair, i);
        stream_own(bed->sides[i].stream, &ops, &bed->sides[i]);
    }
    stream_read(bed->sides[1].stream, true);
    *state = bed;
    return 0;
}

static void passes(struct bed *bed, int n)
{
    while (n-- > 0)
        loop_run_once(&bed->loop, false);
}

static int teardown(void **state)
{
    struct bed *bed = *state;
    int i;

    for (i = 0; i < 2; i++)
        if (bed->sides[i].stream)
            stream_close(bed->sides[i].stream, NULL);
    loop_run(&bed->loop);
    assert_int_equal(bed->sides[0].closed, 1);
    assert_int_equal(bed->sides[1].closed, 1);
    memstream_free(bed->pair);
    assert_int_equal(bed->loop.n_timers, 0);
    loop_release(&bed->loop);
    free(bed);
    return 0;
}

static void say(struct side *from, const char *text)
{
    stream_write(from->stream, xstrdup(text), strlen(text));
}

static void say_bytes(struct side *from, size_t n)
{
    stream_write(from->stream, xcalloc(1, n), n);
}

static void bytes_come_from_the_loop(void **state)
{
    struct bed *bed = *state;

    say(&bed->sides[0], "hello ");
    say(&bed->sides[0], "there");
    assert_int_equal(stream_pending(bed->sides[0].stream), 11);
    assert_int_equal(bed->sides[1].n_calls, 0);
    passes(bed, 1);
    assert_string_equal(bed->sides[1].got, "hello there");
    assert_int_equal(stream_pending(bed->sides[0].stream), 0);
}

static void nothing_comes_unread(void **state)
{
    struct bed *bed = *state;

    stream_read(bed->sides[1].stream, false);
    say(&bed->sides[0], "later");
    passes(bed, 3);
    assert_int_equal(bed->sides[1].n_calls, 0);
    stream_read(bed->sides[1].stream, true);
    assert_int_equal(bed->sides[1].n_calls, 0);
    passes(bed, 1);
    assert_string_equal(bed->sides[1].got, "later");
}

static void one_byte_at_a_time(void **state)
{
    struct bed *bed = *state;

    memstream_bytewise(bed->pair, 0, true);
    say(&bed->sides[0], "bytes");
    passes(bed, 1);
    assert_string_equal(bed->sides[1].got, "bytes");
    assert_int_equal(bed->sides[1].n_calls, 5);
}

static void delay_counts_passes(void **state)
{
    struct bed *bed = *state;

    memstream_delay(bed->pair, 0, 3);
    say(&bed->sides[0], "slow");
    passes(bed, 3);
    assert_int_equal(bed->sides[1].n_calls, 0);
    passes(bed, 1);
    assert_string_equal(bed->sides[1].got, "slow");
}

static void blocked_until_unblocked(void **state)
{
    struct bed *bed = *state;

    memstream_block(bed->pair, 0, true);
    say(&bed->sides[0], "stuck");
    passes(bed, 3);
    stream_close(bed->sides[0].stream, NULL);
    passes(bed, 3);
    assert_int_equal(bed->sides[0].closed, 1);
    assert_int_equal(bed->sides[1].closed, 0);
    memstream_block(bed->pair, 0, false);
    passes(bed, 3);
    assert_int_equal(bed->sides[1].closed, 1);
    assert_string_equal(bed->sides[1].got, ""); /* closing drops what is pending */
}

static void cut_after_some_bytes(void **state)
{
    struct bed *bed = *state;

    memstream_cut(bed->pair, 0, 4);
    say(&bed->sides[0], "abc");
    say(&bed->sides[0], "def");
    passes(bed, 3);
    assert_string_equal(bed->sides[1].got, "abcd");
    assert_int_equal(bed->sides[0].closed, 1);
    assert_int_equal(bed->sides[1].closed, 1);
    assert_int_equal(bed->sides[0].why.code, ERR_IO);
    assert_int_equal(bed->sides[1].why.code, ERR_IO);
}

static void cut_needs_no_reader(void **state)
{
    struct bed *bed = *state;

    memstream_block(bed->pair, 1, true);
    memstream_cut(bed->pair, 1, 0);
    passes(bed, 3);
    assert_int_equal(bed->sides[0].closed, 1);
    assert_int_equal(bed->sides[1].closed, 1);
}

static void first_reason_is_kept(void **state)
{
    struct bed *bed = *state;
    struct err first, second;

    (void)err_set(&first, ERR_PROTO, "first");
    (void)err_set(&second, ERR_IO, "second");
    stream_close(bed->sides[0].stream, &first);
    stream_close(bed->sides[0].stream, &second);
    assert_int_equal(bed->sides[0].closed, 0);
    say(&bed->sides[0], "freed, not sent");
    passes(bed, 3);
    assert_int_equal(bed->sides[0].closed, 1);
    assert_int_equal(bed->sides[0].why.code, ERR_PROTO);
    assert_string_equal(bed->sides[0].why.msg, "first");
    assert_int_equal(bed->sides[1].why.code, ERR_IO);
    assert_string_equal(bed->sides[1].got, "");
}

static void close_inside_on_data(void **state)
{
    struct bed *bed = *state;

    memstream_bytewise(bed->pair, 0, true);
    bed->sides[1].close_on_data = true;
    say(&bed->sides[0], "one");
    stream_read(bed->sides[0].stream, true);
    passes(bed, 4);
    assert_int_equal(bed->sides[1].n_got, 1);
    assert_int_equal(bed->sides[1].closed, 1);
    assert_int_equal(bed->sides[1].why.code, ERR_OK);
    assert_int_equal(bed->sides[0].closed, 1);
}

static void drain_comes_once_below_low_water(void **state)
{
    struct bed *bed = *state;

    memstream_block(bed->pair, 0, true);
    say_bytes(&bed->sides[0], STREAM_HIGH_BYTES);
    assert_false(stream_is_full(bed->sides[0].stream));
    say_bytes(&bed->sides[0], 1);
    assert_true(stream_is_full(bed->sides[0].stream));
    passes(bed, 2);
    assert_int_equal(bed->sides[0].drained, 0);
    memstream_block(bed->pair, 0, false);
    assert_int_equal(bed->sides[0].drained, 0);
    passes(bed, 1);
    assert_int_equal(bed->sides[0].drained, 1);
    assert_false(stream_is_full(bed->sides[0].stream));
    assert_int_equal(bed->sides[1].n_got, STREAM_HIGH_BYTES + 1);
    say(&bed->sides[0], "small");
    passes(bed, 1);
    assert_int_equal(bed->sides[0].drained, 1);
}

static void hard_limit_closes(void **state)
{
    struct bed *bed = *state;

    memstream_block(bed->pair, 0, true);
    bed->sides[0].stream->hard_bytes = 1000;
    say_bytes(&bed->sides[0], 600);
    say_bytes(&bed->sides[0], 400);
    passes(bed, 2);
    assert_int_equal(bed->sides[0].closed, 0);
    say_bytes(&bed->sides[0], 1);
    assert_int_equal(bed->sides[0].closed, 0);
    passes(bed, 2);
    assert_int_equal(bed->sides[0].closed, 1);
    assert_int_equal(bed->sides[0].why.code, ERR_LIMIT);
}

static void finish_writes_first(void **state)
{
    struct bed *bed = *state;
    struct err why;

    (void)err_set(&why, ERR_AUTH, "no such slave");
    memstream_delay(bed->pair, 0, 2);
    say(&bed->sides[0], "goodbye");
    stream_finish(bed->sides[0].stream, &why, 1000);
    say(&bed->sides[0], "too late");
    passes(bed, 6);
    assert_string_equal(bed->sides[1].got, "goodbye");
    assert_int_equal(bed->sides[0].closed, 1);
    assert_string_equal(bed->sides[0].why.msg, "no such slave");
    passes(bed, 3);
    assert_int_equal(bed->sides[1].closed, 1);
}

static void finish_has_a_deadline(void **state)
{
    struct bed *bed = *state;
    struct err why;

    (void)err_set(&why, ERR_AUTH, "no such slave");
    memstream_block(bed->pair, 0, true);
    say(&bed->sides[0], "never read");
    stream_finish(bed->sides[0].stream, &why, 1000);
    fake_clock_advance(&bed->clock, 999);
    passes(bed, 3);
    assert_int_equal(bed->sides[0].closed, 0);
    fake_clock_advance(&bed->clock, 1);
    passes(bed, 3);
    assert_int_equal(bed->sides[0].closed, 1);
    assert_int_equal(bed->sides[0].why.code, ERR_AUTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_come_from_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_comes_unread, setup, teardown),
        cmocka_unit_test_setup_teardown(one_byte_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(delay_counts_passes, setup, teardown),
        cmocka_unit_test_setup_teardown(blocked_until_unblocked, setup, teardown),
        cmocka_unit_test_setup_teardown(cut_after_some_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(cut_needs_no_reader, setup, teardown),
        cmocka_unit_test_setup_teardown(first_reason_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(close_inside_on_data, setup, teardown),
        cmocka_unit_test_setup_teardown(drain_comes_once_below_low_water, setup, teardown),
        cmocka_unit_test_setup_teardown(hard_limit_closes, setup, teardown),
        cmocka_unit_test_setup_teardown(finish_writes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(finish_has_a_deadline, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

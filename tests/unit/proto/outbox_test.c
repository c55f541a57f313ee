#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "proto/frame.h"
#include "proto/outbox.h"

static struct outbox box;

static size_t add_ping(uint64_t token)
{
    struct msg msg = {.type = MSG_PING, .u.ping = {token}};
    size_t n = 0;

    assert_int_equal(outbox_add(&box, &msg, &n, NULL), ERR_OK);
    return n;
}

static enum err_code add_record(uint64_t number, size_t bytes, struct err *err)
{
    char *body = xcalloc(bytes, 1);
    struct msg msg = {.type = MSG_RECORD, .u.record = {1, 1, number, {body, bytes}}};
    size_t n;
    enum err_code rc = outbox_add(&box, &msg, &n, err);

    free(body);
    return rc;
}

/* Takes at most most_bytes and says what came: "p1 p2 r1". */
static char *take(size_t most_bytes)
{
    struct str out = STR_INIT(8 << 20);
    struct str words = STR_INIT(4096);
    struct msg_arena *arena = msg_arena_new();
    struct frame_reader reader;
    struct view rest, body;
    struct msg msg;

    outbox_take(&box, &out, most_bytes);
    rest = str_view(&out);
    frame_reader_init(&reader, FRAME_MAX_BYTES);
    while (frame_next(&reader, &rest, &body, NULL) == ERR_OK) {
        assert_int_equal(msg_decode(arena, body, &msg, NULL), ERR_OK);
        str_printf(&words, "%s%c%d", words.n ? " " : "", msg.type == MSG_PING ? 'p' : 'r',
                   (int)(msg.type == MSG_PING ? msg.u.ping.token : msg.u.record.number));
    }
    assert_int_equal(rest.n, 0);
    assert_null(reader.partial.p);
    msg_arena_free(arena);
    str_release(&out);
    return str_detach(&words);
}

static void expect(size_t most_bytes, const char *words)
{
    char *got = take(most_bytes);

    assert_string_equal(got, words);
    free(got);
}

static int setup(void **state)
{
    (void)state;
    outbox_init(&box, 1000, 3000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    outbox_release(&box);
    return 0;
}

static void control_goes_first(void **state)
{
    (void)state;
    assert_int_equal(add_record(1, 100, NULL), ERR_OK);
    add_ping(1);
    assert_int_equal(add_record(2, 100, NULL), ERR_OK);
    add_ping(2);
    expect(SIZE_MAX, "p1 p2 r1 r2");
    expect(SIZE_MAX, "");
}

static void frames_are_never_split(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(add_record(i, 500, NULL), ERR_OK);
    add_ping(1);
    expect(1, "p1");
    expect(1, "r1");
    add_ping(2);
    expect(600, "p2 r2 r3"); /* the second record begins below the limit */
    expect(1, "");
}

static void memory_goes_when_empty(void **state)
{
    (void)state;
    add_ping(1);
    assert_int_equal(add_record(1, 500, NULL), ERR_OK);
    expect(1, "p1");
    assert_null(box.lanes[MSG_LANE_CONTROL].bytes.p);
    assert_non_null(box.lanes[MSG_LANE_BULK].bytes.p);
    expect(1, "r1");
    assert_null(box.lanes[MSG_LANE_BULK].bytes.p);
}

static void memory_moves_when_all_is_taken(void **state)
{
    struct str out = STR_INIT(1 << 20);
    const char *memory;

    (void)state;
    assert_int_equal(add_record(1, 500, NULL), ERR_OK);
    memory = box.lanes[MSG_LANE_BULK].bytes.p;
    outbox_take(&box, &out, 1000);
    assert_ptr_equal(out.p, memory);
    assert_int_equal(outbox_waiting(&box, MSG_LANE_BULK), 0);
    str_release(&out);
}

static void limits(void **state)
{
    struct err err = ERR_INIT;
    size_t waiting;

    (void)state;
    assert_int_equal(add_record(1, 2000, NULL), ERR_OK);
    waiting = outbox_waiting(&box, MSG_LANE_BULK);
    assert_int_equal(add_record(2, 2000, &err), ERR_LIMIT);
    assert_int_equal(outbox_waiting(&box, MSG_LANE_BULK), waiting);
    assert_int_equal(add_record(2, 131073, &err), ERR_LIMIT);
    assert_string_equal(err.msg, "RECORD.body: data of 131073 bytes, at most 131072");
    assert_int_equal(add_record(2, 500, NULL), ERR_OK);
    expect(SIZE_MAX, "r1 r2");
}

/* What has left does not count against the limit, however long the lane never runs empty. */
static void a_lane_that_is_never_empty(void **state)
{
    (void)state;
    assert_int_equal(add_record(1, 1000, NULL), ERR_OK);
    for (uint64_t i = 2; i < 500; i++) {
        char *got;

        assert_int_equal(add_record(i, 1000, NULL), ERR_OK);
        got = take(1);
        free(got);
        assert_true(box.lanes[MSG_LANE_BULK].bytes.cap <= 8192);
    }
    expect(SIZE_MAX, "r499");
}

static void frame_too_large(void **state)
{
    static struct msg_pair pairs[64];
    char *value = xcalloc(32768, 1);
    struct msg msg = {.type = MSG_START, .u.start = {.env = {pairs, 33}}};
    struct err err = ERR_INIT;
    size_t n;

    (void)state;
    outbox_release(&box);
    outbox_init(&box, 8 << 20, 3000);
    for (size_t i = 0; i < 64; i++)
        pairs[i].value = view_bytes(value, 32768);
    assert_int_equal(outbox_add(&box, &msg, &n, &err), ERR_LIMIT);
    assert_non_null(strstr(err.msg, "START: a frame of 1081"));
    assert_int_equal(outbox_waiting(&box, MSG_LANE_CONTROL), 0);
    free(value);
}

static void drop(void **state)
{
    (void)state;
    add_ping(1);
    assert_int_equal(add_record(1, 100, NULL), ERR_OK);
    outbox_drop(&box, MSG_LANE_BULK);
    expect(SIZE_MAX, "p1");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(control_goes_first),
        TEST(frames_are_never_split),
        TEST(memory_goes_when_empty),
        TEST(memory_moves_when_all_is_taken),
        TEST(limits),
        TEST(a_lane_that_is_never_empty),
        TEST(frame_too_large),
        TEST(drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

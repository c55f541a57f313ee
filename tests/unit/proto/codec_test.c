#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/codec.h"
#include "tests/unit/proto/raw.h"
#include "tests/unit/proto/sample.h"

static struct str encode(const struct msg *msg)
{
    struct str out = STR_INIT(RAW_MAX_BYTES);
    struct err err = ERR_INIT;

    if (msg_encode(msg, &out, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    return out;
}

static void expect_bytes(const struct msg *msg, const char *bytes, size_t n)
{
    struct str out = encode(msg);

    assert_int_equal(out.n, n);
    assert_memory_equal(out.p, bytes, n);
    str_release(&out);
}

#define EXPECT(msg, text) expect_bytes((msg), (text), sizeof(text) - 1)

static void known_bytes(void **state)
{
    struct msg ping = {.type = MSG_PING, .u.ping = {7}};
    struct msg ack = {.type = MSG_ACK, .u.ack = {300, 2, 70000}};
    struct msg draining = {.type = MSG_STATE, .u.state = {true}};
    struct msg bye = {.type = MSG_BYE, .u.bye = {view_of("gone")}};
    struct msg challenge = {.type = MSG_CHALLENGE, .u.challenge = {view_of("\1\2")}};
    struct msg begun = {.type = REC_STEP_STARTED, .u.step_started = {1, -2}};
    struct msg_known known[] = {{1, 2, 3, true}};
    struct msg welcome = {.type = MSG_WELCOME,
                          .u.welcome = {.proto = 1, .boot_id = view_of("b"), .known = {known, 1}}};

    (void)state;
    EXPECT(&ping, "\x92\x06\x07");
    EXPECT(&ack, "\x94\x0c\xcd\x01\x2c\x02\xce\x00\x01\x11\x70");
    EXPECT(&draining, "\x92\x0e\xc3");
    EXPECT(&bye, "\x92\x0f\xa4"
                 "gone");
    EXPECT(&challenge, "\x92\x02\xc4\x02\x01\x02");
    EXPECT(&begun, "\x93\x41\x01\xfe");
    EXPECT(&welcome, "\x98\x04\x01\xa1"
                     "b"
                     "\x00\x00\x00\x91\x94\x01\x02\x03\xc3\xc4\x00");
}

static void decoded_values(void **state)
{
    static const char bytes[] = "\x9a\x45\x03\x02\xff\xa3"
                                "no!"
                                "\xcf\x00\x00\x01\x8f\xff\xff\xff\xff\x02\xcb\x3f\xe0\x00\x00\x00"
                                "\x00\x00\x00\xcd\x10\x00\x09";
    struct msg_arena *arena = msg_arena_new();
    struct msg msg;
    struct err err = ERR_INIT;

    (void)state;
    if (msg_decode(arena, view_bytes(bytes, sizeof bytes - 1), &msg, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(msg.type, REC_STEP_FINISHED);
    assert_int_equal(msg.u.step_finished.step, 3);
    assert_int_equal(msg.u.step_finished.result, RESULT_WARNINGS);
    assert_int_equal(msg.u.step_finished.exit_code, -1);
    assert_true(view_is(msg.u.step_finished.reason, "no!"));
    assert_int_equal(msg.u.step_finished.time_ms, 0x18fffffffff);
    assert_true(msg.u.step_finished.user_s == 2.0);
    assert_true(msg.u.step_finished.system_s == 0.5);
    assert_int_equal(msg.u.step_finished.max_rss_bytes, 4096);
    assert_int_equal(msg.u.step_finished.killed, 9);
    msg_arena_free(arena);
}

/* What was decoded encodes to the same bytes again, for every type and much content. */
static void round_trip(void **state)
{
    struct msg_arena *arena = msg_arena_new();

    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        for (uint64_t seed = 1; shape_find(number) && seed <= 100; seed++) {
            struct sample sample;
            struct str first, second;
            struct msg msg;
            struct err err = ERR_INIT;

            sample_make(&sample, number, seed);
            first = encode(&sample.msg);
            if (msg_decode(arena, str_view(&first), &msg, &err) != ERR_OK)
                fail_msg("seed %d: %s", (int)seed, err.msg);
            assert_int_equal(msg.type, number);
            second = encode(&msg);
            assert_int_equal(first.n, second.n);
            assert_memory_equal(first.p, second.p, first.n);
            str_release(&first);
            str_release(&second);
            sample_release(&sample);
        }
    }
    msg_arena_free(arena);
}

/* In memory of exactly n bytes. */
static enum err_code decode_copy(struct msg_arena *arena, const char *p, size_t n, struct msg *msg,
                                 struct err *err)
{
    char *copy = xmemdup(p, n);
    enum err_code rc = msg_decode(arena, view_bytes(copy, n), msg, err);

    free(copy);
    return rc;
}

static void truncation_at_every_byte(void **state)
{
    struct msg_arena *arena = msg_arena_new();

    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        for (uint64_t seed = 1; shape_find(number) && seed <= 5; seed++) {
            struct sample sample;
            struct str bytes;

            sample_make(&sample, number, seed);
            bytes = encode(&sample.msg);
            for (size_t n = 0; n < bytes.n; n++) {
                struct msg msg = {.type = MSG_NONE};
                struct err err = ERR_INIT;

                assert_int_equal(decode_copy(arena, bytes.p, n, &msg, &err), ERR_PROTO);
                assert_true(err.msg[0] != '\0');
                assert_int_equal(msg.type, MSG_NONE);
            }
            str_release(&bytes);
            sample_release(&sample);
        }
    }
    msg_arena_free(arena);
}

/* Every single bit flipped: any answer is fine, as long as it is one. */
static void flipped_bits(void **state)
{
    struct msg_arena *arena = msg_arena_new();

    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        struct sample sample;
        struct str bytes;

        if (!shape_find(number))
            continue;
        sample_make(&sample, number, 3);
        bytes = encode(&sample.msg);
        for (size_t bit = 0; bit < bytes.n * 8; bit++) {
            struct msg msg;
            enum err_code rc;

            bytes.p[bit / 8] = (char)(bytes.p[bit / 8] ^ (1 << (bit % 8)));
            rc = decode_copy(arena, bytes.p, bytes.n, &msg, NULL);
            assert_true(rc == ERR_OK || rc == ERR_PROTO);
            bytes.p[bit / 8] = (char)(bytes.p[bit / 8] ^ (1 << (bit % 8)));
        }
        str_release(&bytes);
        sample_release(&sample);
    }
    msg_arena_free(arena);
}

static void fields_may_be_missing_behind_the_required(void **state)
{
    struct msg_arena *arena = msg_arena_new();

    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        const struct shape *shape = shape_find(number);

        for (size_t n = 0; shape && n <= shape->n_fields; n++) {
            struct str bytes = STR_INIT(RAW_MAX_BYTES);
            struct msg msg;
            struct err err = ERR_INIT;
            enum err_code rc;

            raw_head(&bytes, shape, n);
            raw_defaults(&bytes, shape, n);
            memset(&msg, 0xee, sizeof msg);
            rc = msg_decode(arena, str_view(&bytes), &msg, &err);
            assert_int_equal(rc, n < shape->required ? ERR_PROTO : ERR_OK);
            if (rc)
                assert_non_null(strstr(err.msg, "fields, at least "));
            for (size_t i = n; !rc && i < shape->n_fields; i++)
                assert_int_equal(*(const unsigned char *)field_at(&msg.u, &shape->fields[i]), 0);
            str_release(&bytes);
        }
    }
    msg_arena_free(arena);
}

static void more_fields_are_ignored(void **state)
{
    struct msg_arena *arena = msg_arena_new();

    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        const struct shape *shape = shape_find(number);
        struct str bytes = STR_INIT(RAW_MAX_BYTES);
        struct msg msg;
        struct err err = ERR_INIT;

        if (!shape)
            continue;
        raw_head(&bytes, shape, shape->n_fields + 3);
        raw_defaults(&bytes, shape, shape->n_fields);
        raw_nil(&bytes);
        raw_array(&bytes, 2);
        raw_i64(&bytes, -1);
        raw_nil(&bytes);
        raw_text(&bytes, view_of("a later version's"));
        if (msg_decode(arena, str_view(&bytes), &msg, &err) != ERR_OK)
            fail_msg("%s: %s", shape->name, err.msg);
        str_release(&bytes);
    }
    msg_arena_free(arena);
}

static void encoding_appends(void **state)
{
    struct msg msg = {.type = MSG_PING, .u.ping = {1}};
    struct str out = STR_INIT(5);
    struct err err = ERR_INIT;

    (void)state;
    str_put(&out, "ab");
    assert_int_equal(msg_encode(&msg, &out, &err), ERR_OK);
    assert_string_equal(str_cstr(&out), "ab\x92\x06\x01");
    assert_int_equal(msg_encode(&msg, &out, &err), ERR_LIMIT);
    assert_string_equal(err.msg, "PING: over the maximum of 5 bytes");
    assert_string_equal(str_cstr(&out), "ab\x92\x06\x01");
    str_release(&out);
}

static void expect_print(const struct msg *msg, const char *text)
{
    struct str out = STR_INIT(RAW_MAX_BYTES);

    msg_print(msg, &out);
    assert_string_equal(str_cstr(&out), text);
    str_release(&out);
}

static void printing(void **state)
{
    struct view argv[] = {view_of("sh"), view_of("-c"), view_of("a"), view_of("b"), view_of("c")};
    struct msg_step step = {.name = view_of("un\ntidy"), .kind = 2, .argv = {argv, 5}};
    struct msg start = {.type = MSG_START, .u.start = {.build = 12, .steps = {&step, 1}}};
    struct msg nothing = {.type = MSG_NONE};
    struct str out = STR_INIT(RAW_MAX_BYTES);
    struct msg challenge = {.type = MSG_CHALLENGE, .u.challenge = {view_of("four")}};

    (void)state;
    expect_print(&challenge, "CHALLENGE nonce=<4 bytes>");
    expect_print(&nothing, "?");
    msg_print(&start, &out);
    assert_non_null(strstr(out.p, "START build=12 attempt=0 builder=\"\""));
    assert_non_null(strstr(out.p, "steps=[{name=\"un\\x0atidy\" kind=2"));
    assert_non_null(strstr(out.p, "argv=[\"sh\", \"-c\", \"a\", \"b\", ... 5 in all]"));
    str_release(&out);
}

static void printing_samples(void **state)
{
    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        struct str out = STR_INIT(RAW_MAX_BYTES);
        struct sample sample;

        if (!shape_find(number))
            continue;
        sample_make(&sample, number, 9);
        msg_print(&sample.msg, &out);
        assert_true(view_starts(str_view(&out), shape_find(number)->name));
        assert_null(strchr(out.p, '\n'));
        str_release(&out);
        sample_release(&sample);
    }
}

static void facts_about_types(void **state)
{
    (void)state;
    assert_string_equal(msg_name(MSG_HELLO), "HELLO");
    assert_string_equal(msg_name(REC_LOG_BLOCK), "LOG_BLOCK");
    assert_string_equal(msg_name(MSG_NONE), "?");
    assert_string_equal(msg_name((enum msg_type)63), "?");
    assert_string_equal(msg_name((enum msg_type)100000), "?");
    assert_int_equal(msg_sender(MSG_HELLO), MSG_FROM_SLAVE);
    assert_int_equal(msg_sender(MSG_START), MSG_FROM_MASTER);
    assert_int_equal(msg_sender(MSG_PING), MSG_FROM_BOTH);
    assert_int_equal(msg_sender(REC_POINTS), MSG_FROM_SLAVE);
    assert_int_equal(msg_lane(MSG_RECORD), MSG_LANE_BULK);
    assert_int_equal(msg_lane(MSG_ACK), MSG_LANE_CONTROL);
    assert_int_equal(msg_lane(REC_POINTS), MSG_LANE_RECORD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_bytes),
        cmocka_unit_test(decoded_values),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(truncation_at_every_byte),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(fields_may_be_missing_behind_the_required),
        cmocka_unit_test(more_fields_are_ignored),
        cmocka_unit_test(encoding_appends),
        cmocka_unit_test(printing),
        cmocka_unit_test(printing_samples),
        cmocka_unit_test(facts_about_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

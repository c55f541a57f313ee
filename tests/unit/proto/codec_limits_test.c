/*
 * Every limit and every kind in messages.def, from both sides: what is just allowed, what is just
 * too much, what is of another kind.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/codec.h"
#include "proto/scan.h"
#include "tests/unit/proto/raw.h"
#include "tests/unit/proto/sample.h"

static struct msg_arena *arena;

typedef void (*write_fn)(struct str *out, const struct field *field, size_t n);

/* A message whose field `index` is written by fn, all others being empty. */
static enum err_code decode_with(const struct shape *shape, size_t index, write_fn fn, size_t n,
                                 struct err *err)
{
    struct str bytes = STR_INIT(64 << 20);
    struct msg msg;
    enum err_code rc;

    raw_head(&bytes, shape, shape->n_fields);
    for (size_t i = 0; i < shape->n_fields; i++) {
        if (i == index)
            fn(&bytes, &shape->fields[i], n);
        else
            raw_default(&bytes, &shape->fields[i]);
    }
    rc = msg_decode(arena, str_view(&bytes), &msg, err);
    str_release(&bytes);
    return rc;
}

static void write_sized(struct str *out, const struct field *field, size_t n)
{
    if (field->kind == FIELD_TEXT || field->kind == FIELD_BIN)
        raw_filled(out, field->kind, n);
    else
        raw_elements(out, field, n);
}

/* One element of n bytes. */
static void write_texts_each(struct str *out, const struct field *field, size_t n)
{
    (void)field;
    raw_array(out, 1);
    raw_filled(out, FIELD_TEXT, n);
}

static void check_decode_limit(const struct shape *shape, size_t i, write_fn fn, size_t most)
{
    const struct field *field = &shape->fields[i];
    struct err err = ERR_INIT;
    char place[128];

    (void)snprintf(place, sizeof place, "%s.%s", shape->name, field->name);
    if (decode_with(shape, i, fn, most, &err) != ERR_OK)
        fail_msg("%zu: %s", most, err.msg);
    assert_int_equal(decode_with(shape, i, fn, most + 1, &err), ERR_PROTO);
    assert_true(strncmp(err.msg, place, strlen(place)) == 0);
    (void)snprintf(place, sizeof place, "at most %zu", most);
    assert_non_null(strstr(err.msg, place));
}

static void limits_when_decoding(void **state)
{
    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        const struct shape *shape = shape_find(number);

        for (size_t i = 0; shape && i < shape->n_fields; i++) {
            const struct field *field = &shape->fields[i];

            if (field->most)
                check_decode_limit(shape, i, write_sized, field->most);
            if (field->kind == FIELD_TEXTS)
                check_decode_limit(shape, i, write_texts_each, field->most_each);
        }
    }
}

/* Sets one field of an empty message to n bytes or elements and encodes it. */
static enum err_code encode_with(const struct shape *shape, const struct field *field, size_t n,
                                 struct err *err)
{
    struct str out = STR_INIT(64 << 20);
    struct msg msg;
    struct field_list list = {NULL, n};
    size_t size = field->element               ? field->element->size
                  : field->kind == FIELD_TEXTS ? sizeof(struct view)
                                               : 1;
    void *memory = xcalloc(n + 1, size);
    enum err_code rc;

    memset(&msg, 0, sizeof msg);
    msg.type = (enum msg_type)shape->number;
    list.v = memory;
    memcpy((char *)&msg.u + field->offset, &list, sizeof list); /* a view looks the same */
    str_put(&out, "before");
    rc = msg_encode(&msg, &out, err);
    if (rc)
        assert_string_equal(str_cstr(&out), "before");
    free(memory);
    str_release(&out);
    return rc;
}

static void limits_when_encoding(void **state)
{
    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        const struct shape *shape = shape_find(number);

        for (size_t i = 0; shape && i < shape->n_fields; i++) {
            const struct field *field = &shape->fields[i];
            struct err err = ERR_INIT;

            if (!field->most)
                continue;
            if (encode_with(shape, field, field->most, &err) != ERR_OK)
                fail_msg("%s", err.msg);
            assert_int_equal(encode_with(shape, field, field->most + 1, &err), ERR_LIMIT);
            assert_non_null(strstr(err.msg, field->name));
        }
    }
}

/* What the receiver's scan would refuse is not sent. */
static void too_many_values_are_not_sent(void **state)
{
    static struct msg_pair pairs[256];
    static struct msg_step steps[256];
    struct msg msg = {.type = MSG_START, .u.start = {.steps = {steps, 256}}};
    struct str out = STR_INIT(64 << 20);
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 256; i++) {
        steps[i].env.v = pairs;
        steps[i].env.n = 76;
    }
    /* 256 steps of 1 + 24 values and 76 pairs of 3, and 14 around them: 64,782 */
    assert_int_equal(msg_encode(&msg, &out, &err), ERR_OK);
    assert_int_equal(scan_value(str_view(&out), &err), ERR_OK);
    str_clear(&out);
    for (size_t i = 0; i < 256; i++)
        steps[i].env.n = 80;
    assert_int_equal(msg_encode(&msg, &out, &err), ERR_LIMIT);
    assert_non_null(strstr(err.msg, "values, at most 65536"));
    assert_int_equal(out.n, 0);
    str_release(&out);
}

enum wrong {
    WRONG_NIL,
    WRONG_BOOL,
    WRONG_NEGATIVE,
    WRONG_FLOAT,
    WRONG_TEXT,
    WRONG_BIN,
    WRONG_ARRAY
};

static void write_wrong(struct str *out, const struct field *field, size_t wrong)
{
    (void)field;
    switch ((enum wrong)wrong) {
    case WRONG_NIL:
        raw_nil(out);
        return;
    case WRONG_BOOL:
        raw_be(out, 0xc3, 1);
        return;
    case WRONG_NEGATIVE:
        raw_i64(out, -1);
        return;
    case WRONG_FLOAT:
        raw_f32(out, 1.5F);
        return;
    case WRONG_TEXT:
        raw_text(out, view_of("x"));
        return;
    case WRONG_BIN:
        raw_bin(out, view_of("x"));
        return;
    case WRONG_ARRAY:
        raw_array(out, 1);
        raw_nil(out);
        return;
    }
}

static bool is_allowed(enum field_kind kind, enum wrong wrong)
{
    switch (wrong) {
    case WRONG_NEGATIVE:
        return kind == FIELD_I64 || kind == FIELD_F64;
    case WRONG_FLOAT:
        return kind == FIELD_F64;
    case WRONG_BOOL:
        return kind == FIELD_BOOL;
    case WRONG_TEXT:
        return kind == FIELD_TEXT;
    case WRONG_BIN:
        return kind == FIELD_BIN;
    default:
        return false;
    }
}

static void kinds(void **state)
{
    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        const struct shape *shape = shape_find(number);

        for (size_t i = 0; shape && i < shape->n_fields; i++) {
            for (size_t wrong = WRONG_NIL; wrong <= WRONG_ARRAY; wrong++) {
                bool allowed = is_allowed(shape->fields[i].kind, (enum wrong)wrong);
                struct err err = ERR_INIT;

                assert_int_equal(decode_with(shape, i, write_wrong, wrong, &err),
                                 allowed ? ERR_OK : ERR_PROTO);
            }
        }
    }
}

static enum err_code decode_hex(const char *bytes, size_t n, struct err *err)
{
    struct msg msg;

    return msg_decode(arena, view_bytes(bytes, n), &msg, err);
}

#define REFUSED(text, sentence)                                                                    \
    do {                                                                                           \
        struct err err = ERR_INIT;                                                                 \
        assert_int_equal(decode_hex(text, sizeof(text) - 1, &err), ERR_PROTO);                     \
        assert_string_equal(err.msg, sentence);                                                    \
    } while (0)

static void sentences(void **state)
{
    (void)state;
    REFUSED("\x07", "a message is an array that begins with its number");
    REFUSED("\x90", "a message is an array that begins with its number");
    REFUSED("\x91\x00", "an unknown message number");
    REFUSED("\x91\x3f", "an unknown message number");
    REFUSED("\x91\xff", "an unknown message number");
    REFUSED("\x91\xa1\x06", "an unknown message number");
    REFUSED("\x91\xcf\x00\x00\x00\x01\x00\x00\x00\x06", "an unknown message number");
    REFUSED("\x91\x06", "PING: 0 fields, at least 1");
    REFUSED("\x92\x06\xff", "PING.token: a negative number where an unsigned number is expected");
    REFUSED("\x94\x0c\x01\xcf\x00\x00\x00\x01\x00\x00\x00\x00\x01",
            "ACK.attempt: 4294967296, at most 4294967295");
    REFUSED("\x93\x41\x01\xcf\x80\x00\x00\x00\x00\x00\x00\x00",
            "STEP_STARTED.time_ms: 9223372036854775808, at most 9223372036854775807");
    REFUSED("\x93\x43\x01\x92\x97\xa0\xa0\xa0\xa0\x00\x00\x00\xc0",
            "POINTS.points[1]: nil where an array is expected");
    REFUSED("\x93\x43\x01\x91\x97\xa0\xa0\xa0\xa0\x00\x00\xc3",
            "POINTS.points[0].value: a boolean where a number is expected");
    REFUSED("\x93\x43\x01\x91\x97\xa0\xa0\xa0\xa0\x00\x00\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",
            "POINTS.points[0].value: nan where a finite number is expected");
    REFUSED("\x93\x43\x01\x91\x97\xa0\xa0\xa0\xa0\x00\x00\xca\xff\x80\x00\x00",
            "POINTS.points[0].value: -inf where a finite number is expected");
    REFUSED("\x93\x43\x01\x91\x96\xa0\xa0\xa0\xa0\x00\x00",
            "POINTS.points[0]: 6 fields, at least 7");
    REFUSED("\x92\x06\x01\x00", "offset 3: 1 bytes behind the value's end");
    REFUSED("\x92\x06", "offset 0: an array of 2 elements in 1 bytes");
}

static void edges_of_numbers(void **state)
{
    static const char u64_most[] = "\x92\x06\xcf\xff\xff\xff\xff\xff\xff\xff\xff";
    static const char i64_least[] = "\x92\x40\xd3\x80\x00\x00\x00\x00\x00\x00\x00";
    static const char positive_as_signed[] = "\x92\x06\xd3\x00\x00\x00\x00\x00\x00\x00\x05";
    struct msg msg;

    (void)state;
    assert_int_equal(msg_decode(arena, view_bytes(u64_most, 11), &msg, NULL), ERR_OK);
    assert_true(msg.u.ping.token == UINT64_MAX);
    assert_int_equal(msg_decode(arena, view_bytes(i64_least, 11), &msg, NULL), ERR_OK);
    assert_true(msg.u.attempt_started.time_ms == INT64_MIN);
    assert_int_equal(msg_decode(arena, view_bytes(positive_as_signed, 11), &msg, NULL), ERR_OK);
    assert_true(msg.u.ping.token == 5);
}

/* A database column that must not be NULL has no place for them, and JSON has no word. */
static void only_finite_numbers_are_sent(void **state)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    struct msg msg = {.type = REC_STEP_FINISHED, .u.step_finished = {.step = 1, .result = 1}};
    struct str out = STR_INIT(4096);
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        msg.u.step_finished.user_s = bad[i];
        assert_int_equal(msg_encode(&msg, &out, &err), ERR_LIMIT);
        assert_non_null(strstr(err.msg, "STEP_FINISHED.user_s"));
        assert_int_equal(out.n, 0);
    }
    msg.u.step_finished.user_s = 1e300;
    assert_int_equal(msg_encode(&msg, &out, &err), ERR_OK);
    str_release(&out);
}

static int setup(void **state)
{
    (void)state;
    arena = msg_arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    msg_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_when_decoding),
        cmocka_unit_test(limits_when_encoding),
        cmocka_unit_test(too_many_values_are_not_sent),
        cmocka_unit_test(kinds),
        cmocka_unit_test(sentences),
        cmocka_unit_test(edges_of_numbers),
        cmocka_unit_test(only_finite_numbers_are_sent),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "proto/session_impl.h"
#include "tests/unit/proto/pair.h"
#include "tests/unit/proto/sample.h"

static struct pair pair;

/* Ready, with that window; what was heard so far is forgotten. */
static void ready(uint64_t credit_bytes)
{
    pair_init(&pair, NULL, credit_bytes);
    pair_hello(&pair);
    pair_run(&pair);
    assert_int_equal(session_state(pair.slave.session), SESSION_READY);
    str_clear(&pair.master.heard);
    str_clear(&pair.slave.heard);
}

static int teardown(void **state)
{
    (void)state;
    pair_release(&pair);
    return 0;
}

static enum err_code send_record(uint64_t number, size_t bytes)
{
    char *body = xcalloc(bytes, 1);
    struct msg msg = {.type = MSG_RECORD, .u.record = {1, 1, number, {body, bytes}}};
    enum err_code rc = session_send(pair.slave.session, &msg, NULL);

    free(body);
    return rc;
}

static void send_ok(struct side *from, struct msg msg)
{
    assert_int_equal(session_send(from->session, &msg, NULL), ERR_OK);
}

static void messages_both_ways(void **state)
{
    (void)state;
    ready(0);
    send_ok(&pair.master, (struct msg){.type = MSG_CANCEL});
    send_ok(&pair.master, (struct msg){.type = MSG_FORGET});
    send_ok(&pair.slave, (struct msg){.type = MSG_STATE, .u.state = {true}});
    assert_int_equal(send_record(1, 10), ERR_OK);
    send_ok(&pair.slave, (struct msg){.type = MSG_BYE});
    pair_run_in(&pair, 1);
    assert_string_equal(str_cstr(&pair.slave.heard), "message(CANCEL) message(FORGET) ");
    /* Control frames overtake bulk. */
    assert_string_equal(str_cstr(&pair.master.heard),
                        "message(STATE) message(BYE) message(RECORD) ");
}

static void control_overtakes_bulk(void **state)
{
    struct str out = STR_INIT(PAIR_BOX_BYTES);

    (void)state;
    ready(0);
    for (uint64_t n = 1; n <= 2; n++)
        assert_int_equal(send_record(n, 60000), ERR_OK);
    session_output(pair.slave.session, &out, 1000); /* the first record's frame is on its way */
    assert_true(out.n > 60000 && out.n < 61000);
    send_ok(&pair.slave, (struct msg){.type = MSG_PONG, .u.pong = {7}});
    str_clear(&out);
    session_output(pair.slave.session, &out, 1000);
    assert_memory_equal(out.p, "\0\0\0\3\x92\x07\x07", 7);
    str_release(&out);
}

static void sending_outside_ready(void **state)
{
    struct msg ping = {.type = MSG_PING};
    struct err err = ERR_INIT;

    (void)state;
    pair_init(&pair, NULL, 0);
    assert_int_equal(session_send(pair.slave.session, &ping, &err), ERR_CANCELED);
    assert_string_equal(err.msg, "PING: the session is hello-sent");
    assert_false(session_bulk_room(pair.slave.session));
    session_stop(pair.slave.session);
    assert_int_equal(session_send(pair.slave.session, &ping, &err), ERR_CANCELED);
    assert_string_equal(err.msg, "PING: the session is failed");
    assert_false(session_has_output(pair.slave.session));
}

/* --- credit --- */

static void credit_runs_out_and_comes_back(void **state)
{
    uint64_t owed;

    (void)state;
    ready(1000);
    assert_int_equal(send_record(1, 700), ERR_OK);
    assert_true(session_bulk_room(pair.slave.session));
    assert_int_equal(send_record(2, 700), ERR_OK); /* below zero by less than a frame */
    assert_false(session_bulk_room(pair.slave.session));
    assert_int_equal(send_record(3, 1), ERR_AGAIN);
    pair_run(&pair);
    assert_int_equal(pair.master.rc, ERR_OK);
    owed = session_owed(pair.master.session);
    assert_int_equal(owed, pair.master.bulk_bytes);
    assert_true(owed > 1400 && owed < 1500);
    session_granted(pair.master.session, 249); /* less than a quarter of the window: not yet said */
    assert_false(session_has_output(pair.master.session));
    session_granted(pair.master.session, 1);
    pair_run(&pair);
    assert_false(session_bulk_room(pair.slave.session)); /* still below zero */
    session_granted(pair.master.session, owed - 250);
    pair_run(&pair);
    assert_true(session_bulk_room(pair.slave.session));
    assert_int_equal(session_owed(pair.master.session), 0);
}

/* A sender that takes every chance never breaks the receiver's rule, and is never stuck. */
static void credit_for_ever(void **state)
{
    uint64_t seed = 88172645463325252U;
    uint64_t number = 0;

    (void)state;
    ready(5000);
    pair.master.grants = true;
    for (int round = 0; round < 2000; round++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        while (session_bulk_room(pair.slave.session))
            assert_int_equal(send_record(++number, (seed >> 33) % 9000 + 1), ERR_OK);
        pair_run(&pair);
        assert_int_equal(pair.master.rc, ERR_OK);
        assert_true(session_bulk_room(pair.slave.session));
    }
}

static void sender_without_credit(void **state)
{
    char body[1100] = {0};
    struct msg msg = {.type = MSG_RECORD, .u.record = {1, 1, 1, {body, sizeof body}}};

    (void)state;
    ready(1000);
    side_input_msg(&pair.master, &msg, pair.now_ms);
    assert_int_equal(pair.master.rc, ERR_OK);
    msg.u.record.body.n = 1;
    side_input_msg(&pair.master, &msg, pair.now_ms);
    assert_int_equal(pair.master.rc, ERR_PROTO);
    assert_string_equal(pair.master.err.msg, "RECORD without credit: 1112 bytes of 1000 are used");
    assert_string_equal(str_cstr(&pair.master.heard), "message(RECORD) ");
}

/* What the receiver has granted but not yet said is no credit. */
static void sender_that_guesses_credit(void **state)
{
    char body[1100] = {0};
    struct msg msg = {.type = MSG_RECORD, .u.record = {1, 1, 1, {body, sizeof body}}};

    (void)state;
    ready(1000);
    side_input_msg(&pair.master, &msg, pair.now_ms);
    session_granted(pair.master.session, 200);
    side_input_msg(&pair.master, &msg, pair.now_ms);
    assert_int_equal(pair.master.rc, ERR_PROTO);
}

static void absurd_credit(void **state)
{
    struct msg credit = {.type = MSG_CREDIT, .u.credit = {UINT64_MAX}};

    (void)state;
    ready(1000);
    for (int i = 0; i < 3; i++)
        side_input_msg(&pair.slave, &credit, pair.now_ms);
    assert_int_equal(pair.slave.rc, ERR_OK);
    assert_true(session_bulk_room(pair.slave.session));
    assert_int_equal(send_record(1, 1000), ERR_OK);
}

static void waiting_bulk_is_bounded(void **state)
{
    uint64_t n = 0;

    (void)state;
    ready(64 << 20);
    while (session_bulk_room(pair.slave.session))
        assert_int_equal(send_record(++n, 10000), ERR_OK);
    assert_int_equal(n, SESSION_BULK_WAITING_BYTES / 10000 + 1);
    pair_run(&pair);
    assert_true(session_bulk_room(pair.slave.session));
}

/* --- heartbeat --- */

static void ping_and_pong(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    ready(0);
    assert_int_equal(session_next_tick_ms(pair.master.session), 16000);
    assert_int_equal(session_tick(pair.master.session, 15999, &err), ERR_OK);
    assert_false(session_has_output(pair.master.session));
    assert_int_equal(session_tick(pair.master.session, 16000, &err), ERR_OK);
    assert_true(session_has_output(pair.master.session));
    pair.now_ms = 16001;
    pair_run(&pair);
    assert_string_equal(str_cstr(&pair.master.heard), "");
    assert_string_equal(str_cstr(&pair.slave.heard), "");
    assert_int_equal(session_next_tick_ms(pair.master.session), 31001);
    assert_int_equal(session_next_tick_ms(pair.slave.session), 31001);
}

static void silent_peer(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    ready(0);
    for (uint64_t now = 16000; now < 46000; now += 1000)
        assert_int_equal(session_tick(pair.slave.session, now, &err), ERR_OK);
    session_output(pair.slave.session, &pair.slave.wire, SIZE_MAX);
    assert_int_equal(pair.slave.wire.n, 4 + 3); /* one PING, however often it was asked */
    assert_int_equal(session_tick(pair.slave.session, 46000, &err), ERR_TIMEOUT);
    assert_string_equal(err.msg, "the peer has been silent for 45000 ms");
    assert_int_equal(session_state(pair.slave.session), SESSION_FAILED);
}

static void probe(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    ready(0);
    session_probe(pair.master.session, 2000, 5000);
    assert_int_equal(session_next_tick_ms(pair.master.session), 7000);
    assert_int_equal(session_tick(pair.master.session, 6999, &err), ERR_OK);
    assert_int_equal(session_tick(pair.master.session, 7000, &err), ERR_TIMEOUT);
}

static void probe_answered(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    ready(0);
    session_probe(pair.master.session, 2000, 5000);
    pair.now_ms = 2500;
    pair_run(&pair);
    assert_int_equal(session_tick(pair.master.session, 7000, &err), ERR_OK);
    assert_int_equal(session_next_tick_ms(pair.master.session), 17500);
}

/* The slave beats as the master's configuration says. */
static void times_come_from_the_master(void **state)
{
    struct session_config master = {
        .role = SESSION_MASTER, .ping_after_ms = 100, .drop_after_ms = 300};
    struct session_config slave = {.role = SESSION_SLAVE};

    (void)state;
    pair.now_ms = 1000;
    side_init(&pair.master, &master, 1000);
    side_init(&pair.slave, &slave, 1000);
    pair_hello(&pair);
    pair_run(&pair);
    assert_int_equal(session_next_tick_ms(pair.slave.session), 1100);
}

/* --- who may say what --- */

/* Every message to a session that does not expect it ends the session, and nothing else. */
static void expect_refused(struct side *side, unsigned number)
{
    struct sample sample;

    sample_make(&sample, number, 4);
    side_input_msg(side, &sample.msg, pair.now_ms);
    if (side->rc != ERR_PROTO)
        fail_msg("%s was accepted", msg_name(sample.msg.type));
    assert_int_equal(session_state(side->session), SESSION_FAILED);
    assert_string_equal(str_cstr(&side->heard), "");
    sample_release(&sample);
}

static void only_hello_before_ready(void **state)
{
    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        if (!shape_find(number) || number == MSG_HELLO)
            continue;
        pair_init(&pair, NULL, 0);
        expect_refused(&pair.master, number);
        pair_release(&pair);
    }
    pair_init(&pair, NULL, 0);
}

static void only_answers_to_hello(void **state)
{
    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        if (!shape_find(number) || number == MSG_CHALLENGE || number == MSG_WELCOME ||
            number == MSG_REFUSED)
            continue;
        pair_init(&pair, "s3cret", 0);
        pair_hello(&pair);
        expect_refused(&pair.slave, number);
        pair_release(&pair);
    }
    pair_init(&pair, NULL, 0);
}

static void nothing_while_the_master_decides(void **state)
{
    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        if (!shape_find(number))
            continue;
        pair_init(&pair, NULL, 0);
        pair.master.later = true;
        pair_hello(&pair);
        pair_run(&pair);
        str_clear(&pair.master.heard);
        expect_refused(&pair.master, number);
        pair_release(&pair);
    }
    pair_init(&pair, NULL, 0);
}

static void directions(void **state)
{
    (void)state;
    for (unsigned number = 0; number < SAMPLE_NUMBERS; number++) {
        const struct shape *shape = shape_find(number);

        for (int to_master = 0; shape && to_master <= 1; to_master++) {
            struct side *side = to_master ? &pair.master : &pair.slave;
            unsigned from = to_master ? MSG_FROM_SLAVE : MSG_FROM_MASTER;

            if (number > MSG_REFUSED && shape->lane != MSG_LANE_RECORD && (shape->from & from))
                continue;
            ready(0);
            expect_refused(side, number);
            pair_release(&pair);
        }
    }
    pair_init(&pair, NULL, 0);
}

/* The peer is told why. */
static void last_words(void **state)
{
    (void)state;
    ready(0);
    side_input(&pair.master, view_bytes("\0\0\0\1\xc1", 5), pair.now_ms);
    assert_int_equal(pair.master.rc, ERR_PROTO);
    pair_run(&pair);
    assert_string_equal(str_cstr(&pair.slave.heard), "message(BYE) ");
}

static void frames_before_ready_are_small(void **state)
{
    (void)state;
    pair_init(&pair, NULL, 0);
    side_input(&pair.master, view_bytes("\0\1\0\1", 4), pair.now_ms);
    assert_string_equal(pair.master.err.msg, "a frame of 65537 bytes, at most 65536");
    pair_release(&pair);
    ready(1 << 20);
    side_input(&pair.master, view_bytes("\0\1\0\1", 4), pair.now_ms);
    assert_int_equal(pair.master.rc, ERR_OK);
}

/* A peer that asks and never reads: the answers are bounded. */
static void ping_flood(void **state)
{
    struct str pings = STR_INIT(64 << 20);
    struct msg ping = {.type = MSG_PING, .u.ping = {UINT64_MAX}};

    (void)state;
    ready(0);
    for (int i = 0; i < 10000; i++)
        put_frame(&pings, &ping);
    for (int i = 0; i < 100 && !pair.master.rc; i++)
        side_input(&pair.master, str_view(&pings), pair.now_ms);
    assert_int_equal(pair.master.rc, ERR_LIMIT);
    str_release(&pings);
}

static void stop_from_inside(void **state)
{
    (void)state;
    ready(0);
    pair.master.stops = true;
    for (uint64_t n = 1; n <= 3; n++)
        assert_int_equal(send_record(n, 100), ERR_OK);
    pair_run(&pair);
    assert_int_equal(pair.master.rc, ERR_OK);
    assert_string_equal(str_cstr(&pair.master.heard), "message(RECORD) ");
    session_granted(pair.master.session, 1); /* late news from the store are harmless */
}

/* An idle session is a small struct and nothing else (10,000 of them: DESIGN section 14). */
static void idle_memory(void **state)
{
    (void)state;
    ready(0);
    assert_int_equal(send_record(1, 100), ERR_OK);
    pair_run(&pair);
    for (int i = 0; i < 2; i++) {
        const struct session *session = i ? pair.master.session : pair.slave.session;

        assert_null(session->arena);
        assert_null(session->handshake);
        assert_null(session->reader.partial.p);
        assert_null(session->outbox.lanes[MSG_LANE_CONTROL].bytes.p);
        assert_null(session->outbox.lanes[MSG_LANE_BULK].bytes.p);
        assert_true(sizeof *session <= 512);
    }
}

#define TEST(fn) cmocka_unit_test_teardown(fn, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_both_ways),
        TEST(control_overtakes_bulk),
        TEST(sending_outside_ready),
        TEST(credit_runs_out_and_comes_back),
        TEST(credit_for_ever),
        TEST(sender_without_credit),
        TEST(sender_that_guesses_credit),
        TEST(absurd_credit),
        TEST(waiting_bulk_is_bounded),
        TEST(ping_and_pong),
        TEST(silent_peer),
        TEST(probe),
        TEST(probe_answered),
        TEST(times_come_from_the_master),
        TEST(only_hello_before_ready),
        TEST(only_answers_to_hello),
        TEST(nothing_while_the_master_decides),
        TEST(directions),
        TEST(last_words),
        TEST(frames_before_ready_are_small),
        TEST(ping_flood),
        TEST(stop_from_inside),
        TEST(idle_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

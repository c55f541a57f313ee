#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "proto/link.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memstream.h"

enum { MASTER, SLAVE };

/* One end: what it was told, and what it does by itself. */
struct peer {
    struct link *link; /* NULL once closed */
    struct str heard;
    struct err why;
    struct loop *loop;
    bool refuses, holds_credit;
    bool closes_on_message;
    uint64_t records_to_send, records_sent, records_got;
    size_t record_bytes;
    size_t room_calls;
};

struct world {
    struct fake_clock clock;
    struct loop loop;
    struct memstream *wire;
    struct peer peers[2];
};

static struct world world;

static void hear(struct peer *peer, const char *what)
{
    str_printf(&peer->heard, "%s ", what);
}

static void send_records(struct peer *peer)
{
    char *body = xcalloc(peer->record_bytes + 1, 1);

    while (peer->records_sent < peer->records_to_send && link_can_send_bulk(peer->link)) {
        struct msg msg = {
            .type = MSG_RECORD,
            .u.record = {1, 1, peer->records_sent + 1, {body, peer->record_bytes}},
        };

        if (link_send(peer->link, &msg) != ERR_OK)
            break;
        peer->records_sent++;
    }
    free(body);
}

static void on_hello(void *owner, const struct msg_hello *hello)
{
    struct peer *peer = owner;
    struct msg_welcome welcome = {.boot_id = view_of("m")};

    (void)hello;
    hear(peer, "hello");
    if (peer->refuses)
        link_refuse(peer->link, "duplicate", "another machine has this name", 1000);
    else
        session_welcome(link_session(peer->link), &welcome);
}

static void on_welcome(void *owner, const struct msg_welcome *welcome)
{
    (void)welcome;
    hear(owner, "welcome");
    send_records(owner);
}

static void on_refused(void *owner, const struct msg_refused *refused)
{
    (void)refused;
    hear(owner, "refused");
}

static void on_message(void *owner, const struct msg *msg)
{
    struct peer *peer = owner;

    if (msg->type != MSG_RECORD) {
        hear(peer, msg_name(msg->type));
    } else {
        assert_int_equal(msg->u.record.number, ++peer->records_got);
        if (!peer->holds_credit)
            session_granted(link_session(peer->link),
                            session_frame_bytes(link_session(peer->link)));
    }
    if (peer->closes_on_message) {
        struct err why = ERR_INIT;

        (void)err_set(&why, ERR_CANCELED, "enough");
        link_close(peer->link, &why);
        link_close(peer->link, NULL);
    }
}

static void on_bulk_room(void *owner)
{
    struct peer *peer = owner;

    peer->room_calls++;
    send_records(peer);
}

static void on_closed(void *owner, const struct err *why)
{
    struct peer *peer = owner;

    assert_non_null(peer->link);
    peer->why = *why;
    peer->link = NULL;
    hear(peer, "closed");
}

static const struct link_ops ops = {
    .session = {.on_hello = on_hello,
                .on_welcome = on_welcome,
                .on_refused = on_refused,
                .on_message = on_message},
    .on_bulk_room = on_bulk_room,
    .on_closed = on_closed,
};

static int setup(void **state)
{
    struct session_config configs[2] = {{.role = SESSION_MASTER, .credit_bytes = 300000},
                                        {.role = SESSION_SLAVE}};

    (void)state;
    memset(&world, 0, sizeof world);
    fake_clock_init(&world.clock, 1000, 0);
    assert_int_equal(loop_init(&world.loop, &world.clock.clock, NULL), ERR_OK);
    world.wire = memstream_new(&world.loop);
    for (int side = MASTER; side <= SLAVE; side++) {
        struct peer *peer = &world.peers[side];

        peer->heard = (struct str)STR_INIT(1 << 20);
        peer->loop = &world.loop;
        peer->link =
            link_new(&world.loop, memstream_end(world.wire, side), &configs[side], &ops, peer);
    }
    return 0;
}

static void run(void)
{
    for (int i = 0; i < 50; i++)
        loop_run_once(&world.loop, false);
}

/* Whatever the test left open is closed; then nothing may remain. */
static int teardown(void **state)
{
    (void)state;
    for (int side = MASTER; side <= SLAVE; side++) {
        if (world.peers[side].link)
            link_close(world.peers[side].link, NULL);
    }
    run();
    for (int side = MASTER; side <= SLAVE; side++) {
        assert_null(world.peers[side].link);
        str_release(&world.peers[side].heard);
    }
    memstream_free(world.wire);
    loop_release(&world.loop);
    return 0;
}

static void say_hello(void)
{
    struct msg_hello hello = {.name = view_of("linux-01"), .boot_id = view_of("b"), .slots = 1};

    session_hello(link_session(world.peers[SLAVE].link), &hello);
    link_flush(world.peers[SLAVE].link);
}

static void connect_both(void)
{
    say_hello();
    run();
}

static void expect_heard(int side, const char *words)
{
    assert_string_equal(str_cstr(&world.peers[side].heard), words);
}

static void expect_why(int side, enum err_code code, const char *sentence)
{
    assert_int_equal(world.peers[side].why.code, code);
    assert_string_equal(world.peers[side].why.msg, sentence);
}

static void handshake(void **state)
{
    (void)state;
    connect_both();
    expect_heard(MASTER, "hello ");
    expect_heard(SLAVE, "welcome ");
    assert_string_equal(link_peer(world.peers[MASTER].link), "memory:1");
}

static void byte_by_byte(void **state)
{
    (void)state;
    memstream_bytewise(world.wire, MASTER, true);
    memstream_bytewise(world.wire, SLAVE, true);
    world.peers[SLAVE].records_to_send = 20;
    world.peers[SLAVE].record_bytes = 300;
    connect_both();
    assert_int_equal(world.peers[MASTER].records_got, 20);
}

/* Far more than credit and buffers hold: all arrives, in order. */
static void many_records(void **state)
{
    (void)state;
    world.peers[SLAVE].records_to_send = 300;
    world.peers[SLAVE].record_bytes = 65000;
    connect_both();
    for (int i = 0; i < 100 && world.peers[MASTER].records_got < 300; i++)
        run();
    assert_int_equal(world.peers[MASTER].records_got, 300);
    assert_int_equal(session_owed(link_session(world.peers[MASTER].link)), 0);
}

static void no_credit_no_more(void **state)
{
    struct peer *master = &world.peers[MASTER];
    struct peer *slave = &world.peers[SLAVE];

    (void)state;
    master->holds_credit = true;
    slave->records_to_send = 100;
    slave->record_bytes = 10000;
    connect_both();
    assert_int_equal(slave->records_sent, 30); /* 300,000 bytes of credit, the last goes below */
    assert_int_equal(master->records_got, 30);
    assert_false(link_can_send_bulk(slave->link));
    slave->room_calls = 0;
    session_granted(link_session(master->link), session_owed(link_session(master->link)));
    link_flush(master->link);
    run();
    assert_int_equal(slave->room_calls, 1);
    assert_int_equal(slave->records_sent, 60);
}

/* While nothing gets through the slave holds a bounded amount, and the control frames stay in
 * front. */
static void blocked_wire(void **state)
{
    struct peer *slave = &world.peers[SLAVE];
    struct msg draining = {.type = MSG_STATE, .u.state = {true}};

    (void)state;
    connect_both();
    memstream_block(world.wire, SLAVE, true);
    slave->records_to_send = 1000;
    slave->record_bytes = 1000;
    send_records(slave);
    run();
    assert_in_range(slave->records_sent, 290, 310);
    assert_int_equal(link_send(slave->link, &draining), ERR_OK);
    memstream_block(world.wire, SLAVE, false);
    for (int i = 0; i < 20; i++)
        run();
    assert_int_equal(world.peers[MASTER].records_got, 1000);
    expect_heard(MASTER, "hello STATE ");
}

static void cut_anywhere(void **state)
{
    (void)state;
    for (size_t after = 0; after < 3000; after += 37) {
        world.peers[SLAVE].records_to_send = 30;
        world.peers[SLAVE].record_bytes = 100;
        memstream_cut(world.wire, SLAVE, after);
        connect_both();
        assert_null(world.peers[MASTER].link);
        assert_null(world.peers[SLAVE].link);
        expect_why(MASTER, ERR_IO, "the connection was cut");
        expect_why(SLAVE, ERR_IO, "the connection was cut");
        assert_true(world.peers[MASTER].records_got < 30);
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
}

static void refused(void **state)
{
    (void)state;
    world.peers[MASTER].refuses = true;
    connect_both();
    expect_heard(MASTER, "hello closed ");
    expect_heard(SLAVE, "refused closed ");
    expect_why(MASTER, ERR_AUTH, "refused (duplicate): another machine has this name");
    expect_why(SLAVE, ERR_AUTH, "the master refused (duplicate): another machine has this name");
}

static void garbage(void **state)
{
    (void)state;
    connect_both();
    /* The slave's own link is not asked. */
    stream_write(memstream_end(world.wire, SLAVE), xmemdup("\0\0\0\1\xc1", 5), 5);
    run();
    expect_heard(SLAVE, "welcome BYE closed ");
    expect_why(MASTER, ERR_PROTO, "offset 0: byte 0xc1 begins nothing that is allowed");
}

static void bye(void **state)
{
    (void)state;
    world.peers[SLAVE].records_to_send = 2;
    world.peers[SLAVE].record_bytes = 100;
    connect_both();
    link_bye(world.peers[SLAVE].link, "the agent stops", 300);
    assert_int_equal(link_send(world.peers[SLAVE].link, &(struct msg){.type = MSG_PING}),
                     ERR_CANCELED);
    assert_false(link_can_send_bulk(world.peers[SLAVE].link));
    run();
    expect_heard(MASTER, "hello BYE closed ");
    expect_why(SLAVE, ERR_CANCELED, "the agent stops");
    assert_int_equal(world.peers[MASTER].records_got, 2);
}

/* The other side takes nothing any more: the wait for the last words is bounded. */
static void bye_to_a_wall(void **state)
{
    (void)state;
    connect_both();
    memstream_block(world.wire, SLAVE, true);
    link_bye(world.peers[SLAVE].link, "the agent stops", 300);
    run();
    assert_non_null(world.peers[SLAVE].link);
    fake_clock_advance(&world.clock, 300);
    run();
    assert_null(world.peers[SLAVE].link);
}

static void bye_before_ready(void **state)
{
    (void)state;
    link_bye(world.peers[SLAVE].link, "never mind", 300);
    run();
    expect_heard(SLAVE, "closed ");
    expect_why(SLAVE, ERR_CANCELED, "never mind");
}

static void closing_from_a_callback(void **state)
{
    struct peer *slave = &world.peers[SLAVE];

    (void)state;
    world.peers[MASTER].closes_on_message = true;
    slave->records_to_send = 10;
    slave->record_bytes = 100;
    connect_both();
    assert_int_equal(world.peers[MASTER].records_got, 1);
    expect_why(MASTER, ERR_CANCELED, "enough");
    expect_why(SLAVE, ERR_IO, "the other side closed the connection");
}

static void nobody_says_hello(void **state)
{
    (void)state;
    fake_clock_advance(&world.clock, SESSION_HANDSHAKE_MS - 1);
    run();
    assert_non_null(world.peers[MASTER].link);
    fake_clock_advance(&world.clock, 1);
    run();
    expect_why(MASTER, ERR_TIMEOUT, "the handshake took too long (state expect-hello)");
}

/* Hours of silence between two live ends: they beat, and stay. */
static void idle_for_long(void **state)
{
    (void)state;
    connect_both();
    for (int i = 0; i < 1000; i++) {
        fake_clock_advance(&world.clock, 5000);
        run();
    }
    expect_heard(MASTER, "hello ");
    expect_heard(SLAVE, "welcome ");
}

static void dead_peer(void **state)
{
    (void)state;
    connect_both();
    memstream_block(world.wire, SLAVE, true);
    for (int i = 0; i < 44; i++) {
        fake_clock_advance(&world.clock, 1000);
        run();
    }
    assert_non_null(world.peers[MASTER].link);
    fake_clock_advance(&world.clock, 1000);
    run();
    expect_why(MASTER, ERR_TIMEOUT, "the peer has been silent for 45000 ms");
}

static void probe(void **state)
{
    (void)state;
    connect_both();
    memstream_block(world.wire, SLAVE, true);
    session_probe(link_session(world.peers[MASTER].link), loop_now_ms(&world.loop), 5000);
    link_flush(world.peers[MASTER].link);
    fake_clock_advance(&world.clock, 4999);
    run();
    assert_non_null(world.peers[MASTER].link);
    fake_clock_advance(&world.clock, 1);
    run();
    assert_null(world.peers[MASTER].link);
}

/* A message over its limits is our mistake: the link says so and goes. */
static void unsendable_message(void **state)
{
    static const char text[513] = "x";
    struct msg msg = {.type = MSG_CANCEL, .u.cancel.reason = view_bytes(text, 513)};

    (void)state;
    connect_both();
    assert_int_equal(link_send(world.peers[MASTER].link, &msg), ERR_LIMIT);
    run();
    expect_why(MASTER, ERR_LIMIT, "CANCEL.reason: text of 513 bytes, at most 512");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(handshake),
        TEST(byte_by_byte),
        TEST(many_records),
        TEST(no_credit_no_more),
        TEST(blocked_wire),
        TEST(cut_anywhere),
        TEST(refused),
        TEST(garbage),
        TEST(bye),
        TEST(bye_to_a_wall),
        TEST(bye_before_ready),
        TEST(closing_from_a_callback),
        TEST(nobody_says_hello),
        TEST(idle_for_long),
        TEST(dead_peer),
        TEST(probe),
        TEST(unsendable_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

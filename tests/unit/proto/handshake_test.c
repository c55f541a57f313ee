#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/proof.h"
#include "tests/unit/proto/pair.h"

static struct pair pair;

static void begin(const char *slave_secret, const char *master_secret)
{
    pair_init(&pair, slave_secret, 0);
    if (master_secret)
        pair.master.secrets[pair.master.n_secrets++] = view_of(master_secret);
    pair_hello(&pair);
}

static void expect_ready(void)
{
    assert_int_equal(pair.master.rc, ERR_OK);
    assert_int_equal(pair.slave.rc, ERR_OK);
    assert_int_equal(session_state(pair.master.session), SESSION_READY);
    assert_int_equal(session_state(pair.slave.session), SESSION_READY);
}

static void expect_failed(const struct side *side, enum err_code rc, const char *sentence)
{
    assert_int_equal(side->rc, rc);
    assert_string_equal(side->err.msg, sentence);
    assert_int_equal(session_state(side->session), SESSION_FAILED);
    assert_true(session_next_tick_ms(side->session) == UINT64_MAX);
}

static int teardown(void **state)
{
    (void)state;
    pair_release(&pair);
    return 0;
}

static void without_secret(void **state)
{
    (void)state;
    begin(NULL, NULL);
    pair_run(&pair);
    expect_ready();
    assert_string_equal(str_cstr(&pair.master.heard), "hello(linux-01) ");
    assert_string_equal(str_cstr(&pair.slave.heard), "welcome(master-boot) ");
}

static void with_secret_byte_by_byte(void **state)
{
    (void)state;
    begin("s3cret", "s3cret");
    pair_run_in(&pair, 1);
    expect_ready();
    assert_string_equal(str_cstr(&pair.master.heard), "hello(linux-01) proved() ");
    assert_string_equal(str_cstr(&pair.slave.heard), "welcome(master-boot) ");
}

/* While a secret is being changed the old and the new one count. */
static void two_secrets(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(i ? "new" : "old", "old");
        pair.master.secrets[pair.master.n_secrets++] = view_of("new");
        pair_run(&pair);
        expect_ready();
        if (i == 0)
            pair_release(&pair);
    }
}

static void the_owner_decides_later(void **state)
{
    struct view secret = view_of("s3cret");

    (void)state;
    begin("s3cret", NULL);
    pair.master.later = true;
    pair_run(&pair);
    assert_int_equal(session_state(pair.master.session), SESSION_DECIDING);
    session_challenge(pair.master.session, &secret, 1);
    pair_run(&pair);
    assert_int_equal(session_state(pair.master.session), SESSION_DECIDING);
    assert_string_equal(str_cstr(&pair.master.heard), "hello(linux-01) proved() ");
    side_welcomes(&pair.master);
    pair_run(&pair);
    expect_ready();
}

static void wrong_secret(void **state)
{
    (void)state;
    begin("s3cret", "another");
    pair_run(&pair);
    expect_failed(&pair.master, ERR_AUTH,
                  "the slave's secret is not the one that the master has for this name");
    expect_failed(&pair.slave, ERR_AUTH,
                  "the master refused (secret): the slave's secret is not the one that the master "
                  "has for this name");
    assert_string_equal(str_cstr(&pair.master.heard), "hello(linux-01) ");
    assert_string_equal(str_cstr(&pair.slave.heard), "refused(secret) ");
}

static void proof_of_another_length(void **state)
{
    struct msg proof = {.type = MSG_PROOF};

    (void)state;
    begin("s3cret", "s3cret");
    (void)pair_move(&pair, &pair.slave, &pair.master, SIZE_MAX / 2);
    side_input_msg(&pair.master, &proof, pair.now_ms);
    assert_int_equal(pair.master.rc, ERR_AUTH);
}

/* A slave with a secret tells a master that does not ask for it nothing more. */
static void master_that_does_not_ask(void **state)
{
    (void)state;
    begin("s3cret", NULL);
    pair_run(&pair);
    expect_failed(&pair.slave, ERR_AUTH, "the master did not ask for this slave's secret");
    assert_string_equal(str_cstr(&pair.slave.heard), "");
}

/* It asks, takes any proof, and makes up its own. */
static void master_that_does_not_know(void **state)
{
    static const char zeros[PROOF_BYTES];
    struct msg challenge = {.type = MSG_CHALLENGE, .u.challenge = {view_bytes(zeros, 32)}};
    struct msg welcome = {.type = MSG_WELCOME,
                          .u.welcome = {.proto = 1, .ping_after_ms = 1, .drop_after_ms = 2}};

    (void)state;
    for (size_t n = 0; n <= PROOF_BYTES; n += PROOF_BYTES) {
        begin("s3cret", NULL);
        side_input_msg(&pair.slave, &challenge, pair.now_ms);
        assert_int_equal(session_state(pair.slave.session), SESSION_CHALLENGED);
        welcome.u.welcome.mac = view_bytes(zeros, n);
        side_input_msg(&pair.slave, &welcome, pair.now_ms);
        expect_failed(&pair.slave, ERR_AUTH, "the master does not know this slave's secret");
        if (n == 0)
            pair_release(&pair);
    }
}

static void slave_without_a_secret_is_asked(void **state)
{
    (void)state;
    begin(NULL, "s3cret");
    pair_run(&pair);
    expect_failed(&pair.slave, ERR_AUTH, "the master asks for a secret, and this slave has none");
}

static void refused_by_the_owner(void **state)
{
    (void)state;
    begin(NULL, NULL);
    pair.master.refuses_with = "duplicate";
    pair_run(&pair);
    assert_int_equal(pair.master.rc, ERR_OK); /* its own decision */
    assert_int_equal(session_state(pair.master.session), SESSION_FAILED);
    expect_failed(&pair.slave, ERR_AUTH, "the master refused (duplicate): go away");
}

/* A peer's words are escaped before they reach a log. */
static void refusal_is_escaped(void **state)
{
    struct msg refused = {.type = MSG_REFUSED,
                          .u.refused = {view_of("a\nb"), view_of("\x1b[31m"), 0}};

    (void)state;
    begin(NULL, NULL);
    side_input_msg(&pair.slave, &refused, pair.now_ms);
    expect_failed(&pair.slave, ERR_AUTH, "the master refused (a\\x0ab): \\x1b[31m");
}

static struct msg good_hello(void)
{
    static const char nonce[PROOF_NONCE_BYTES];

    return (struct msg){.type = MSG_HELLO,
                        .u.hello = {.proto_min = PROTO_MIN,
                                    .proto_max = PROTO_MAX,
                                    .name = view_of("linux-01"),
                                    .boot_id = view_of("boot"),
                                    .nonce = view_bytes(nonce, sizeof nonce)}};
}

/* The master refuses that HELLO with a code and a sentence, which the slave gets to see. */
static void expect_hello_refused(const struct msg *hello, enum err_code rc, const char *code,
                                 const char *sentence)
{
    begin(NULL, NULL);
    side_input_msg(&pair.master, hello, pair.now_ms);
    expect_failed(&pair.master, rc, sentence);
    assert_string_equal(str_cstr(&pair.master.heard), "");
    session_output(pair.master.session, &pair.master.wire, SIZE_MAX);
    side_input(&pair.slave, str_view(&pair.master.wire), pair.now_ms);
    assert_non_null(strstr(pair.slave.err.msg, sentence));
    assert_non_null(strstr(str_cstr(&pair.slave.heard), code));
}

static void versions(void **state)
{
    const struct {
        uint32_t least, most;
        bool fine;
    } cases[] = {{1, 1, true},           {0, 1, true},
                 {1, 9, true},           {0, 99, true},
                 {2, 3, false},          {0, 0, false},
                 {2, 1, false},          {1, 0, false},
                 {UINT32_MAX, 1, false}, {UINT32_MAX, UINT32_MAX, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct msg hello = good_hello();
        char sentence[128];

        hello.u.hello.proto_min = cases[i].least;
        hello.u.hello.proto_max = cases[i].most;
        (void)snprintf(sentence, sizeof sentence,
                       "the slave speaks protocol %u to %u, this master 1 to 1: upgrade the older "
                       "of the two",
                       cases[i].least, cases[i].most);
        if (cases[i].fine) {
            begin(NULL, NULL);
            side_input_msg(&pair.master, &hello, pair.now_ms);
            assert_int_equal(session_state(pair.master.session), SESSION_READY);
        } else {
            expect_hello_refused(&hello, ERR_PROTO, "refused(version)", sentence);
        }
        if (i + 1 < sizeof cases / sizeof cases[0])
            pair_release(&pair);
    }
}

static void bad_name(void **state)
{
    struct msg hello = good_hello();

    (void)state;
    hello.u.hello.name = view_of("../etc");
    expect_hello_refused(&hello, ERR_PROTO, "refused(name)",
                         "HELLO.name: not 1 to 64 of letters, digits, '.', '_', '-'");
}

/* With a NUL two pairs of name and boot id could have one proof. */
static void bad_boot_id(void **state)
{
    struct msg hello = good_hello();

    (void)state;
    hello.u.hello.boot_id = view_bytes("a\0b", 3);
    expect_hello_refused(&hello, ERR_PROTO, "refused(protocol)",
                         "HELLO.boot_id: not 1 to 64 of letters, digits, '.', '_', '-'");
}

static void short_nonce(void **state)
{
    struct msg hello = good_hello();

    (void)state;
    hello.u.hello.nonce.n = 31;
    expect_hello_refused(&hello, ERR_PROTO, "refused(protocol)", "HELLO.nonce: 31 bytes, not 32");
}

/* What a welcome may not say. */
static void bad_welcomes(void **state)
{
    const struct msg_welcome cases[] = {
        {.proto = 0, .ping_after_ms = 1, .drop_after_ms = 2},
        {.proto = 2, .ping_after_ms = 1, .drop_after_ms = 2},
        {.proto = 1, .ping_after_ms = 0, .drop_after_ms = 2},
        {.proto = 1, .ping_after_ms = 2, .drop_after_ms = 2},
        {.proto = 1, .ping_after_ms = 1, .drop_after_ms = UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct msg welcome = {.type = MSG_WELCOME, .u.welcome = cases[i]};

        begin(NULL, NULL);
        side_input_msg(&pair.slave, &welcome, pair.now_ms);
        assert_int_equal(pair.slave.rc, ERR_PROTO);
        assert_string_equal(str_cstr(&pair.slave.heard), "");
        if (i + 1 < sizeof cases / sizeof cases[0])
            pair_release(&pair);
    }
}

static void too_slow(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    begin(NULL, NULL);
    assert_int_equal(session_next_tick_ms(pair.master.session), 1000 + SESSION_HANDSHAKE_MS);
    /* A dribble of bytes does not buy time. */
    side_input(&pair.master, view_bytes("\0", 1), 10000);
    assert_int_equal(session_tick(pair.master.session, 10999, &err), ERR_OK);
    assert_int_equal(session_tick(pair.master.session, 11000, &err), ERR_TIMEOUT);
    assert_string_equal(err.msg, "the handshake took too long (state expect-hello)");
    assert_int_equal(session_state(pair.master.session), SESSION_FAILED);
    assert_true(session_has_output(pair.master.session));
    assert_int_equal(session_tick(pair.slave.session, 11000, &err), ERR_TIMEOUT);
}

/* Before it said HELLO a slave takes nothing. */
static void master_speaks_first(void **state)
{
    struct msg welcome = {.type = MSG_WELCOME,
                          .u.welcome = {.proto = 1, .ping_after_ms = 1, .drop_after_ms = 2}};

    (void)state;
    pair_init(&pair, NULL, 0);
    side_input_msg(&pair.slave, &welcome, pair.now_ms);
    expect_failed(&pair.slave, ERR_PROTO, "WELCOME before HELLO");
}

/* A HELLO whose texts are over their limits is our own mistake; it shows up, but does not crash. */
static void unsendable_hello(void **state)
{
    static const char name[65] = "x";
    struct msg_hello hello = {.name = view_bytes(name, 65), .boot_id = view_of("b")};
    struct err err = ERR_INIT;

    (void)state;
    pair_init(&pair, NULL, 0);
    session_hello(pair.slave.session, &hello);
    assert_false(session_has_output(pair.slave.session));
    assert_int_equal(session_next_tick_ms(pair.slave.session), 0);
    assert_int_equal(session_tick(pair.slave.session, 1000, &err), ERR_LIMIT);
    assert_string_equal(err.msg, "HELLO.name: text of 65 bytes, at most 64");
}

/* The decision comes after the connection has ended: nothing happens. */
static void decisions_after_the_end(void **state)
{
    struct view secret = view_of("s");

    (void)state;
    begin(NULL, NULL);
    pair.master.later = true;
    pair_run(&pair);
    session_stop(pair.master.session);
    session_challenge(pair.master.session, &secret, 1);
    side_welcomes(&pair.master);
    session_refuse(pair.master.session, "busy", "x", 0);
    assert_false(session_has_output(pair.master.session));
    assert_int_equal(session_state(pair.master.session), SESSION_FAILED);
}

#define TEST(fn) cmocka_unit_test_teardown(fn, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_secret),
        TEST(with_secret_byte_by_byte),
        TEST(two_secrets),
        TEST(the_owner_decides_later),
        TEST(wrong_secret),
        TEST(proof_of_another_length),
        TEST(master_that_does_not_ask),
        TEST(master_that_does_not_know),
        TEST(slave_without_a_secret_is_asked),
        TEST(refused_by_the_owner),
        TEST(refusal_is_escaped),
        TEST(versions),
        TEST(bad_name),
        TEST(bad_boot_id),
        TEST(short_nonce),
        TEST(bad_welcomes),
        TEST(too_slow),
        TEST(master_speaks_first),
        TEST(unsendable_hello),
        TEST(decisions_after_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

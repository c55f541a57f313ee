#include "slave/uplink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/vec.h"
#include "common/io/fsx.h"
#include "proto/link.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memstream.h"

#define V(text) ((struct view){text, sizeof(text) - 1})

enum { BACKOFF_MAX_MS = 3000, PASSES = 200 };

struct got {
    uint64_t build, number;
};

struct fixture {
    char dir[64];
    char *secret_file;
    struct fake_clock clock;
    struct loop loop;
    struct spool *spool;
    struct facts facts;
    struct uplink *uplink;

    /* The dialer. */
    dialer_done done;
    void *done_owner;
    unsigned dials, dial_cancels;
    uint64_t random;

    /* The master. */
    struct memstream *pair;
    struct link *link;
    struct msg_known known[4];
    size_t n_known;
    struct view secret;
    const char *refusal;
    bool keep_credit;
    uint64_t kept_bytes;
    VEC(struct got) got;
    struct msg_held held[4];
    size_t n_held;
    bool hello_draining, state_draining, bye;
    unsigned hellos;

    /* The agent. */
    unsigned readies, acks, stops;
    uint64_t started, cancelled, forgotten[4];
    size_t n_forgotten;
    unsigned refused_logged;
};

static struct fixture *current;

/* --- the dialer and the random source --- */

static struct dialer *fake_dial(struct loop *loop, const char *host, uint16_t port,
                                uint64_t timeout_ms, dialer_done done, void *owner)
{
    (void)loop;
    (void)timeout_ms;
    assert_string_equal(host, "master");
    assert_int_equal(port, 9989);
    assert_null(current->done);
    current->done = done;
    current->done_owner = owner;
    current->dials++;
    return (struct dialer *)current;
}

static void fake_dial_cancel(struct dialer *dialer)
{
    assert_ptr_equal(dialer, current);
    current->done = NULL;
    current->dial_cancels++;
}

static void fake_random(void *out, size_t n)
{
    assert_int_equal(n, sizeof current->random);
    memcpy(out, &current->random, n);
}

/* --- the master --- */

static void welcome(struct fixture *f)
{
    struct msg_welcome message = {.boot_id = V("master-boot")};

    message.known.v = f->known;
    message.known.n = f->n_known;
    session_welcome(link_session(f->link), &message);
    link_flush(f->link);
}

static void master_on_hello(void *owner, const struct msg_hello *hello)
{
    struct fixture *f = owner;
    size_t i;

    assert_true(view_is(hello->name, "linux-01"));
    assert_true(view_is(hello->boot_id, "boot-7"));
    assert_true(view_is(hello->os, "TestOS"));
    assert_int_equal(hello->slots, 2);
    assert_true(hello->held.n <= 4);
    f->hellos++;
    f->hello_draining = hello->draining;
    f->n_held = hello->held.n;
    for (i = 0; i < hello->held.n; i++)
        f->held[i] = hello->held.v[i];
    if (f->refusal) {
        link_refuse(f->link, "name", f->refusal, 2000);
    } else if (f->secret.n) {
        session_challenge(link_session(f->link), &f->secret, 1);
        link_flush(f->link);
    } else {
        welcome(f);
    }
}

static void master_on_proved(void *owner)
{
    welcome(owner);
}

static void master_on_message(void *owner, const struct msg *msg)
{
    struct fixture *f = owner;
    struct got got;

    if (msg->type == MSG_STATE)
        f->state_draining = msg->u.state.draining;
    if (msg->type == MSG_BYE)
        f->bye = true;
    if (msg->type != MSG_RECORD)
        return;
    got = (struct got){msg->u.record.build, msg->u.record.number};
    vec_push(&f->got, got);
    if (f->keep_credit)
        f->kept_bytes += session_frame_bytes(link_session(f->link));
    else
        session_granted(link_session(f->link), session_frame_bytes(link_session(f->link)));
}

static void master_on_room(void *owner)
{
    (void)owner;
}

static void master_on_closed(void *owner, const struct err *why)
{
    struct fixture *f = owner;

    (void)why;
    f->link = NULL;
}

static const struct link_ops master_callbacks = {
    .session = {.on_hello = master_on_hello,
                .on_proved = master_on_proved,
                .on_message = master_on_message},
    .on_bulk_room = master_on_room,
    .on_closed = master_on_closed,
};

/* --- the agent --- */

static void on_ready(void *owner)
{
    struct fixture *f = owner;

    f->readies++;
}

static void on_start(void *owner, const struct msg_start *start)
{
    struct fixture *f = owner;

    f->started = start->build;
}

static void on_cancel(void *owner, uint64_t build, uint32_t attempt, struct view reason)
{
    struct fixture *f = owner;

    assert_int_equal(attempt, 1);
    assert_true(view_is(reason, "by hand"));
    f->cancelled = build;
}

static void on_forget(void *owner, uint64_t build, uint32_t attempt)
{
    struct fixture *f = owner;
    struct journal *journal = spool_find(f->spool, build, attempt);

    assert_true(f->n_forgotten < 4);
    f->forgotten[f->n_forgotten++] = build;
    if (journal)
        journal_drop(journal);
}

static void on_acked(void *owner)
{
    struct fixture *f = owner;

    f->acks++;
}

static void on_stopped(void *owner)
{
    struct fixture *f = owner;

    f->stops++;
}

static const struct uplink_ops agent_callbacks = {
    .on_ready = on_ready,
    .on_start = on_start,
    .on_cancel = on_cancel,
    .on_forget = on_forget,
    .on_acked = on_acked,
    .on_stopped = on_stopped,
};

static void on_record(void *owner, struct journal *journal)
{
    struct fixture *f = owner;

    (void)journal;
    uplink_kick(f->uplink);
}

static void on_room(void *owner)
{
    (void)owner;
}

static const struct spool_ops spool_callbacks = {.on_record = on_record, .on_room = on_room};

/* --- the stage --- */

static void watch_log(void *arg, enum log_level level, struct view line)
{
    struct fixture *f = arg;

    (void)level;
    if (memmem(line.p, line.n, "uplink.refused", strlen("uplink.refused")))
        f->refused_logged++;
}

static void make_uplink(struct fixture *f, const char *secret_file)
{
    struct uplink_config config = {
        .host = "master",
        .port = 9989,
        .name = "linux-01",
        .boot_id = "boot-7",
        .slots = 2,
        .facts = &f->facts,
        .backoff_max_ms = BACKOFF_MAX_MS,
        .secret_file = secret_file,
        .dial = fake_dial,
        .dial_cancel = fake_dial_cancel,
        .random = fake_random,
    };

    uplink_free(f->uplink);
    f->uplink = uplink_new(&f->loop, &config, f->spool, &agent_callbacks, f);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    current = f;
    log_set_sink(watch_log, f);
    fake_clock_init(&f->clock, 1000, 1700000000000);
    assert_int_equal(loop_init(&f->loop, &f->clock.clock, NULL), ERR_OK);
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/tailrace-uplink-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->secret_file = fs_join(f->dir, "secret");
    (void)snprintf(f->facts.os, sizeof f->facts.os, "TestOS");
    assert_int_equal(spool_open(f->dir, 1 << 20, &spool_callbacks, f, &f->spool, NULL), ERR_OK);
    make_uplink(f, NULL);
    *state = f;
    return 0;
}

static void run(struct fixture *f)
{
    unsigned i;

    for (i = 0; i < PASSES; i++)
        loop_run_once(&f->loop, false);
}

static void advance(struct fixture *f, uint64_t ms)
{
    fake_clock_advance(&f->clock, ms);
    run(f);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    if (f->stops == 0) {
        uplink_stop(f->uplink, "end of the test");
        advance(f, UPLINK_BYE_MS);
    }
    if (f->link)
        link_close(f->link, NULL);
    run(f);
    assert_int_equal(f->stops, 1);
    assert_null(f->link);
    uplink_free(f->uplink);
    if (f->pair)
        memstream_free(f->pair);
    spool_close(f->spool);
    loop_release(&f->loop);
    assert_int_equal(fs_remove_tree(f->dir, NULL), ERR_OK);
    vec_release(&f->got);
    free(f->secret_file);
    free(f);
    log_set_sink(NULL, NULL);
    return 0;
}

/* The dialled connection comes about. */
static void accept_dial(struct fixture *f)
{
    struct session_config config = {.role = SESSION_MASTER, .credit_bytes = 4096};
    dialer_done done = f->done;

    assert_non_null(done);
    assert_null(f->link);
    if (f->pair)
        memstream_free(f->pair);
    f->pair = memstream_new(&f->loop);
    f->link = link_new(&f->loop, memstream_end(f->pair, 1), &config, &master_callbacks, f);
    f->done = NULL;
    done(f->done_owner, memstream_end(f->pair, 0), NULL);
    run(f);
}

static void fail_dial(struct fixture *f)
{
    dialer_done done = f->done;
    struct err why;

    assert_non_null(done);
    (void)err_set(&why, ERR_IO, "connection refused");
    f->done = NULL;
    done(f->done_owner, NULL, &why);
    run(f);
}

static void connect_up(struct fixture *f)
{
    uplink_start(f->uplink);
    accept_dial(f);
    assert_int_equal(uplink_state(f->uplink), UPLINK_READY);
}

static void lose_link(struct fixture *f)
{
    memstream_cut(f->pair, 0, 0);
    memstream_cut(f->pair, 1, 0);
    link_close(f->link, NULL);
    run(f);
    assert_null(f->link);
    assert_int_not_equal(uplink_state(f->uplink), UPLINK_READY);
}

/* The next try comes after exactly that long, with the random source at the top of that range. */
static void check_wait(struct fixture *f, uint64_t ms)
{
    unsigned dials = f->dials;

    assert_int_equal(uplink_state(f->uplink), UPLINK_WAITING);
    advance(f, ms - 1);
    assert_int_equal(f->dials, dials);
    advance(f, 1);
    assert_int_equal(f->dials, dials + 1);
}

/* A journal with so many records: the attempt's begin, then small ones. */
static struct journal *make_journal(struct fixture *f, uint64_t build, unsigned n)
{
    struct msg started = {.type = REC_ATTEMPT_STARTED, .u.attempt_started = {1}};
    struct msg revision = {.type = REC_REVISION, .u.revision = {V("0123456789abcdef")}};
    struct journal *journal;

    assert_int_equal(
        journal_create(f->spool, &(struct journal_of){.build = build, .attempt = 1, .n_steps = 1},
                       &journal, NULL),
        ERR_OK);
    while (n-- > 0)
        assert_int_equal(
            journal_append(journal, journal_last(journal) ? &revision : &started, NULL), ERR_OK);
    return journal;
}

static void check_got(const struct fixture *f, size_t index, uint64_t build, uint64_t number)
{
    assert_true(index < f->got.n);
    assert_int_equal(f->got.v[index].build, build);
    assert_int_equal(f->got.v[index].number, number);
}

static void send_to_slave(struct fixture *f, const struct msg *msg)
{
    assert_int_equal(link_send(f->link, msg), ERR_OK);
    run(f);
}

/* --- tests --- */

static void test_sends_as_it_is_recorded(void **state)
{
    struct fixture *f = *state;
    struct msg ack = {.type = MSG_ACK, .u.ack = {12, 1, 2}};
    struct journal *journal;

    connect_up(f);
    assert_int_equal(f->hellos, 1);
    assert_int_equal(f->n_held, 0);
    assert_int_equal(f->readies, 1);
    journal = make_journal(f, 12, 3);
    run(f);
    assert_int_equal(f->got.n, 3);
    check_got(f, 0, 12, 1);
    check_got(f, 2, 12, 3);
    send_to_slave(f, &ack);
    assert_int_equal(f->acks, 1);
    assert_true(journal_rewind(journal, 2));
    ack.u.ack.build = 13;
    send_to_slave(f, &ack);
    assert_int_equal(f->acks, 1);
}

static void test_passes_on_what_the_master_wants(void **state)
{
    struct fixture *f = *state;
    struct msg_step step = {.name = V("s"), .kind = STEP_BUILD, .shell = V("true")};
    struct msg start = {.type = MSG_START, .u.start = {.build = 5, .attempt = 1}};
    struct msg cancel = {.type = MSG_CANCEL, .u.cancel = {6, 1, V("by hand")}};
    struct msg forget = {.type = MSG_FORGET, .u.forget = {7, 1}};

    start.u.start.steps.v = &step;
    start.u.start.steps.n = 1;
    connect_up(f);
    send_to_slave(f, &start);
    send_to_slave(f, &cancel);
    send_to_slave(f, &forget);
    assert_int_equal(f->started, 5);
    assert_int_equal(f->cancelled, 6);
    assert_int_equal(f->n_forgotten, 1);
    assert_int_equal(f->forgotten[0], 7);
}

static void test_journals_take_turns(void **state)
{
    struct fixture *f = *state;
    size_t i;

    (void)make_journal(f, 1, 3);
    (void)make_journal(f, 2, 3);
    f->known[0] = (struct msg_known){1, 1, 0, true};
    f->known[1] = (struct msg_known){2, 1, 0, true};
    f->n_known = 2;
    connect_up(f);
    assert_int_equal(f->n_held, 2);
    assert_int_equal(f->held[0].last, 3);
    assert_int_equal(f->got.n, 6);
    for (i = 0; i < 6; i++)
        check_got(f, i, i % 2 + 1, i / 2 + 1);
}

static void test_resumes_from_what_is_stored(void **state)
{
    struct fixture *f = *state;

    (void)make_journal(f, 1, 10);
    (void)make_journal(f, 2, 2); /* void */
    (void)make_journal(f, 3, 2); /* the master has never heard of it */
    f->known[0] = (struct msg_known){1, 1, 8, true};
    f->known[1] = (struct msg_known){2, 1, 1, false};
    f->n_known = 2;
    connect_up(f);
    assert_int_equal(f->got.n, 2);
    check_got(f, 0, 1, 9);
    check_got(f, 1, 1, 10);
    assert_int_equal(f->n_forgotten, 2);
    assert_int_equal(f->forgotten[0], 2);
    assert_int_equal(f->forgotten[1], 3);
}

/* The cable is cut again and again; what arrives is each record once, in order, as the master keeps
 * count. */
static void test_cuts_lose_nothing(void **state)
{
    struct fixture *f = *state;
    size_t i;

    (void)make_journal(f, 1, 60);
    f->known[0] = (struct msg_known){1, 1, 0, true};
    f->n_known = 1;
    uplink_start(f->uplink);
    for (i = 0; i < 40 && f->got.n < 60; i++) {
        f->known[0].stored = f->got.n;
        accept_dial(f);
        memstream_bytewise(f->pair, 0, i % 2 == 0);
        memstream_cut(f->pair, 0, 150 + 10 * i);
        (void)uplink_kick(f->uplink);
        run(f);
        run(f);
        if (f->got.n == 60)
            break;
        if (f->link)
            lose_link(f);
        advance(f, BACKOFF_MAX_MS);
    }
    assert_int_equal(f->got.n, 60);
    for (i = 0; i < 60; i++)
        check_got(f, i, 1, i + 1);
}

static void test_credit_holds_back(void **state)
{
    struct fixture *f = *state;
    size_t before;

    f->keep_credit = true;
    (void)make_journal(f, 1, 300);
    f->known[0] = (struct msg_known){1, 1, 0, true};
    f->n_known = 1;
    connect_up(f);
    before = f->got.n;
    assert_true(before > 10 && before < 200);
    run(f);
    assert_int_equal(f->got.n, before);
    f->keep_credit = false;
    session_granted(link_session(f->link), f->kept_bytes);
    link_flush(f->link);
    run(f);
    assert_true(f->got.n > before);
    run(f);
    assert_int_equal(f->got.n, 300);
}

static void test_backoff_grows_with_what_was_waited(void **state)
{
    static const uint64_t caps[] = {250, 500, 1500, 3000, 3000, 3000, 3000};
    struct fixture *f = *state;
    size_t i;

    uplink_start(f->uplink);
    assert_int_equal(f->dials, 1);
    for (i = 0; i < sizeof caps / sizeof *caps; i++) {
        f->random = caps[i]; /* the most that is still below the cap */
        fail_dial(f);
        check_wait(f, caps[i]);
    }
    f->random = BACKOFF_MAX_MS + 1; /* and one more begins again at nothing */
    fail_dial(f);
    assert_int_equal(f->dials, 9);
}

static void test_only_a_settled_connection_resets_the_backoff(void **state)
{
    struct fixture *f = *state;

    connect_up(f);
    f->random = 250;
    lose_link(f);
    check_wait(f, 250);
    accept_dial(f);
    advance(f, UPLINK_SETTLED_MS - 1);
    f->random = 500;
    lose_link(f);
    check_wait(f, 500);
    accept_dial(f);
    advance(f, UPLINK_SETTLED_MS);
    f->random = 251; /* over the first cap of 250: no wait at all */
    lose_link(f);
    assert_int_equal(uplink_state(f->uplink), UPLINK_DIALING);
    accept_dial(f);
    assert_int_equal(f->readies, 4);
}

static void test_refusal_waits_as_told(void **state)
{
    struct fixture *f = *state;

    f->refusal = "no slave of that name is configured";
    f->random = 0;
    uplink_start(f->uplink);
    accept_dial(f);
    advance(f, 0);
    assert_null(f->link);
    assert_int_equal(f->refused_logged, 1);
    check_wait(f, 2000);
    f->refusal = NULL;
    accept_dial(f);
    assert_int_equal(uplink_state(f->uplink), UPLINK_READY);
    assert_int_equal(f->refused_logged, 1);
}

static void test_misfit_is_given_up(void **state)
{
    struct fixture *f = *state;

    (void)make_journal(f, 1, 3);
    (void)make_journal(f, 2, 3);
    f->known[0] = (struct msg_known){1, 1, 4, true}; /* more than we ever wrote */
    f->known[1] = (struct msg_known){2, 1, 0, true};
    f->n_known = 2;
    uplink_start(f->uplink);
    accept_dial(f);
    assert_int_equal(f->n_forgotten, 1);
    assert_int_equal(f->forgotten[0], 1);
    assert_null(f->link);
    advance(f, BACKOFF_MAX_MS);
    f->known[0] = f->known[1];
    f->n_known = 1;
    accept_dial(f);
    assert_int_equal(f->n_held, 1);
    assert_int_equal(f->held[0].build, 2);
    assert_int_equal(f->got.n, 3);
}

static void test_retired_journals_are_not_spoken_of(void **state)
{
    struct fixture *f = *state;

    journal_retire(make_journal(f, 1, 3));
    connect_up(f);
    assert_int_equal(f->n_held, 0);
    assert_int_equal(f->n_forgotten, 0);
    assert_int_equal(f->got.n, 0);
}

static void test_draining_is_told(void **state)
{
    struct fixture *f = *state;

    connect_up(f);
    assert_false(f->hello_draining);
    uplink_drain(f->uplink);
    run(f);
    assert_true(f->state_draining);
    lose_link(f);
    advance(f, BACKOFF_MAX_MS);
    accept_dial(f);
    assert_true(f->hello_draining);
}

static void test_secret_is_read_for_each_try(void **state)
{
    struct fixture *f = *state;

    f->secret = V("0123456789abcdef");
    make_uplink(f, f->secret_file);
    uplink_start(f->uplink);
    accept_dial(f); /* there is no file */
    assert_int_equal(f->hellos, 0);
    assert_null(f->link);
    assert_int_equal(fs_replace(f->secret_file, V("fedcba9876543210\n"), 0600, NULL), ERR_OK);
    advance(f, BACKOFF_MAX_MS);
    accept_dial(f); /* the wrong one */
    assert_int_equal(f->hellos, 1);
    assert_int_equal(f->readies, 0);
    advance(f, UPLINK_REFUSED_MAX_MS);
    assert_null(f->link);
    assert_int_equal(f->refused_logged, 1);
    assert_int_equal(fs_replace(f->secret_file, V("0123456789abcdef\n"), 0600, NULL), ERR_OK);
    accept_dial(f);
    assert_int_equal(f->readies, 1);
}

static void test_stop_while_ready_says_goodbye(void **state)
{
    struct fixture *f = *state;

    connect_up(f);
    uplink_stop(f->uplink, "stopping");
    run(f);
    assert_true(f->bye);
    advance(f, UPLINK_BYE_MS);
    assert_int_equal(f->stops, 1);
    assert_int_equal(f->dials, 1);
}

static void test_stop_while_dialing(void **state)
{
    struct fixture *f = *state;

    uplink_start(f->uplink);
    uplink_stop(f->uplink, "stopping");
    uplink_stop(f->uplink, "stopping");
    run(f);
    assert_int_equal(f->dial_cancels, 1);
    assert_int_equal(f->stops, 1);
}

static void test_stop_while_waiting(void **state)
{
    struct fixture *f = *state;

    f->random = 250;
    uplink_start(f->uplink);
    fail_dial(f);
    uplink_stop(f->uplink, "stopping");
    run(f);
    assert_int_equal(f->stops, 1);
    advance(f, BACKOFF_MAX_MS);
    assert_int_equal(f->dials, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sends_as_it_is_recorded),
        TEST(passes_on_what_the_master_wants),
        TEST(journals_take_turns),
        TEST(resumes_from_what_is_stored),
        TEST(cuts_lose_nothing),
        TEST(credit_holds_back),
        TEST(backoff_grows_with_what_was_waited),
        TEST(only_a_settled_connection_resets_the_backoff),
        TEST(refusal_waits_as_told),
        TEST(misfit_is_given_up),
        TEST(retired_journals_are_not_spoken_of),
        TEST(draining_is_told),
        TEST(secret_is_read_for_each_try),
        TEST(stop_while_ready_says_goodbye),
        TEST(stop_while_dialing),
        TEST(stop_while_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

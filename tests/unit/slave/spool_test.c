#include "slave/spool.h"

#include "tests/unit/slave/spool_fixture.h"

static void test_records_come_back_in_order(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    char *folder = path_of(f, "12-1");

    append_blocks(f, journal, 100); /* several segments of 64 KiB */
    finish(journal);
    assert_int_equal(f->records, 104);
    assert_int_equal(journal_last(journal), 104);
    assert_true(journal->segments.n > 3);
    assert_true(journal_is_complete(journal));
    send_all(journal, 1);

    journal_ack(journal, 60);
    assert_true(journal->segments.v[0].first > 1);
    assert_true(journal->segments.v[0].first <= 61);
    assert_false(journal_is_done(journal));
    journal_ack(journal, 104);
    assert_int_equal(journal->segments.n, 1);
    assert_true(journal_is_done(journal));

    assert_true(fs_exists(folder));
    journal_drop(journal);
    assert_false(fs_exists(folder));
    assert_int_equal(spool_bytes(f->spool), 0);
    free(folder);
}

static void test_memory_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct journal *a, *b;
    unsigned i;

    f->spool->limit_bytes = 64 << 20;
    a = begin(f, 1);
    append_blocks(f, a, 1000);
    b = begin(f, 2);
    for (i = 0; i < 500; i++) {
        append_blocks(f, b, 1);
        assert_true(f->spool->recent_bytes <= SPOOL_MEMORY_BYTES);
    }
    send_all(a, 1);
    send_all(b, 1);
    assert_int_equal(f->spool->recent_bytes, 0);
}

static void test_rewind_sends_again(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 7);
    uint64_t at;

    append_blocks(f, journal, 60);
    for (at = 0; at < 62; at += 7) {
        assert_true(journal_rewind(journal, at > 14 ? at - 14 : 0));
        send_all(journal, at > 14 ? at - 13 : 1);
        append_blocks(f, journal, 1);
        check_next(journal, journal_last(journal));
    }
}

static void test_reading_catches_up_with_memory(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 7);
    uint64_t number = 1;

    append_blocks(f, journal, 20);
    send_all(journal, 1);
    append_blocks(f, journal, 20); /* in memory from 23 on */
    assert_true(journal_rewind(journal, 5));
    for (number = 6; number <= 42; number++) {
        check_next(journal, number);
        check_next(journal, number); /* looking twice changes nothing */
        assert_int_equal(journal->reader.fd >= 0, number < 23);
        journal_sent(journal);
        if (number % 5 == 0)
            journal_ack(journal, number);
    }
}

static void test_rewind_refuses_what_cannot_be(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 7);

    append_blocks(f, journal, 60);
    assert_false(journal_rewind(journal, 63));
    assert_true(journal_rewind(journal, 62));
    assert_true(journal->segments.v[0].first > 1);
    assert_false(journal_rewind(journal, 0));
    check_next(begin(f, 8), 1);
}

static void test_acknowledging_the_unsent_is_cut(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 7);

    journal_ack(journal, 2);
    send_all(journal, 1);
    finish(journal);
    journal_ack(journal, 99);
    assert_false(journal_is_done(journal));
    send_all(journal, 3);
    journal_ack(journal, 99);
    assert_true(journal_is_done(journal));
}

static void test_limit_and_room(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    unsigned n = 0;

    while (spool_has_room(f->spool)) {
        append_blocks(f, journal, 1);
        n++;
    }
    assert_true(n * BLOCK_BYTES <= LIMIT && n * BLOCK_BYTES > LIMIT - 8 * BLOCK_BYTES);
    send_all(journal, 1);
    assert_int_equal(f->rooms, 0);
    journal_ack(journal, 100);
    assert_int_equal(f->rooms, 1);
    assert_true(spool_has_room(f->spool));
    journal_ack(journal, journal_last(journal));
    assert_int_equal(f->rooms, 1);
    assert_true(spool_bytes(f->spool) <= f->spool->segment_bytes);
}

/* The newest segment alone fills the spool: acknowledging it must make room all the same. */
static void test_room_from_the_newest_segment(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);

    f->spool->segment_bytes = 2 * LIMIT;
    while (spool_has_room(f->spool))
        append_blocks(f, journal, 1);
    assert_int_equal(journal->segments.n, 1);
    send_all(journal, 1);
    journal_ack(journal, journal_last(journal));
    assert_int_equal(f->rooms, 1);
    assert_true(spool_bytes(f->spool) < 1000);
    reopen_spool(f);
    journal = spool_find(f->spool, 12, 1);
    append_blocks(f, journal, 1);
}

static void test_records_that_cannot_follow_are_refused(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    uint64_t bytes = spool_bytes(f->spool);
    struct msg twice = {.type = REC_STEP_STARTED, .u.step_started = {1, 2}};
    struct msg beyond = {.type = REC_STEP_STARTED, .u.step_started = {4, 2}};

    assert_int_equal(journal_append(journal, &twice, NULL), ERR_PROTO);
    assert_int_equal(journal_append(journal, &beyond, NULL), ERR_PROTO);
    f->log_offset = 5;
    assert_int_equal(try_block(f, journal), ERR_PROTO);
    assert_int_equal(spool_bytes(f->spool), bytes);
    assert_int_equal(journal_last(journal), 2);
    f->log_offset = 0;
    append_blocks(f, journal, 1);
    send_all(journal, 1);
    reopen_spool(f);
    assert_int_equal(journal_last(spool_find(f->spool, 12, 1)), 3);
}

static void test_journals_take_turns(void **state)
{
    struct fixture *f = *state;
    struct journal *a = begin(f, 1);
    struct journal *b = begin(f, 2);
    struct journal *c = begin(f, 3);
    struct journal *order[6] = {a, b, c, a, b, c};
    size_t i;

    for (i = 0; i < 6; i++) {
        assert_ptr_equal(spool_sendable(f->spool), order[i]);
        journal_sent(order[i]);
    }
    assert_null(spool_sendable(f->spool));
    assert_true(journal_rewind(b, 1));
    assert_ptr_equal(spool_sendable(f->spool), b);
    journal_retire(b);
    assert_null(spool_sendable(f->spool));
    assert_true(journal_is_retired(b));
}

static void test_one_journal_for_an_attempt(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 1);
    struct journal *other = NULL;

    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){.build = 1, .attempt = 1, .n_steps = 1},
                                    &other, NULL),
                     ERR_EXISTS);
    assert_null(other);
    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){.build = 1, .attempt = 2, .n_steps = 1},
                                    &other, NULL),
                     ERR_OK);
    assert_ptr_not_equal(journal, other);
    assert_int_equal(journal_build(other), 1);
    assert_int_equal(journal_attempt(other), 2);
    assert_int_equal(journal_last(other), 0);
    reopen_spool(f);
    other = spool_find(f->spool, 1, 2);
    assert_non_null(other);
    assert_int_equal(journal_last(other), 0);
    assert_int_equal(journal_fold(other)->n_steps, 1);
}

static void test_segment_names(void **state)
{
    char name[SEGMENT_NAME_MAX];

    (void)state;
    assert_string_equal(segment_name(42, name), "00000000000000000042");
    assert_int_equal(segment_number(name), 42);
    assert_true(segment_number(segment_name(UINT64_MAX, name)) == UINT64_MAX);
    assert_int_equal(segment_number("99999999999999999999"), 0);
    assert_int_equal(segment_number("0000000000000000004"), 0);
    assert_int_equal(segment_number("000000000000000000042"), 0);
    assert_int_equal(segment_number("0000000000000000004x"), 0);
    assert_int_equal(segment_number(".."), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_come_back_in_order),
        TEST(memory_is_bounded),
        TEST(rewind_sends_again),
        TEST(reading_catches_up_with_memory),
        TEST(rewind_refuses_what_cannot_be),
        TEST(acknowledging_the_unsent_is_cut),
        TEST(limit_and_room),
        TEST(room_from_the_newest_segment),
        TEST(records_that_cannot_follow_are_refused),
        TEST(journals_take_turns),
        TEST(one_journal_for_an_attempt),
        TEST(segment_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

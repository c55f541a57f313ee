#include "slave/recorder.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "proto/codec.h"
#include "tests/support/fake_clock.h"

struct fixture {
    struct fake_clock clock;
    struct loop loop;
    char dir[64];
    struct spool *spool;
    struct journal *journal;
    struct recorder *recorder;
    unsigned rooms, full;
};

static void on_record(void *owner, struct journal *journal)
{
    (void)owner;
    (void)journal;
}

static void on_spool_room(void *owner)
{
    (void)owner;
}

static const struct spool_ops spool_callbacks = {on_record, on_spool_room};

static void on_room(void *owner)
{
    struct fixture *f = owner;

    f->rooms++;
}

static void on_disk_full(void *owner, const char *why)
{
    struct fixture *f = owner;

    assert_non_null(strstr(why, "journal"));
    f->full++;
}

static const struct recorder_ops callbacks = {on_room, on_disk_full};

static void quiet(void *arg, enum log_level level, struct view line)
{
    (void)arg;
    (void)level;
    (void)line;
}

/* Whether this process may make files grow: as good as a full disk. */
static void set_disk(bool room)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = room ? limit.rlim_max : 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int open_fixture(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct err err = ERR_INIT;

    log_set_sink(quiet, NULL);
    (void)signal(SIGXFSZ, SIG_IGN);
    fake_clock_init(&f->clock, 1000, 1000);
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/tailrace-recorder-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_int_equal(loop_init(&f->loop, &f->clock.clock, &err), ERR_OK);
    assert_int_equal(spool_open(f->dir, 1 << 30, &spool_callbacks, f, &f->spool, &err), ERR_OK);
    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){.build = 1, .attempt = 1, .n_steps = 2},
                                    &f->journal, &err),
                     ERR_OK);
    f->recorder = recorder_new(&f->loop, f->journal, &callbacks, f);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    set_disk(true);
    recorder_free(f->recorder);
    journal_drop(f->journal);
    spool_close(f->spool);
    loop_release(&f->loop);
    assert_int_equal(fs_remove_tree(f->dir, &err), ERR_OK);
    log_set_sink(NULL, NULL);
    free(f);
    return 0;
}

static void put_started(struct fixture *f)
{
    recorder_put(f->recorder, &(struct msg){.type = REC_ATTEMPT_STARTED});
    recorder_put(f->recorder,
                 &(struct msg){.type = REC_STEP_STARTED, .u.step_started = {.step = 1}});
}

static bool put_block(struct fixture *f, uint64_t offset)
{
    /* An empty stored deflate block's bytes would do: nobody inflates here. */
    struct msg msg = {
        .type = REC_LOG_BLOCK,
        .u.log_block = {.step = 1, .offset = offset, .size = 5, .data = view_of("bytes")}};

    return recorder_block(f->recorder, &msg);
}

static void pass(struct fixture *f, uint64_t ms)
{
    fake_clock_advance(&f->clock, ms);
    loop_run_once(&f->loop, false);
}

static void test_what_has_room_goes_straight_in(void **state)
{
    struct fixture *f = *state;

    put_started(f);
    assert_true(put_block(f, 0));
    assert_true(recorder_is_clear(f->recorder));
    assert_int_equal(journal_last(f->journal), 3);
    recorder_retry(f->recorder);
    assert_int_equal(f->rooms, 0); /* nobody had waited */
}

static void test_what_waits_keeps_its_order_and_its_texts(void **state)
{
    struct fixture *f = *state;
    struct msg_arena *arena = msg_arena_new();
    struct journal_entry entry;
    struct msg msg;
    struct err err = ERR_INIT;
    char revision[] = "abc";
    char reason[] = "reason";
    unsigned i;

    put_started(f);
    set_disk(false);
    recorder_put(f->recorder, &(struct msg){.type = REC_REVISION,
                                            .u.revision = {.revision = view_of(revision)}});
    recorder_put(f->recorder, &(struct msg){.type = REC_STEP_FINISHED,
                                            .u.step_finished = {.step = 1,
                                                                .result = RESULT_SUCCESS,
                                                                .reason = view_of(reason)}});
    memset(revision, 'x', 3);
    memset(reason, 'x', 6);
    assert_false(recorder_is_clear(f->recorder));
    assert_false(put_block(f, 0)); /* never before what waits */
    pass(f, RECORDER_RETRY_MS);
    assert_int_equal(f->rooms, 0);
    set_disk(true);
    pass(f, RECORDER_RETRY_MS - 1);
    assert_int_equal(f->rooms, 0);
    pass(f, 1);
    assert_int_equal(f->rooms, 1);
    assert_true(recorder_is_clear(f->recorder));
    for (i = 1; i <= 4; i++) {
        assert_int_equal(journal_peek(f->journal, &entry, &err), ERR_OK);
        assert_int_equal(msg_decode(arena, entry.body, &msg, &err), ERR_OK);
        if (i == 3)
            assert_true(view_is(msg.u.revision.revision, "abc"));
        if (i == 4)
            assert_true(view_is(msg.u.step_finished.reason, "reason"));
        journal_sent(f->journal);
    }
    msg_arena_free(arena);
}

static void test_a_disk_that_stays_full_is_told_once(void **state)
{
    struct fixture *f = *state;
    unsigned s;

    put_started(f);
    set_disk(false);
    for (s = 0; s < RECORDER_PATIENCE_MS / RECORDER_RETRY_MS; s++) {
        assert_false(put_block(f, 0)); /* as the owner does in on_room */
        assert_int_equal(f->full, 0);
        assert_int_equal(f->rooms, s);
        pass(f, RECORDER_RETRY_MS);
    }
    assert_int_equal(f->full, 1);
    pass(f, RECORDER_RETRY_MS);
    assert_int_equal(f->full, 1);
}

/* The log of the step that ends for it has no hole: what was refused and all behind it is missing,
 * whenever there is room again. */
static void test_a_disk_that_stays_full_ends_the_log(void **state)
{
    struct fixture *f = *state;

    put_started(f);
    assert_true(put_block(f, 0));
    set_disk(false);
    assert_false(put_block(f, 5));
    pass(f, RECORDER_PATIENCE_MS);
    assert_int_equal(f->full, 1);
    assert_true(put_block(f, 5));
    set_disk(true);
    assert_true(put_block(f, 10));
    pass(f, RECORDER_RETRY_MS);
    assert_int_equal(journal_last(f->journal), 3);
    recorder_put(f->recorder, &(struct msg){.type = REC_STEP_FINISHED,
                                            .u.step_finished = {.step = 1,
                                                                .result = RESULT_EXCEPTION,
                                                                .reason = view_of("full")}});
    recorder_put(f->recorder,
                 &(struct msg){.type = REC_STEP_STARTED, .u.step_started = {.step = 2}});
    assert_true(recorder_block(
        f->recorder,
        &(struct msg){.type = REC_LOG_BLOCK,
                      .u.log_block = {.step = 2, .size = 5, .data = view_of("bytes")}}));
    assert_int_equal(journal_last(f->journal), 6);
}

/* Also when a record waits, before which no block may go in. */
static void test_what_waits_does_not_hold_the_log_of_a_step_that_ends(void **state)
{
    struct fixture *f = *state;

    put_started(f);
    set_disk(false);
    recorder_put(f->recorder,
                 &(struct msg){.type = REC_REVISION, .u.revision = {.revision = view_of("abc")}});
    assert_false(put_block(f, 0));
    pass(f, RECORDER_PATIENCE_MS);
    assert_int_equal(f->full, 1);
    assert_int_equal(f->rooms, 1);
    assert_true(put_block(f, 0));
    assert_false(recorder_is_clear(f->recorder));
    set_disk(true);
    pass(f, RECORDER_RETRY_MS);
    assert_true(recorder_is_clear(f->recorder));
    assert_int_equal(journal_last(f->journal), 3);
}

static void test_a_muted_one_takes_all_and_keeps_nothing(void **state)
{
    struct fixture *f = *state;

    put_started(f);
    set_disk(false);
    assert_false(put_block(f, 0));
    recorder_put(f->recorder, &(struct msg){.type = REC_ATTEMPT_FINISHED});
    recorder_mute(f->recorder);
    assert_true(recorder_is_clear(f->recorder));
    assert_true(put_block(f, 99));
    recorder_put(f->recorder, &(struct msg){.type = REC_ATTEMPT_FINISHED});
    assert_int_equal(f->rooms, 0);
    pass(f, 0);
    assert_int_equal(f->rooms, 1);
    set_disk(true);
    pass(f, 10 * RECORDER_RETRY_MS);
    assert_int_equal(journal_last(f->journal), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_has_room_goes_straight_in, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_what_waits_keeps_its_order_and_its_texts, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_a_disk_that_stays_full_is_told_once, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_a_disk_that_stays_full_ends_the_log, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_what_waits_does_not_hold_the_log_of_a_step_that_ends,
                                        open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_a_muted_one_takes_all_and_keeps_nothing, open_fixture,
                                        close_fixture),
    };

    return cmocka_run_group_tests_name("slave/recorder", tests, NULL, NULL);
}

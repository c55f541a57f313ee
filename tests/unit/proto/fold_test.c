#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "proto/journal.h"

static struct msg started(void)
{
    return (struct msg){.type = REC_ATTEMPT_STARTED};
}

static struct msg step_started(uint32_t step)
{
    return (struct msg){.type = REC_STEP_STARTED, .u.step_started = {step, 0}};
}

static struct msg block(uint32_t step, uint32_t stream, uint64_t offset, uint32_t size,
                        uint32_t lines)
{
    return (struct msg){.type = REC_LOG_BLOCK,
                        .u.log_block = {.step = step,
                                        .stream = stream,
                                        .offset = offset,
                                        .size = size,
                                        .lines = lines,
                                        .data = view_of("deflated")}};
}

static struct msg points(uint32_t step)
{
    return (struct msg){.type = REC_POINTS, .u.points = {.step = step}};
}

static struct msg step_finished(uint32_t step, uint32_t result)
{
    return (struct msg){.type = REC_STEP_FINISHED,
                        .u.step_finished = {.step = step, .result = result}};
}

static struct msg finished(uint32_t result)
{
    return (struct msg){.type = REC_ATTEMPT_FINISHED, .u.attempt_finished = {.result = result}};
}

/* A whole attempt of three steps: one succeeds, one fails, one is skipped. */
enum { WHOLE = 12 };

static void whole_attempt(struct msg records[WHOLE])
{
    records[0] = started();
    records[1] = step_started(1);
    records[2] = (struct msg){.type = REC_REVISION, .u.revision = {view_of("abc")}};
    records[3] = block(1, 0, 0, 100, 3);
    records[4] = block(1, 1, 0, 10, 10);
    records[5] = block(1, 0, 100, 1, 0);
    records[6] = step_finished(1, RESULT_SUCCESS);
    records[7] = step_started(2);
    records[8] = points(2);
    records[9] = step_finished(2, RESULT_FAILURE);
    records[10] = step_finished(3, RESULT_SKIPPED);
    records[11] = finished(RESULT_FAILURE);
}

static bool same(const struct fold *a, const struct fold *b)
{
    return a->last == b->last && a->started == b->started && a->finished == b->finished &&
           a->result == b->result && a->n_steps == b->n_steps &&
           memcmp(a->steps, b->steps, a->n_steps * sizeof *a->steps) == 0;
}

static struct fold copy_of(const struct fold *fold)
{
    struct fold copy = *fold;

    copy.steps = xmemdup(fold->steps, fold->n_steps * sizeof *fold->steps);
    return copy;
}

static void apply(struct fold *fold, struct msg record)
{
    struct err err = ERR_INIT;

    if (fold_apply(fold, fold->last + 1, &record, &err) != ERR_OK)
        fail_msg("%s", err.msg);
}

/* The record is refused with that sentence, and nothing changes. */
static void refuse(struct fold *fold, uint64_t number, struct msg record, enum err_code code,
                   const char *sentence)
{
    struct fold before = copy_of(fold);
    struct err err = ERR_INIT;

    assert_int_equal(fold_apply(fold, number, &record, &err), code);
    assert_string_equal(err.msg, sentence);
    assert_true(same(fold, &before));
    fold_release(&before);
}

static void a_whole_attempt(void **state)
{
    struct msg records[WHOLE];
    struct fold fold;

    (void)state;
    whole_attempt(records);
    fold_init(&fold, 3);
    for (int i = 0; i < WHOLE; i++)
        apply(&fold, records[i]);
    assert_int_equal(fold.last, WHOLE);
    assert_true(fold.started && fold.finished);
    assert_int_equal(fold.result, RESULT_FAILURE);
    assert_int_equal(fold.steps[0].result, RESULT_SUCCESS);
    assert_int_equal(fold.steps[0].log_bytes[0], 101);
    assert_int_equal(fold.steps[0].log_lines[0], 3);
    assert_int_equal(fold.steps[0].log_bytes[1], 10);
    assert_int_equal(fold.steps[0].log_lines[1], 10);
    assert_int_equal(fold.steps[1].result, RESULT_FAILURE);
    assert_int_equal(fold.steps[2].state, FOLD_STEP_FINISHED);
    assert_int_equal(fold.steps[2].result, RESULT_SKIPPED);
    fold_release(&fold);
}

/* Invariant I1: after any break, sending again from any earlier record leads to the same state. */
static void replay_from_anywhere(void **state)
{
    struct msg records[WHOLE];

    (void)state;
    whole_attempt(records);
    for (uint64_t cut = 0; cut <= WHOLE; cut++) {
        for (uint64_t from = 1; from <= cut; from++) {
            struct fold fold, before;

            fold_init(&fold, 3);
            for (uint64_t n = 1; n <= cut; n++)
                apply(&fold, records[n - 1]);
            before = copy_of(&fold);
            for (uint64_t n = from; n <= cut; n++)
                assert_int_equal(fold_apply(&fold, n, &records[n - 1], NULL), ERR_EXISTS);
            assert_true(same(&fold, &before));
            for (uint64_t n = cut + 1; n <= WHOLE; n++)
                apply(&fold, records[n - 1]);
            assert_true(fold.finished);
            fold_release(&fold);
            fold_release(&before);
        }
    }
}

static void order(void **state)
{
    struct fold fold;

    (void)state;
    fold_init(&fold, 2);
    refuse(&fold, 0, started(), ERR_PROTO, "record 0 (ATTEMPT_STARTED): records count from 1");
    refuse(&fold, 2, started(), ERR_PROTO, "record 2 (ATTEMPT_STARTED): the newest record is 0");
    refuse(&fold, 1, step_started(1), ERR_PROTO,
           "record 1 (STEP_STARTED): the attempt has not started");
    refuse(&fold, 1, finished(RESULT_SUCCESS), ERR_PROTO,
           "record 1 (ATTEMPT_FINISHED): the attempt has not started");
    apply(&fold, started());
    refuse(&fold, 1, started(), ERR_EXISTS, "record 1 (ATTEMPT_STARTED): the newest record is 1");
    refuse(&fold, 2, started(), ERR_PROTO,
           "record 2 (ATTEMPT_STARTED): the attempt has started already");
    refuse(&fold, UINT64_MAX, step_started(1), ERR_PROTO,
           "record 18446744073709551615 (STEP_STARTED): the newest record is 1");
    apply(&fold, finished(RESULT_CANCELLED));
    refuse(&fold, 3, step_started(1), ERR_PROTO,
           "record 3 (STEP_STARTED): the attempt has finished");
    fold_release(&fold);
}

static void messages_are_no_records(void **state)
{
    struct fold fold;

    (void)state;
    fold_init(&fold, 1);
    apply(&fold, started());
    refuse(&fold, 2, (struct msg){.type = MSG_PING}, ERR_PROTO, "record 2 (PING): it is no record");
    refuse(&fold, 2, (struct msg){.type = MSG_NONE}, ERR_PROTO, "record 2 (?): it is no record");
    fold_release(&fold);
}

static void steps(void **state)
{
    struct fold fold;

    (void)state;
    fold_init(&fold, 3);
    apply(&fold, started());
    refuse(&fold, 2, step_started(0), ERR_PROTO, "record 2 (STEP_STARTED): step 0 of 3");
    refuse(&fold, 2, step_started(4), ERR_PROTO, "record 2 (STEP_STARTED): step 4 of 3");
    refuse(&fold, 2, step_finished(1, RESULT_SUCCESS), ERR_PROTO,
           "record 2 (STEP_FINISHED): step 1 is waiting, not running");
    refuse(&fold, 2, points(1), ERR_PROTO, "record 2 (POINTS): step 1 is waiting, not running");
    apply(&fold, step_started(1));
    refuse(&fold, 3, step_started(1), ERR_PROTO,
           "record 3 (STEP_STARTED): step 1 is running, not waiting");
    refuse(&fold, 3, step_started(2), ERR_PROTO,
           "record 3 (STEP_STARTED): step 1 is still running");
    refuse(&fold, 3, step_finished(1, RESULT_SKIPPED), ERR_PROTO,
           "record 3 (STEP_FINISHED): step 1 is running, not waiting");
    refuse(&fold, 3, finished(RESULT_SUCCESS), ERR_PROTO,
           "record 3 (ATTEMPT_FINISHED): step 1 is still running");
    apply(&fold, step_finished(1, RESULT_SUCCESS));
    refuse(&fold, 4, step_started(1), ERR_PROTO,
           "record 4 (STEP_STARTED): step 1 is finished, not waiting");
    refuse(&fold, 4, block(1, 0, 0, 1, 0), ERR_PROTO,
           "record 4 (LOG_BLOCK): step 1 is finished, not running");
    fold_release(&fold);
}

static void results(void **state)
{
    struct fold fold;

    (void)state;
    fold_init(&fold, 1);
    apply(&fold, started());
    refuse(&fold, 2, finished(RESULT_NONE), ERR_PROTO,
           "record 2 (ATTEMPT_FINISHED): result 0 is none");
    refuse(&fold, 2, finished(RESULT_LAST + 1), ERR_PROTO,
           "record 2 (ATTEMPT_FINISHED): result 7 is none");
    apply(&fold, step_started(1));
    refuse(&fold, 3, step_finished(1, RESULT_NONE), ERR_PROTO,
           "record 3 (STEP_FINISHED): result 0 is none");
    refuse(&fold, 3, step_finished(1, UINT32_MAX), ERR_PROTO,
           "record 3 (STEP_FINISHED): result 4294967295 is none");
    fold_release(&fold);
}

static void blocks(void **state)
{
    struct msg no_data = block(1, 0, 0, 1, 0);
    struct fold fold;

    (void)state;
    no_data.u.log_block.data = VIEW_NULL;
    fold_init(&fold, 1);
    apply(&fold, started());
    apply(&fold, step_started(1));
    refuse(&fold, 3, block(1, 0, 1, 1, 0), ERR_PROTO,
           "record 3 (LOG_BLOCK): a log block at offset 1 where the log ends at 0");
    refuse(&fold, 3, block(1, 2, 0, 1, 0), ERR_PROTO, "record 3 (LOG_BLOCK): stream 2 of a log");
    refuse(&fold, 3, block(1, 0, 0, 0, 0), ERR_PROTO,
           "record 3 (LOG_BLOCK): a log block of 0 bytes, 1 to 131072");
    refuse(&fold, 3, block(1, 0, 0, FOLD_BLOCK_MAX_BYTES + 1, 0), ERR_PROTO,
           "record 3 (LOG_BLOCK): a log block of 131073 bytes, 1 to 131072");
    refuse(&fold, 3, no_data, ERR_PROTO,
           "record 3 (LOG_BLOCK): a log block of 1 bytes without data");
    refuse(&fold, 3, block(1, 0, 0, 5, 6), ERR_PROTO,
           "record 3 (LOG_BLOCK): 6 lines in a log block of 5 bytes");
    apply(&fold, block(1, 0, 0, FOLD_BLOCK_MAX_BYTES, FOLD_BLOCK_MAX_BYTES));
    refuse(&fold, 4, block(1, 0, 0, 5, 0), ERR_PROTO,
           "record 4 (LOG_BLOCK): a log block at offset 0 where the log ends at 131072");
    fold_release(&fold);
}

static struct msg revision(struct view text)
{
    return (struct msg){.type = REC_REVISION, .u.revision = {text}};
}

static void revisions(void **state)
{
    struct fold fold;

    (void)state;
    fold_init(&fold, 1);
    apply(&fold, started());
    refuse(&fold, 2, revision(view_of("")), ERR_PROTO,
           "record 2 (REVISION): a revision that is empty or begins with '-'");
    refuse(&fold, 2, revision(view_of("--upload-pack=touch")), ERR_PROTO,
           "record 2 (REVISION): byte 0x3d in a revision");
    refuse(&fold, 2, revision(view_of("-x")), ERR_PROTO,
           "record 2 (REVISION): a revision that is empty or begins with '-'");
    refuse(&fold, 2, revision(view_of("ab\n")), ERR_PROTO,
           "record 2 (REVISION): byte 0x0a in a revision");
    refuse(&fold, 2, revision(view_bytes("a\0b", 3)), ERR_PROTO,
           "record 2 (REVISION): byte 0x00 in a revision");
    apply(&fold, revision(view_of("v1.2_x/y-z")));
    fold_release(&fold);
}

static void no_steps(void **state)
{
    struct fold fold;

    (void)state;
    fold_init(&fold, 0);
    apply(&fold, started());
    refuse(&fold, 2, step_started(1), ERR_PROTO, "record 2 (STEP_STARTED): step 1 of 0");
    apply(&fold, finished(RESULT_EXCEPTION));
    fold_release(&fold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_attempt), cmocka_unit_test(replay_from_anywhere),
        cmocka_unit_test(order),           cmocka_unit_test(messages_are_no_records),
        cmocka_unit_test(steps),           cmocka_unit_test(results),
        cmocka_unit_test(blocks),          cmocka_unit_test(no_steps),
        cmocka_unit_test(revisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

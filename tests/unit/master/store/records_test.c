/* Journal records in the store: each once and in order, whatever is sent twice. */
#include <sys/stat.h>

#include "tests/unit/master/store/rig.h"

static void begin(struct rig *rig, size_t n_steps)
{
    store_post(rig->store, create_op(rig, 1, "unit", "main"));
    post_attempt(rig, 1, n_steps);
    rig_wait(rig);
    rig->n_done = 0;
}

static struct msg log_block(struct cutter *cutter, const char *text)
{
    struct msg msg = {.type = REC_LOG_BLOCK};

    msg.u.log_block = cutter_cut(cutter, text, strlen(text));
    return msg;
}

static void check_log(struct rig *rig, const char *wanted)
{
    const struct log_name name = {.build = 1, .attempt = 1, .step = 1};
    struct step_info step = read_step(rig, 1, 1);
    struct log_reader *reader = log_reader_new(rig->data);
    struct log_view *view = NULL;
    char out[256];
    size_t got = 0;

    assert_int_equal(step.log[0].bytes, strlen(wanted));
    assert_int_equal(log_view_open(reader, name, &step.log[0], &view, NULL), ERR_OK);
    assert_int_equal(log_view_read(view, 0, out, sizeof out, &got, NULL), ERR_OK);
    assert_int_equal(got, strlen(wanted));
    assert_memory_equal(out, wanted, got);
    log_view_close(view);
    log_reader_free(reader);
    step_info_release(&step);
}

static void test_a_whole_attempt(void **state)
{
    struct rig *rig = *state;
    struct cutter *cutter = cutter_new();
    struct attempt_info attempt;
    struct store_op *end;
    struct step_info step;
    struct msg msg = {.type = REC_ATTEMPT_STARTED};

    begin(rig, 2);
    post_record(rig, 1, 1, &msg);
    msg = step_started(1);
    post_record(rig, 1, 2, &msg);
    msg = log_block(cutter, "hello\n");
    post_record(rig, 1, 3, &msg);
    msg = step_finished(1, RESULT_FAILURE, 2);
    post_record(rig, 1, 4, &msg);
    msg = step_finished(2, RESULT_SKIPPED, -1);
    post_record(rig, 1, 5, &msg);
    msg = attempt_finished(RESULT_FAILURE, false);
    post_record(rig, 1, 6, &msg);
    end = build_row_op(rig, STORE_ATTEMPT_END, 1, BUILD_FINISHED, RESULT_FAILURE);
    end->attempt.result = RESULT_FAILURE;
    end->attempt.finished_ms = 3100;
    store_post(rig->store, end);
    rig_wait(rig);
    for (size_t i = 0; i < rig->n_done; i++)
        assert_int_equal(rig->rcs[i], ERR_OK);
    step = read_step(rig, 1, 1);
    assert_int_equal(step.state, STEP_FINISHED);
    assert_int_equal(step.result, RESULT_FAILURE);
    assert_true(step.has_exit && step.exit_code == 2);
    assert_string_equal(step.reason, "exit code");
    assert_int_equal(step.started_ms, 2100);
    assert_int_equal(step.finished_ms, 2900);
    assert_true(step.user_s == 1.5 && step.system_s == 0.25 && step.max_rss_bytes == 4096);
    assert_int_equal(step.log[0].lines, 1);
    step_info_release(&step);
    step = read_step(rig, 1, 2);
    assert_int_equal(step.result, RESULT_SKIPPED);
    assert_false(step.has_exit);
    step_info_release(&step);
    attempt = read_attempt(rig, 1);
    assert_int_equal(attempt.last, 6);
    assert_int_equal(attempt.finished_ms, 3100);
    assert_int_equal(attempt.result, RESULT_FAILURE);
    attempt_info_release(&attempt);
    check_log(rig, "hello\n");
    cutter_free(cutter);
}

static void test_replay_changes_nothing(void **state)
{
    struct rig *rig = *state;
    struct store_snapshot snapshot;
    struct cutter *cutter = cutter_new();
    struct msg started = step_started(1);
    struct msg block;

    begin(rig, 1);
    block = log_block(cutter, "once\n");
    for (int i = 0; i < 3; i++) {
        post_record(rig, 1, 1, &started);
        post_record(rig, 1, 2, &block);
        rig_wait(rig);
    }
    rig_restart(rig, &snapshot);
    assert_int_equal(snapshot.attempts[0].last, 2);
    store_snapshot_release(&snapshot);
    post_record(rig, 1, 2, &block);
    rig_wait(rig);
    for (size_t i = 0; i < rig->n_done; i++)
        assert_int_equal(rig->rcs[i], ERR_OK);
    check_log(rig, "once\n");
    cutter_free(cutter);
}

static void test_gap_is_refused(void **state)
{
    struct rig *rig = *state;
    struct attempt_info attempt;
    struct msg msg = step_started(1);

    begin(rig, 1);
    post_record(rig, 1, 1, &msg);
    msg = step_finished(1, RESULT_SUCCESS, 0);
    post_record(rig, 1, 3, &msg);
    post_record(rig, 2, 1, &msg); /* of no attempt */
    rig_wait(rig);
    assert_int_equal(rig->rcs[0], ERR_OK);
    assert_int_equal(rig->rcs[1], ERR_PROTO);
    assert_int_equal(rig->rcs[2], ERR_PROTO);
    attempt = read_attempt(rig, 1);
    assert_int_equal(attempt.last, 1);
    attempt_info_release(&attempt);
}

static void test_what_cannot_be_is_refused(void **state)
{
    struct rig *rig = *state;
    struct cutter *cutter = cutter_new();
    struct store_op *garbage;
    struct msg msg;

    begin(rig, 1);
    msg = step_started(0);
    post_record(rig, 1, 1, &msg);
    msg = step_started(2);
    post_record(rig, 1, 1, &msg);
    msg = log_block(cutter, "abc");
    msg.u.log_block.offset = 1;
    post_record(rig, 1, 1, &msg);
    garbage = rig_op(rig, STORE_RECORD);
    garbage->attempt.build_id = garbage->attempt.attempt = 1;
    garbage->number = 1;
    garbage->body = xstrdup("\xc1");
    garbage->body_bytes = 1;
    store_post(rig->store, garbage);
    msg = step_started(1);
    post_record(rig, 1, 1, &msg);
    rig_wait(rig);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rig->rcs[i], ERR_PROTO);
    assert_int_equal(rig->rcs[4], ERR_OK);
    cutter_free(cutter);
}

static void test_ended_attempt_takes_no_record(void **state)
{
    struct rig *rig = *state;
    struct store_op *end;
    struct step_info step;
    struct msg msg = step_started(1);

    begin(rig, 3);
    post_record(rig, 1, 1, &msg);
    end = build_row_op(rig, STORE_ATTEMPT_END, 1, BUILD_QUEUED, RESULT_NONE);
    end->attempt.lost = true;
    end->attempt.result = RESULT_EXCEPTION;
    end->attempt.reason = xstrdup("out of touch");
    end->attempt.finished_ms = 4000;
    store_post(rig->store, end);
    rig_wait(rig);
    post_record(rig, 1, 1, &msg);
    post_record(rig, 1, 2, &msg);
    rig_wait(rig);
    assert_int_equal(rig->rcs[2], ERR_OK);
    assert_int_equal(rig->rcs[3], ERR_PROTO);
    step = read_step(rig, 1, 1);
    assert_int_equal(step.state, STEP_FINISHED);
    assert_int_equal(step.result, RESULT_EXCEPTION);
    assert_string_equal(step.reason, "out of touch");
    assert_int_equal(step.finished_ms, 4000);
    step_info_release(&step);
    step = read_step(rig, 1, 3);
    assert_int_equal(step.state, STEP_FINISHED);
    assert_int_equal(step.result, RESULT_SKIPPED);
    step_info_release(&step);
}

static void test_end_of_an_unknown_attempt_still_writes_the_build(void **state)
{
    struct rig *rig = *state;
    struct build_info build;

    store_post(rig->store, create_op(rig, 1, "unit", "main"));
    store_post(rig->store,
               build_row_op(rig, STORE_ATTEMPT_END, 1, BUILD_FINISHED, RESULT_CANCELLED));
    rig_wait(rig);
    assert_int_equal(rig->rcs[1], ERR_NOTFOUND);
    build = read_build(rig, 1);
    assert_int_equal(build.result, RESULT_CANCELLED);
    build_info_release(&build);
}

static void post_revision(struct rig *rig, uint64_t number, const char *revision)
{
    struct msg msg = {.type = REC_REVISION};

    msg.u.revision.revision = view_of(revision);
    post_record(rig, 1, number, &msg);
}

static void test_revision_is_kept(void **state)
{
    struct rig *rig = *state;
    struct build_info build;

    begin(rig, 1);
    post_revision(rig, 1, "abc");
    post_revision(rig, 2, "def");
    /* A row that was made before the revision was known. */
    store_post(rig->store, build_row_op(rig, STORE_BUILD, 1, BUILD_DETACHED, RESULT_NONE));
    rig_wait(rig);
    build = read_build(rig, 1);
    assert_string_equal(build.revision, "abc");
    assert_int_equal(build.state, BUILD_DETACHED);
    build_info_release(&build);
}

/* A crash after the log was written and before the commit: the file is longer than the database
 * knows. */
static void test_crash_between_append_and_commit(void **state)
{
    const struct log_name name = {.build = 1, .attempt = 1, .step = 1};
    struct rig *rig = *state;
    struct cutter *cutter = cutter_new();
    struct store_snapshot snapshot;
    struct msg first = log_block(cutter, "first\n");
    struct msg_log_block extra;
    struct log_writer *writer;
    struct step_info step;

    begin(rig, 1);
    post_record(rig, 1, 1, &first);
    rig_wait(rig);
    step = read_step(rig, 1, 1);
    writer = log_writer_new(rig->data);
    extra = cutter_cut(cutter, "second, written and not committed\n", 34);
    assert_int_equal(log_writer_append(writer, name, &extra, &step.log[0], NULL), ERR_OK);
    log_writer_free(writer);
    step_info_release(&step);
    rig_restart(rig, &snapshot);
    assert_int_equal(snapshot.attempt_steps[0][0].log[0].bytes, 6);
    store_snapshot_release(&snapshot);
    check_log(rig, "first\n");
    cutter->offset = 6;
    first = log_block(cutter, "2nd\n");
    post_record(rig, 1, 2, &first);
    rig_wait(rig);
    check_log(rig, "first\n2nd\n");
    cutter_free(cutter);
}

static void test_both_streams(void **state)
{
    struct rig *rig = *state;
    struct cutter *cutter = cutter_new();
    struct step_info step;
    struct msg msg;

    begin(rig, 1);
    msg = log_block(cutter, "to stderr\n");
    msg.u.log_block.stream = 1;
    post_record(rig, 1, 1, &msg);
    rig_wait(rig);
    step = read_step(rig, 1, 1);
    assert_int_equal(step.log[0].bytes, 0);
    assert_int_equal(step.log[1].bytes, 10);
    step_info_release(&step);
    cutter_free(cutter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_whole_attempt, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_replay_changes_nothing, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_gap_is_refused, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_is_refused, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_ended_attempt_takes_no_record, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_end_of_an_unknown_attempt_still_writes_the_build,
                                        rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_revision_is_kept, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_crash_between_append_and_commit, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_both_streams, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

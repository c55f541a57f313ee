/* A disk that takes nothing more: nothing is acknowledged, nothing is lost, and all goes on when
 * there is room. The limit on the size of a file stands in for the full disk. */
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/master/store/rig.h"

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int disk_setup(void **state)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    return rig_setup(state);
}

static int disk_teardown(void **state)
{
    limit_files(RLIM_INFINITY);
    return rig_teardown(state);
}

static void wait_for_trouble(struct rig *rig)
{
    while (rig->healths == 0)
        loop_run_once(&rig->loop, true);
    assert_true(strlen(rig->health) > 0);
}

static void test_database_recovers(void **state)
{
    struct rig *rig = *state;
    struct build_info build;

    store_post(rig->store, create_op(rig, 1, "unit", "main"));
    rig_wait(rig);
    limit_files(1);
    store_post(rig->store, create_op(rig, 2, "unit", "main"));
    wait_for_trouble(rig);
    assert_int_equal(rig->n_done, 1);
    assert_int_equal(store_backlog(rig->store), 1);
    store_post(rig->store, create_op(rig, 3, "unit", "main"));
    limit_files(RLIM_INFINITY);
    rig_wait(rig);
    assert_int_equal(rig->healths, 2);
    assert_string_equal(rig->health, "");
    assert_int_equal(rig->n_done, 3);
    for (uint64_t id = 1; id <= 3; id++) {
        assert_int_equal(rig->rcs[id - 1], ERR_OK);
        assert_int_equal(rig->done[id - 1], id);
        build = read_build(rig, id);
        build_info_release(&build);
    }
}

/* The log's file takes part of the block: it is cut back and written again, whole. */
static void test_log_recovers(void **state)
{
    struct rig *rig = *state;
    struct cutter *cutter = cutter_new();
    struct msg msg = {.type = REC_LOG_BLOCK};
    struct step_info step;
    struct log_reader *reader = log_reader_new(rig->data);
    struct log_view *view = NULL;
    static char bytes[60000], out[sizeof bytes];
    uint32_t seed = 1;
    size_t got;

    for (size_t i = 0; i < sizeof bytes; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (char)(seed >> 24);
    }
    store_post(rig->store, create_op(rig, 1, "unit", "main"));
    post_attempt(rig, 1, 1);
    rig_wait(rig);
    limit_files(20000);
    msg.u.log_block = cutter_cut(cutter, bytes, sizeof bytes);
    post_record(rig, 1, 1, &msg);
    wait_for_trouble(rig);
    step = read_step(rig, 1, 1);
    assert_int_equal(step.log[0].bytes, 0);
    step_info_release(&step);
    limit_files(RLIM_INFINITY);
    rig_wait(rig);
    step = read_step(rig, 1, 1);
    assert_int_equal(log_view_open(reader, (struct log_name){.build = 1, .attempt = 1, .step = 1},
                                   &step.log[0], &view, NULL),
                     ERR_OK);
    assert_int_equal(log_view_read(view, 0, out, sizeof out, &got, NULL), ERR_OK);
    assert_int_equal(got, sizeof bytes);
    assert_memory_equal(out, bytes, sizeof bytes);
    step_info_release(&step);
    log_view_close(view);
    log_reader_free(reader);
    cutter_free(cutter);
}

/* Stopping does not wait for a disk that stays full; what was not durable was not acknowledged. */
static void test_stop_gives_up(void **state)
{
    struct rig *rig = *state;
    struct store_snapshot snapshot;

    limit_files(1);
    store_post(rig->store, create_op(rig, 1, "unit", "main"));
    wait_for_trouble(rig);
    store_post(rig->store, create_op(rig, 2, "unit", "main"));
    store_stop(rig->store, 0, rig_on_closed);
    store_post(rig->store, create_op(rig, 3, "unit", "main"));
    while (!rig->closed)
        loop_run_once(&rig->loop, true);
    assert_int_equal(rig->n_done, 0);
    store_free(rig->store);
    loop_release(&rig->loop);
    limit_files(RLIM_INFINITY);
    rig_open(rig);
    assert_int_equal(store_load(rig->store, &snapshot, NULL), ERR_OK);
    assert_int_equal(snapshot.last_build, 0);
    store_snapshot_release(&snapshot);
    rig_start(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_database_recovers, disk_setup, disk_teardown),
        cmocka_unit_test_setup_teardown(test_log_recovers, disk_setup, disk_teardown),
        cmocka_unit_test_setup_teardown(test_stop_gives_up, disk_setup, disk_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

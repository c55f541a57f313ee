#include "tests/unit/master/store/rig.h"

#include "master/store/db.h"

static void exec_sql(struct rig *rig, const char *sql)
{
    char *path = fs_join(rig->data, "tailrace.db");
    sqlite3 *handle = NULL;

    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(handle);
    free(path);
}

static int64_t ask_number(struct rig *rig, const char *sql)
{
    char *path = fs_join(rig->data, "tailrace.db");
    sqlite3 *handle = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t number = -1;

    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(handle);
    free(path);
    return number;
}

static void test_new_database(void **state)
{
    struct rig *rig = *state;
    struct store_snapshot snapshot;

    rig_restart(rig, &snapshot);
    assert_int_equal(snapshot.last_build, 0);
    assert_int_equal(snapshot.n_builds + snapshot.n_heads + snapshot.n_waits, 0);
    store_snapshot_release(&snapshot);
    assert_true(ask_number(rig, "PRAGMA user_version") >= 1);
}

static void test_newer_database_is_refused(void **state)
{
    struct rig *rig = *state;
    struct store *store = NULL;
    struct reader *reader = NULL;
    struct err err = ERR_INIT;

    rig_stop(rig);
    exec_sql(rig, "PRAGMA user_version = 999");
    assert_int_equal(store_open(rig->data, &store, &err), ERR_CONFIG);
    assert_non_null(strstr(err.msg, "version 999"));
    assert_non_null(strstr(err.msg, rig->data));
    assert_int_equal(reader_open(rig->data, &reader, &err), ERR_CONFIG);
    assert_int_equal(ask_number(rig, "PRAGMA user_version"), 999);
}

static void test_second_master_is_refused(void **state)
{
    struct rig *rig = *state;
    struct store *second = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(store_open(rig->data, &second, &err), ERR_EXISTS);
    assert_null(second);
    assert_non_null(strstr(err.msg, "another master"));
}

static void test_no_database_is_an_error_for_a_reader(void **state)
{
    struct reader *reader = NULL;
    struct err err = ERR_INIT;
    char *empty = folder_new();

    (void)state;
    assert_int_equal(reader_open(empty, &reader, &err), ERR_IO);
    assert_non_null(strstr(err.msg, empty));
    folder_remove(empty);
}

static void test_done_in_order_after_the_batch(void **state)
{
    struct rig *rig = *state;

    for (uint64_t id = 1; id <= 200; id++)
        store_post(rig->store, create_op(rig, id, "unit", "main"));
    store_post(rig->store, rig_op(rig, STORE_BARRIER));
    assert_int_equal(store_backlog(rig->store), 201);
    rig_wait(rig);
    assert_int_equal(rig->n_done, 201);
    for (uint64_t id = 1; id <= 200; id++)
        assert_int_equal(rig->done[id - 1], id);
    assert_true(rig->batches >= 1 && rig->batches < 200);
    assert_int_equal(ask_number(rig, "SELECT count(*) FROM builds"), 200);
    assert_int_equal(rig->healths, 0);
}

static void test_stop_finishes_what_is_queued(void **state)
{
    struct rig *rig = *state;

    for (uint64_t id = 1; id <= 50; id++)
        store_post(rig->store, create_op(rig, id, "unit", "main"));
    rig_stop(rig);
    assert_int_equal(rig->n_done, 50);
    assert_int_equal(ask_number(rig, "SELECT count(*) FROM builds"), 50);
}

/* What breaks the database's rules is refused alone: what stands around it in the batch is kept. */
static void test_impossible_operation_does_not_take_others_along(void **state)
{
    struct rig *rig = *state;
    struct store_op *twice;

    store_post(rig->store, create_op(rig, 1, "unit", "main"));
    twice = create_op(rig, 2, "unit", "main");
    twice->builds->id = 1;
    store_post(rig->store, twice);
    store_post(rig->store, create_op(rig, 3, "unit", "main"));
    rig_wait(rig);
    assert_int_equal(rig->rcs[0], ERR_OK);
    assert_int_equal(rig->rcs[1], ERR_PROTO);
    assert_int_equal(rig->rcs[2], ERR_OK);
    assert_int_equal(ask_number(rig, "SELECT count(*) FROM builds"), 2);
    assert_int_equal(ask_number(rig, "SELECT count(*) FROM sets"), 2);
}

static struct store_op *change_op(struct rig *rig, uint64_t id, const char *revision)
{
    struct store_op *op = create_op(rig, id, "unit", "main");

    op->change.id = id + 100;
    op->change.set_id = id;
    op->change.project = xstrdup("sds");
    op->change.branch = xstrdup("main");
    op->change.revision = xstrdup(revision);
    return op;
}

static void test_change_is_made_once(void **state)
{
    struct rig *rig = *state;

    store_post(rig->store, change_op(rig, 1, "aaa"));
    store_post(rig->store, change_op(rig, 2, "aaa"));
    rig_wait(rig);
    assert_int_equal(rig->rcs[0], ERR_OK);
    assert_int_equal(rig->rcs[1], ERR_EXISTS);
    assert_int_equal(rig->last.existing_change, 101);
    assert_int_equal(rig->last.existing_set, 1);
    assert_int_equal(ask_number(rig, "SELECT count(*) FROM builds"), 1);
}

/* A branch that is moved back builds the old revision again. */
static void test_branch_moved_back_is_a_new_change(void **state)
{
    struct rig *rig = *state;

    store_post(rig->store, change_op(rig, 1, "aaa"));
    store_post(rig->store, change_op(rig, 2, "bbb"));
    store_post(rig->store, change_op(rig, 3, "aaa"));
    rig_wait(rig);
    assert_int_equal(rig->rcs[2], ERR_OK);
    assert_int_equal(ask_number(rig, "SELECT count(*) FROM changes"), 3);
}

static struct store_op *keyed_op(struct rig *rig, uint64_t id, int64_t at_ms)
{
    struct store_op *op = create_op(rig, id, "unit", "main");

    op->idempotency_key = xstrdup("the key");
    op->set.created_ms = at_ms;
    return op;
}

static void test_key_is_known_for_a_week(void **state)
{
    const int64_t week_ms = 7LL * 24 * 3600 * 1000;
    struct rig *rig = *state;

    store_post(rig->store, keyed_op(rig, 1, 1000));
    store_post(rig->store, keyed_op(rig, 2, 1000 + week_ms));
    rig_wait(rig);
    assert_int_equal(rig->rcs[1], ERR_EXISTS);
    assert_int_equal(rig->last.existing_build, 1);
    assert_int_equal(rig->last.existing_set, 1);
    store_post(rig->store, keyed_op(rig, 3, 1001 + week_ms));
    rig_wait(rig);
    assert_int_equal(rig->rcs[2], ERR_OK);
    assert_int_equal(ask_number(rig, "SELECT count(*) FROM keys"), 1);
    assert_int_equal(ask_number(rig, "SELECT build FROM keys"), 3);
}

static void post_head(struct rig *rig, const char *branch, const char *revision)
{
    struct store_op *op = rig_op(rig, STORE_HEAD);

    op->project = xstrdup("sds");
    op->branch = xstrdup(branch);
    op->revision = dup_or_null(revision);
    store_post(rig->store, op);
}

static void post_flags(struct rig *rig, const char *name, bool flag)
{
    struct store_op *op = rig_op(rig, STORE_SLAVE);

    op->slave.name = xstrdup(name);
    op->flag = flag;
    store_post(rig->store, op);
    op = rig_op(rig, STORE_POOL);
    op->pool = xstrdup(name);
    op->flag = flag;
    store_post(rig->store, op);
}

static void test_snapshot_of_heads_slaves_pools(void **state)
{
    struct rig *rig = *state;
    struct store_snapshot snapshot;

    post_head(rig, "main", "aaa");
    post_head(rig, "gone", "bbb");
    post_head(rig, "main", "ccc");
    post_head(rig, "gone", NULL);
    post_flags(rig, "a", true);
    post_flags(rig, "b", true);
    post_flags(rig, "b", false);
    rig_wait(rig);
    rig_restart(rig, &snapshot);
    assert_int_equal(snapshot.n_heads, 1);
    assert_string_equal(snapshot.heads[0].branch, "main");
    assert_string_equal(snapshot.heads[0].revision, "ccc");
    assert_int_equal(snapshot.n_drained, 1);
    assert_string_equal(snapshot.drained_slaves[0], "a");
    assert_int_equal(snapshot.n_paused, 1);
    assert_string_equal(snapshot.paused_pools[0], "a");
    store_snapshot_release(&snapshot);
}

static void test_snapshot_of_builds(void **state)
{
    struct rig *rig = *state;
    struct store_snapshot snapshot;
    struct store_op *op;
    struct msg msg;

    for (uint64_t id = 1; id <= 4; id++)
        store_post(rig->store, create_op(rig, id, "unit", "main"));
    post_attempt(rig, 2, 3);
    msg = step_started(1);
    post_record(rig, 2, 1, &msg);
    store_post(rig->store, build_row_op(rig, STORE_BUILD, 1, BUILD_FINISHED, RESULT_FAILURE));
    op = create_op(rig, 5, "after", "main");
    op->builds->state = BUILD_WAITING;
    op->waits = xcalloc(2, sizeof *op->waits);
    op->n_waits = 2;
    op->waits[0][0] = op->waits[1][0] = 5;
    op->waits[0][1] = 1;
    op->waits[1][1] = 3;
    store_post(rig->store, op);
    rig_wait(rig);
    rig_restart(rig, &snapshot);
    assert_int_equal(snapshot.last_build, 5);
    assert_int_equal(snapshot.last_set, 5);
    assert_int_equal(snapshot.n_builds, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(snapshot.builds[i].id, i + 2);
    assert_int_equal(snapshot.builds[0].state, BUILD_RUNNING);
    assert_string_equal(snapshot.builds[0].slave, "linux-1");
    assert_int_equal(snapshot.n_attempts, 1);
    assert_int_equal(snapshot.attempts[0].build_id, 2);
    assert_int_equal(snapshot.attempts[0].last, 1);
    assert_int_equal(snapshot.attempts[0].n_steps, 3);
    assert_int_equal(snapshot.attempt_steps[0][0].state, STEP_RUNNING);
    assert_string_equal(snapshot.attempt_steps[0][2].name, "step-3");
    assert_int_equal(snapshot.n_waits, 2);
    assert_int_equal(snapshot.waits[0][1], 1);
    assert_int_equal(snapshot.wait_results[0], RESULT_FAILURE);
    assert_int_equal(snapshot.waits[1][1], 3);
    assert_int_equal(snapshot.wait_results[1], RESULT_NONE);
    store_snapshot_release(&snapshot);
}

/* The attempt's last record is on the disk, its ATTEMPT_END is not: the build has ended all the
 * same. */
static void test_load_concludes_a_finished_attempt(void **state)
{
    struct rig *rig = *state;
    struct store_snapshot snapshot;
    struct build_info build;
    struct msg msg = attempt_finished(RESULT_WARNINGS, false);

    store_post(rig->store, create_op(rig, 1, "unit", "main"));
    post_attempt(rig, 1, 1);
    post_record(rig, 1, 1, &msg);
    rig_wait(rig);
    for (int i = 0; i < 2; i++) {
        rig_restart(rig, &snapshot);
        assert_int_equal(snapshot.n_builds, 0);
        assert_int_equal(snapshot.n_attempts, 0);
        store_snapshot_release(&snapshot);
    }
    build = read_build(rig, 1);
    assert_int_equal(build.state, BUILD_FINISHED);
    assert_int_equal(build.result, RESULT_WARNINGS);
    assert_int_equal(build.finished_ms, 3000);
    build_info_release(&build);
}

static void test_load_leaves_an_interrupted_attempt_out(void **state)
{
    struct rig *rig = *state;
    struct store_snapshot snapshot;
    struct msg msg = attempt_finished(RESULT_EXCEPTION, true);

    store_post(rig->store, create_op(rig, 1, "unit", "main"));
    post_attempt(rig, 1, 1);
    post_record(rig, 1, 1, &msg);
    rig_wait(rig);
    rig_restart(rig, &snapshot);
    assert_int_equal(snapshot.n_builds, 1);
    assert_int_equal(snapshot.n_attempts, 0);
    store_snapshot_release(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new_database, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_newer_database_is_refused, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_second_master_is_refused, rig_setup, rig_teardown),
        cmocka_unit_test(test_no_database_is_an_error_for_a_reader),
        cmocka_unit_test_setup_teardown(test_done_in_order_after_the_batch, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_stop_finishes_what_is_queued, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_impossible_operation_does_not_take_others_along,
                                        rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_change_is_made_once, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_branch_moved_back_is_a_new_change, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_key_is_known_for_a_week, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_snapshot_of_heads_slaves_pools, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_snapshot_of_builds, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_load_concludes_a_finished_attempt, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_load_leaves_an_interrupted_attempt_out, rig_setup,
                                        rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What happens while nobody takes the output: a spool without room, a disk without room. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/fsx.h"
#include "common/io/timer.h"
#include "slave/recorder.h"
#include "slave/spool.h"
#include "tests/unit/slave/attempt_rig.h"

enum { OUTPUT_BYTES = 6000000 };

/* Bytes that do not compress, and what they are. */
static void check_output(struct rig *rig)
{
    struct str file = STR_INIT(1 << 24);
    struct err err = ERR_INIT;
    char *path = rig_path(rig, "work/b/src/f");

    assert_int_equal(fs_read(path, &file, &err), ERR_OK);
    assert_int_equal(file.n, OUTPUT_BYTES);
    assert_true(view_equal(str_view(&file), str_view(&rig->steps[1].log[0])));
    str_release(&file);
    free(path);
}

static const char noise[] = "head -c 6000000 /dev/urandom > f; cat f";

static void tick(struct timer *timer, void *owner)
{
    bool *fired = owner;

    (void)timer;
    *fired = true;
}

/* Runs the loop for so long, without reading the journal. */
static void pass_time(struct rig *rig, uint64_t ms)
{
    struct timer timer;
    bool fired = false;

    timer_init(&timer, &rig->loop, tick, &fired);
    timer_start(&timer, ms, 0);
    while (!fired)
        loop_run_once(&rig->loop, true);
}

static void until_held(struct rig *rig)
{
    while (spool_has_room(rig->spool))
        loop_run_once(&rig->loop, true);
}

static void test_a_full_spool_holds_the_child_back(void **state)
{
    struct msg_step steps[] = {rig_shell("loud", noise)};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;
    uint64_t last;

    (void)state;
    steps[0].idle_timeout_ms = 300; /* does not count while we hold the child back */
    steps[0].timeout_ms = 20 * 1000;
    rig_open(&rig);
    rig.spool_limit_bytes = 1 << 20;
    rig_start(&rig, &job);
    until_held(&rig);
    pass_time(&rig, 10);
    last = journal_last(rig.journal);
    pass_time(&rig, 700);
    assert_int_equal(journal_last(rig.journal), last);
    assert_non_null(rig.runner);
    rig_finish(&rig);
    assert_int_equal(rig.result, RESULT_SUCCESS);
    check_output(&rig);
    rig_close(&rig);
}

static void test_cancel_while_held_back(void **state)
{
    struct msg_step steps[] = {rig_shell("loud", "cat /dev/urandom")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig.spool_limit_bytes = 1 << 20;
    rig_start(&rig, &job);
    until_held(&rig);
    runner_cancel(rig.runner, "enough");
    while (rig_strays(&rig) > 0)
        loop_run_once(&rig.loop, true);
    rig_finish(&rig);
    assert_int_equal(rig.result, RESULT_CANCELLED);
    rig_close(&rig);
}

static void test_forget_while_held_back(void **state)
{
    struct msg_step steps[] = {rig_shell("loud", "cat /dev/urandom")};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;
    uint64_t last;

    (void)state;
    rig_open(&rig);
    rig.spool_limit_bytes = 1 << 20;
    rig_start(&rig, &job);
    until_held(&rig);
    last = journal_last(rig.journal);
    rig.keep_up = false;
    runner_forget(rig.runner);
    while (rig.runner)
        loop_run_once(&rig.loop, true);
    assert_int_equal(journal_last(rig.journal), last);
    rig_close(&rig);
}

/* A small file system of its own for the journal, as root only. */
static bool mount_small(struct rig *rig, const char *name, const char *options)
{
    char *path = rig_path(rig, name);
    bool mounted = mkdir(path, 0755) == 0 && mount("tmpfs", path, "tmpfs", 0, options) == 0;

    free(path);
    return mounted;
}

static void unmount(struct rig *rig, const char *name)
{
    char *path = rig_path(rig, name);

    assert_int_equal(umount2(path, MNT_DETACH), 0);
    free(path);
}

static void test_a_full_disk_holds_back_too(void **state)
{
    struct msg_step steps[] = {rig_shell("loud", noise)};
    struct msg_start job = rig_job(steps, 1);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    if (!mount_small(&rig, "journal", "size=2m")) {
        rig_close(&rig);
        skip();
        return;
    }
    free(rig_sh(&rig, "head -c 1500000 /dev/zero > journal/ballast"));
    rig_start(&rig, &job);
    pass_time(&rig, 1500); /* in vain */
    assert_non_null(rig.runner);
    assert_true(journal_last(rig.journal) > 2);
    free(rig_sh(&rig, "rm journal/ballast; mount -o remount,size=64m journal"));
    rig_finish(&rig); /* by itself, within a second */
    assert_int_equal(rig.result, RESULT_SUCCESS);
    check_output(&rig);
    journal_drop(rig.journal);
    rig.journal = NULL;
    unmount(&rig, "journal");
    rig_close(&rig);
}

/* A clock that can be told to be later than the system's. */
struct late_clock {
    struct clock clock; /* first */
    uint64_t by_ms;
};

static uint64_t late_mono_ms(const struct clock *clock)
{
    return clock_mono_ms(clock_system()) + ((const struct late_clock *)clock)->by_ms;
}

static int64_t late_wall_ms(const struct clock *clock)
{
    (void)clock;
    return clock_wall_ms(clock_system());
}

/* Nobody acknowledges anything, so there is never room for the log's rest; the end of the step and
 * of the attempt has its reserve. */
static void test_a_disk_that_stays_full_ends_the_build(void **state)
{
    struct msg_step steps[] = {rig_shell("loud", "echo begin; cat /dev/urandom"),
                               rig_shell("next", "true")};
    struct late_clock late = {{late_mono_ms, late_wall_ms}, 0};
    struct msg_start job = rig_job(steps, 2);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    rig.loop.clock = &late.clock;
    rig.keep_up = false;
    if (!mount_small(&rig, "journal", "size=2m")) {
        rig_close(&rig);
        skip();
        return;
    }
    rig_start(&rig, &job);
    pass_time(&rig, 1500); /* full by now */
    late.by_ms = RECORDER_PATIENCE_MS;
    rig_finish(&rig);
    assert_int_equal(rig.steps[1].result, RESULT_EXCEPTION);
    assert_non_null(strstr(rig.steps[1].reason, "the slave's disk is full"));
    assert_true(rig_log_has(&rig, 1, "begin"));
    assert_int_equal(rig.steps[2].result, RESULT_SKIPPED);
    assert_int_equal(rig.result, RESULT_EXCEPTION);
    assert_non_null(strstr(rig.reason, "the slave's disk is full"));
    assert_int_equal(rig_strays(&rig), 0);
    journal_drop(rig.journal);
    rig.journal = NULL;
    unmount(&rig, "journal");
    rig_close(&rig);
}

static void test_a_full_work_folder_is_an_exception(void **state)
{
    struct msg_step steps[] = {rig_shell("big", "head -c 8000000 /dev/zero > big"),
                               rig_shell("next", "true")};
    struct msg_start job = rig_job(steps, 2);
    struct rig rig;

    (void)state;
    rig_open(&rig);
    if (!mount_small(&rig, "work", "size=4m")) {
        rig_close(&rig);
        skip();
        return;
    }
    steps[0].on_failure = ON_FAILURE_CONTINUE; /* of what the command did */
    rig_run(&rig, &job);
    assert_int_equal(rig.steps[1].result, RESULT_EXCEPTION);
    assert_int_equal(rig.steps[1].exit_code, 1);
    assert_string_equal(rig.steps[1].reason, "the slave's disk is full (exit code 1)");
    assert_int_equal(rig.steps[2].result, RESULT_SKIPPED);
    assert_int_equal(rig.result, RESULT_EXCEPTION);
    unmount(&rig, "work");
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_spool_holds_the_child_back),
        cmocka_unit_test(test_cancel_while_held_back),
        cmocka_unit_test(test_forget_while_held_back),
        cmocka_unit_test(test_a_full_disk_holds_back_too),
        cmocka_unit_test(test_a_disk_that_stays_full_ends_the_build),
        cmocka_unit_test(test_a_full_work_folder_is_an_exception),
    };

    return cmocka_run_group_tests_name("slave/runner_room", tests, NULL, NULL);
}

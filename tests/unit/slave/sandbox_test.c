#include "slave/sandbox.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slave/child.h"
#include "slave/pscan.h"
#include "tests/unit/slave/attempt_rig.h"

enum { GRACE_MS = 10000 };

struct fixture {
    struct rig rig;
    struct sandbox *sandbox;
    struct child *child;
    struct str out;
    bool ended;
    struct child_end end;
    bool done;
    unsigned found, killed;
};

static void on_output(void *owner, enum proc_channel channel, struct view bytes)
{
    struct fixture *f = owner;

    (void)channel;
    str_put_view(&f->out, bytes);
}

static void on_ended(void *owner, const struct child_end *end)
{
    struct fixture *f = owner;

    f->ended = true;
    f->end = *end;
    f->child = NULL;
}

static const struct child_ops child_callbacks = {.on_output = on_output, .on_ended = on_ended};

static void on_done(void *owner, unsigned found, unsigned killed)
{
    struct fixture *f = owner;

    f->done = true;
    f->found = found;
    f->killed = killed;
}

static void open_fixture(struct fixture *f, bool cgroup)
{
    memset(f, 0, sizeof *f);
    rig_open(&f->rig);
    f->out.max = 1 << 20;
    f->sandbox = sandbox_new(&f->rig.loop, cgroup ? f->rig.cgroup : NULL, f->rig.mark, 7, 1, 1);
}

static void close_fixture(struct fixture *f)
{
    assert_int_equal(rig_strays(&f->rig), 0);
    sandbox_free(f->sandbox);
    str_release(&f->out);
    rig_close(&f->rig);
}

static void start(struct fixture *f, const char *text, const char *more_env)
{
    char *argv[] = {"/bin/sh", "-ec", (char *)text, NULL};
    char *env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", (char *)sandbox_env(f->sandbox),
                   (char *)more_env, NULL};
    struct child_spec spec = {.argv = argv, .env = env, .dir = f->rig.dir, .grace_ms = GRACE_MS};
    struct err err = ERR_INIT;

    assert_int_equal(
        child_start(&f->rig.loop, f->sandbox, &spec, &child_callbacks, f, &f->child, &err), ERR_OK);
}

static void until_output(struct fixture *f, const char *text)
{
    while (!strstr(str_cstr(&f->out), text))
        loop_run_once(&f->rig.loop, true);
}

static void until_ended(struct fixture *f)
{
    while (!f->ended)
        loop_run_once(&f->rig.loop, true);
}

/* A shell function: "daemon COMMAND" leaves the session and the parent behind, and is known to run
 * when it returns. */
#define DAEMON                                                                                     \
    "daemon() { rm -f up; mkfifo up; "                                                             \
    "setsid sh -c 'setsid sh -c \"echo > up; $0\" & exit' \"$1\" < /dev/null & read x < up; "      \
    "wait; }; "

static void check_daemons(bool cgroup)
{
    struct fixture f;

    open_fixture(&f, cgroup);
    start(&f,
          DAEMON "daemon 'exec sleep 300'; daemon 'exec sleep 300'; sleep 300 & echo up; exit 5",
          NULL);
    until_ended(&f);
    assert_int_equal(f.end.exit.code, 5);
    assert_int_equal(f.end.left, 3);
    assert_int_equal(f.end.killed, 0);
    close_fixture(&f);
}

static void test_daemons_are_found(void **state)
{
    (void)state;
    check_daemons(true);
    check_daemons(false);
}

static void check_stubborn(bool cgroup)
{
    struct fixture f;
    uint64_t begin;

    open_fixture(&f, cgroup);
    start(&f,
          "trap '' TERM; " DAEMON "daemon 'trap \"\" TERM; while :; do sleep 1; done'; echo up; "
          "while :; do sleep 1; done",
          NULL);
    until_output(&f, "up\n");
    begin = loop_now_ms(&f.rig.loop);
    child_stop(f.child, 300);
    until_ended(&f);
    assert_true(loop_now_ms(&f.rig.loop) - begin >= 300);
    assert_int_equal(f.end.exit.signal, SIGKILL);
    assert_true(f.end.left >= 1);
    assert_true(f.end.killed >= 2);
    close_fixture(&f);
}

static void test_what_ignores_term_is_killed_after_the_grace(void **state)
{
    (void)state;
    check_stubborn(true);
    check_stubborn(false);
}

static void test_grace_is_not_waited_for_when_all_go(void **state)
{
    struct fixture f;
    uint64_t begin;

    (void)state;
    open_fixture(&f, true);
    start(&f, "echo up; exec sleep 300", NULL);
    until_output(&f, "up\n");
    begin = loop_now_ms(&f.rig.loop);
    child_stop(f.child, 600 * 1000);
    until_ended(&f);
    assert_true(loop_now_ms(&f.rig.loop) - begin < 5000);
    assert_int_equal(f.end.exit.signal, SIGTERM);
    assert_int_equal(f.end.left, 0);
    assert_int_equal(f.end.killed, 0);
    close_fixture(&f);
}

static void test_a_second_end_shortens_the_grace(void **state)
{
    struct fixture f;
    uint64_t begin;

    (void)state;
    open_fixture(&f, true);
    start(&f, "trap '' TERM; echo up; while :; do sleep 1; done", NULL);
    until_output(&f, "up\n");
    begin = loop_now_ms(&f.rig.loop);
    child_stop(f.child, 600 * 1000);
    child_stop(f.child, 100);
    child_stop(f.child, 600 * 1000);
    until_ended(&f);
    assert_true(loop_now_ms(&f.rig.loop) - begin < 5000);
    assert_int_equal(f.end.exit.signal, SIGKILL);
    close_fixture(&f);
}

/* Each generation lives for a moment only, in a session of its own. */
static void check_forking(bool cgroup)
{
    struct fixture f;

    open_fixture(&f, cgroup);
    start(
        &f,
        "printf 'trap \"\" TERM\\nsetsid sh ./again & sleep 0.01\\n' > again; sh ./again; echo up; "
        "exec sleep 300",
        NULL);
    until_output(&f, "up\n");
    child_stop(f.child, 50);
    until_ended(&f);
    assert_true(f.end.killed >= 1);
    close_fixture(&f);
}

static void test_what_forks_away_is_caught(void **state)
{
    (void)state;
    check_forking(true);
    check_forking(false);
}

static void test_a_wiped_environment_hides_nothing(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, false);
    start(&f, DAEMON "daemon 'exec env -i /bin/sh -c \"sleep 301 & wait\"'; echo up; exit 0", NULL);
    until_ended(&f);
    assert_int_equal(f.end.exit.code, 0);
    close_fixture(&f);
    /* The daemon and its child may no longer be there under any name. */
    {
        pscan_list ours = {0};

        assert_true(pscan_descendants(&ours));
        assert_int_equal(ours.n, 0);
        vec_release(&ours);
    }
}

static void test_others_are_left_alone(void **state)
{
    struct fixture f;
    struct sandbox *other;
    pid_t pid;
    int status;

    (void)state;
    open_fixture(&f, true);
    other = sandbox_new(&f.rig.loop, f.rig.cgroup, f.rig.mark, 7, 1, 10);
    pid = fork(); /* of another step, whose mark begins like ours */
    if (pid == 0) {
        (void)execle("/bin/sleep", "sleep", "300", NULL,
                     (char *[]){(char *)sandbox_env(other), NULL});
        _exit(1);
    }
    while (!pscan_env_starts(pid, sandbox_env(other)))
        assert_int_equal(kill(pid, 0), 0);
    start(&f, "exit 0", NULL);
    until_ended(&f);
    assert_int_equal(f.end.left, 0);
    assert_int_equal(kill(pid, 0), 0);
    sandbox_end(other, 0, on_done, &f);
    while (!f.done)
        loop_run_once(&f.rig.loop, true);
    assert_int_equal(f.found, 1);
    (void)waitpid(pid, &status, 0); /* unless the loop was first */
    sandbox_free(other);
    close_fixture(&f);
}

static void test_an_empty_one_ends_at_once(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, false);
    sandbox_end(f.sandbox, GRACE_MS, on_done, &f);
    assert_false(f.done); /* from the loop only */
    while (!f.done)
        loop_run_once(&f.rig.loop, true);
    assert_int_equal(f.found, 0);
    assert_int_equal(f.killed, 0);
    close_fixture(&f);
}

/* A process with this mark, which nobody waits for. */
static void spawn_stray(struct rig *rig, const char *mark)
{
    char *text = xasprintf("rm -f up; mkfifo up; export %s; "
                           "setsid sh -c 'trap \"\" TERM; echo > up; while :; do sleep 1; done' "
                           "> /dev/null 2>&1 & read x < up",
                           mark);

    free(rig_sh(rig, text));
    free(text);
}

static void test_sweep(void **state)
{
    struct rig rig;
    char mark[96];

    (void)state;
    rig_open(&rig);
    (void)snprintf(mark, sizeof mark, "TAILRACE_MARK=%s/12/1/3/", rig.mark);
    spawn_stray(&rig, mark);
    (void)snprintf(mark, sizeof mark, "TAILRACE_MARK=%s/123/1/3/", rig.mark);
    spawn_stray(&rig, mark);
    assert_true(rig_strays(&rig) >= 2);
    assert_int_equal(sandbox_sweep(rig.mark, 99, 1), 0);
    assert_true(sandbox_sweep(rig.mark, 12, 1) >= 1);
    assert_true(rig_strays(&rig) >= 1);
    assert_true(sandbox_sweep(rig.mark, 0, 0) >= 1);
    assert_int_equal(rig_strays(&rig), 0);
    assert_int_equal(sandbox_sweep(rig.mark, 0, 0), 0);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_daemons_are_found),
        cmocka_unit_test(test_what_ignores_term_is_killed_after_the_grace),
        cmocka_unit_test(test_grace_is_not_waited_for_when_all_go),
        cmocka_unit_test(test_a_second_end_shortens_the_grace),
        cmocka_unit_test(test_what_forks_away_is_caught),
        cmocka_unit_test(test_a_wiped_environment_hides_nothing),
        cmocka_unit_test(test_others_are_left_alone),
        cmocka_unit_test(test_an_empty_one_ends_at_once),
        cmocka_unit_test(test_sweep),
    };

    return cmocka_run_group_tests_name("slave/sandbox", tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/proc.h"
#include "common/io/timer.h"

enum { GOT_MAX = 4096 };

struct run {
    struct loop loop;
    struct proc *proc;
    char got[2][GOT_MAX];
    size_t n_got[2];
    int exits, finishes;
    size_t n_at_exit; /* output seen by then */
    struct proc_exit exit;
    bool detach_on_exit;
    pid_t orphan;
};

static void on_output(void *owner, enum proc_channel channel, struct view bytes)
{
    struct run *run = owner;
    size_t i;

    assert_int_equal(run->finishes, 0);
    for (i = 0; i < bytes.n && run->n_got[channel] + i < GOT_MAX - 1; i++)
        run->got[channel][run->n_got[channel] + i] = bytes.p[i];
    run->n_got[channel] += bytes.n;
}

static void on_exit_of(void *owner, const struct proc_exit *end)
{
    struct run *run = owner;

    run->exits++;
    run->exit = *end;
    run->n_at_exit = run->n_got[PROC_OUT];
    if (run->detach_on_exit)
        proc_detach(run->proc);
}

static void on_finished(void *owner, const struct proc_exit *end)
{
    struct run *run = owner;

    assert_int_equal(run->exits, 1);
    assert_int_equal(end->code, run->exit.code);
    run->finishes++;
    run->proc = NULL;
}

static const struct proc_ops ops = {on_output, on_exit_of, on_finished};

static char *const plain_env[] = {(char[]){"PATH=/usr/local/bin:/usr/bin:/bin"}, NULL};

static int setup(void **state)
{
    struct run *run = xcalloc(1, sizeof *run);

    assert_int_equal(loop_init(&run->loop, clock_system(), NULL), ERR_OK);
    *state = run;
    return 0;
}

static int teardown(void **state)
{
    struct run *run = *state;

    proc_table_close(&run->loop);
    loop_release(&run->loop);
    free(run);
    return 0;
}

static enum err_code start(struct run *run, struct proc_spec spec, struct err *err)
{
    if (!spec.env)
        spec.env = plain_env;
    return proc_start(&run->loop, &spec, &ops, run, &run->proc, err);
}

static void start_shell(struct run *run, const char *script, struct proc_spec spec)
{
    char *text = xstrdup(script);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};
    struct err err = ERR_INIT;

    spec.argv = argv;
    if (start(run, spec, &err))
        fail_msg("%s", err.msg);
    free(text);
}

static void run_shell(struct run *run, const char *script, struct proc_spec spec)
{
    start_shell(run, script, spec);
    loop_run(&run->loop);
    assert_int_equal(run->exits, 1);
    assert_int_equal(run->finishes, 1);
}

static void exit_code_and_output(void **state)
{
    struct run *run = *state;

    run_shell(run, "echo out; echo err >&2; exit 7", (struct proc_spec){.drain_ms = 1000});
    assert_string_equal(run->got[PROC_OUT], "out\nerr\n");
    assert_int_equal(run->n_got[PROC_ERR], 0);
    assert_int_equal(run->exit.code, 7);
    assert_int_equal(run->exit.signal, 0);
}

static void separate_standard_error(void **state)
{
    struct run *run = *state;

    run_shell(run, "echo out; echo err >&2", (struct proc_spec){.separate_stderr = true});
    assert_string_equal(run->got[PROC_OUT], "out\n");
    assert_string_equal(run->got[PROC_ERR], "err\n");
    assert_int_equal(run->exit.code, 0);
}

static void killed_by_a_signal(void **state)
{
    struct run *run = *state;

    run_shell(run, "kill -TERM $$", (struct proc_spec){.drain_ms = 1000});
    assert_int_equal(run->exit.code, -1);
    assert_int_equal(run->exit.signal, SIGTERM);
}

static void signal_reaches_the_group(void **state)
{
    struct run *run = *state;

    start_shell(run, "sleep 100 & echo up; wait", (struct proc_spec){.drain_ms = 60000});
    while (run->n_got[PROC_OUT] < 3)
        loop_run_once(&run->loop, true);
    proc_signal(run->proc, SIGKILL);
    loop_run(&run->loop); /* would take the 60 s if `sleep` still held the pipe */
    assert_int_equal(run->finishes, 1);
    assert_int_equal(run->exit.signal, SIGKILL);
}

static void resources_are_counted(void **state)
{
    struct run *run = *state;

    run_shell(run, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", (struct proc_spec){0});
    assert_true(run->exit.max_rss_bytes > 100 * 1024);
    assert_true(run->exit.user_s + run->exit.system_s > 0);
    assert_true(run->exit.wall_s >= 0 && run->exit.wall_s < 100);
}

static void starts_clean(void **state)
{
    struct run *run = *state;
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"GREETING=hello world"}, NULL};
    char expected[256];
    int leak = open("/dev/null", O_RDONLY); /* on purpose not close-on-exec */
    int high = fcntl(leak, F_DUPFD, 100);
    sigset_t blocked, before;

    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    start_shell(run,
                "echo \"$GREETING $HOME.\"; pwd; readlink /proc/self/fd/0; ls /proc/self/fd;"
                "grep -E 'Sig(Blk|Ign)' /proc/self/status; cut -d' ' -f5,6 /proc/$$/stat;"
                "cat; echo $$",
                (struct proc_spec){.env = env, .dir = "/proc"});
    (void)snprintf(expected, sizeof expected,
                   "hello world .\n/proc\n/dev/null\n0\n1\n2\n3\nSigBlk:\t0000000000000000\n"
                   "SigIgn:\t0000000000000000\n%d %d\n%d\n",
                   (int)proc_pid(run->proc), (int)proc_pid(run->proc), (int)proc_pid(run->proc));
    loop_run(&run->loop);
    assert_string_equal(run->got[PROC_OUT], expected);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)close(leak);
    (void)close(high);
}

static void works_without_standard_descriptors(void **state)
{
    struct run *run = *state;
    int kept[3], i;

    for (i = 0; i < 3; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 50);
        (void)close(i);
    }
    start_shell(run, "echo out; echo err >&2; cat", (struct proc_spec){.separate_stderr = true});
    loop_run(&run->loop);
    for (i = 0; i < 3; i++) {
        if (kept[i] >= 0)
            (void)dup2(kept[i], i);
        (void)close(kept[i]);
    }
    assert_string_equal(run->got[PROC_OUT], "out\n");
    assert_string_equal(run->got[PROC_ERR], "err\n");
}

static void missing_program(void **state)
{
    struct run *run = *state;
    struct err err = ERR_INIT;
    char *bare[] = {(char[]){"no-such-program-here"}, NULL};
    char *path[] = {(char[]){"/nowhere/program"}, NULL};
    char *empty[] = {(char[]){""}, NULL};

    assert_int_equal(start(run, (struct proc_spec){.argv = bare}, &err), ERR_NOTFOUND);
    assert_string_equal(err.msg, "no program 'no-such-program-here' in PATH");
    assert_int_equal(start(run, (struct proc_spec){.argv = path}, &err), ERR_NOTFOUND);
    assert_string_equal(err.msg, "run /nowhere/program: No such file or directory");
    assert_int_equal(start(run, (struct proc_spec){.argv = empty}, &err), ERR_NOTFOUND);
    assert_null(run->proc);
    loop_run(&run->loop);
    assert_int_equal(run->exits + run->finishes, 0);
}

static void file_that_is_no_program(void **state)
{
    struct run *run = *state;
    struct err err = ERR_INIT;
    char *argv[] = {(char[]){"/etc/passwd"}, NULL};
    char *bare[] = {(char[]){"passwd"}, NULL};
    char *env[] = {(char[]){"PATH=/etc"}, NULL};

    assert_int_equal(start(run, (struct proc_spec){.argv = argv}, &err), ERR_IO);
    assert_int_equal(err.sys, EACCES);
    assert_int_equal(start(run, (struct proc_spec){.argv = bare, .env = env}, &err), ERR_IO);
    assert_int_equal(err.sys, EACCES);
}

static void missing_folder(void **state)
{
    struct run *run = *state;
    struct err err = ERR_INIT;
    char *argv[] = {(char[]){"true"}, NULL};

    assert_int_equal(start(run, (struct proc_spec){.argv = argv, .dir = "/no/such"}, &err),
                     ERR_NOTFOUND);
    assert_string_equal(err.msg, "enter folder /no/such: No such file or directory");
    assert_int_equal(start(run, (struct proc_spec){.argv = argv, .dir = "/etc/passwd"}, &err),
                     ERR_NOTFOUND);
}

static void relative_path_counts_from_the_folder(void **state)
{
    struct run *run = *state;
    char *env[] = {(char[]){"PATH=nowhere:bin"}, NULL};

    run_shell(run, "exit 3", (struct proc_spec){.env = env, .dir = "/usr"});
    assert_int_equal(run->exit.code, 3);
}

static void cgroup_is_entered_first(void **state)
{
    struct run *run = *state;
    struct err err = ERR_INIT;
    char *argv[] = {(char[]){"true"}, NULL};
    char file[] = "/tmp/tailrace-proc-XXXXXX";
    int fd = mkstemp(file);
    char text[8] = "";

    run_shell(run, "exit 0", (struct proc_spec){.cgroup_procs = file});
    assert_int_equal(pread(fd, text, sizeof text - 1, 0), 1);
    assert_string_equal(text, "0");
    (void)close(fd);
    (void)unlink(file);
    assert_int_equal(start(run, (struct proc_spec){.argv = argv, .cgroup_procs = file}, &err),
                     ERR_IO);
    assert_memory_equal(err.msg, "enter cgroup", 12);
    assert_int_equal(
        start(run, (struct proc_spec){.argv = argv, .cgroup_procs = "/dev/full"}, &err),
        ERR_NOSPACE);
}

/* 5 MB, more than a pipe holds, so that the child is stuck until we read. */
static const char loud[] = "head -c 5000000 /dev/zero; exit 4";

static void all_output_arrives(void **state)
{
    struct run *run = *state;

    run_shell(run, loud, (struct proc_spec){0});
    assert_int_equal(run->n_got[PROC_OUT], 5000000);
    assert_int_equal(run->exit.code, 4);
}

static void paused_output_blocks_the_child(void **state)
{
    struct run *run = *state;

    start_shell(run, loud, (struct proc_spec){.start_paused = true});
    while (proc_waiting_bytes(run->proc) < proc_pipe_bytes(run->proc))
        loop_run_once(&run->loop, false);
    assert_int_equal(run->n_got[PROC_OUT], 0);
    assert_int_equal(run->exits, 0);
    proc_resume_output(run->proc);
    assert_int_equal(run->n_got[PROC_OUT], 0);
    while (run->n_got[PROC_OUT] < 2000000)
        loop_run_once(&run->loop, true);
    proc_pause_output(run->proc);
    while (proc_waiting_bytes(run->proc) < proc_pipe_bytes(run->proc))
        loop_run_once(&run->loop, false);
    assert_true(run->n_got[PROC_OUT] < 5000000);
    proc_resume_output(run->proc);
    loop_run(&run->loop);
    assert_int_equal(run->n_got[PROC_OUT], 5000000);
    assert_int_equal(run->finishes, 1);
}

static void nothing_is_lost_when_the_child_ends_while_paused(void **state)
{
    struct run *run = *state;
    int i;

    start_shell(run, "head -c 60000 /dev/zero", (struct proc_spec){.start_paused = true});
    while (!run->exits)
        loop_run_once(&run->loop, true);
    for (i = 0; i < 5; i++)
        loop_run_once(&run->loop, false); /* drain_ms is 0: over by now */
    assert_int_equal(run->finishes, 0);
    assert_int_equal(run->n_got[PROC_OUT], 0);
    assert_int_equal(proc_waiting_bytes(run->proc), 60000);
    proc_resume_output(run->proc);
    loop_run(&run->loop);
    assert_int_equal(run->n_got[PROC_OUT], 60000);
    assert_int_equal(run->finishes, 1);
}

/* The grandchild leaves the session and keeps the pipes. */
static void grandchild_gets_its_time_and_no_more(void **state)
{
    struct run *run = *state;
    uint64_t before_ms, took_ms;
    long pid;

    before_ms = loop_now_ms(&run->loop);
    run_shell(run, "setsid sleep 100 & echo $! >&2; head -c 70000 /dev/zero; echo done",
              (struct proc_spec){.drain_ms = 50, .separate_stderr = true});
    took_ms = loop_now_ms(&run->loop) - before_ms;
    pid = strtol(run->got[PROC_ERR], NULL, 10);
    assert_true(pid > 1);
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0); /* it was still there */
    assert_int_equal(run->n_got[PROC_OUT], 70005);
    assert_true(took_ms >= 50 && took_ms < 50000);
}

static void late_words_of_a_grandchild_are_read(void **state)
{
    struct run *run = *state;

    /* The grandchild speaks only after the child has ended and was reaped. */
    start_shell(run,
                "(sh -c 'while kill -0 '$$' 2>/dev/null; do :; done; echo late' &); echo early",
                (struct proc_spec){.drain_ms = 60000});
    loop_run(&run->loop);
    assert_int_equal(run->finishes, 1);
    assert_string_equal(run->got[PROC_OUT], "early\nlate\n");
    assert_true(run->n_at_exit < 11);
}

static void endless_grandchild_does_not_hold_us(void **state)
{
    struct run *run = *state;

    run_shell(run, "(yes 2>/dev/null &) ; exit 5", (struct proc_spec){.drain_ms = 20});
    assert_int_equal(run->exit.code, 5);
}

static void no_signal_after_the_end(void **state)
{
    struct run *run = *state;

    start_shell(run, "exit 0", (struct proc_spec){.start_paused = true});
    while (!run->exits)
        loop_run_once(&run->loop, true);
    proc_signal(run->proc, SIGKILL);
    proc_resume_output(run->proc);
    loop_run(&run->loop);
    assert_int_equal(run->finishes, 1);
}

static void stop_loop(struct timer *timer, void *owner)
{
    (void)owner;
    loop_stop(timer->loop);
}

/* What is detached does not keep the loop alive: a timer does. */
static void detached_child_is_silent_and_reaped(void **state)
{
    struct run *run = *state;
    struct timer alive;
    pid_t pid;

    start_shell(run, "echo words; exit 0", (struct proc_spec){.start_paused = true});
    pid = proc_pid(run->proc);
    proc_detach(run->proc);
    timer_init(&alive, &run->loop, stop_loop, NULL);
    timer_start(&alive, 60000, 0);
    while (kill(pid, 0) == 0) /* a zombie still answers */
        loop_run_once(&run->loop, true);
    timer_stop(&alive);
    loop_run(&run->loop);
    assert_int_equal(run->exits + run->finishes, 0);
    assert_int_equal(run->n_got[PROC_OUT], 0);
}

static void detach_in_on_exit(void **state)
{
    struct run *run = *state;

    run->detach_on_exit = true;
    start_shell(run, "exit 0", (struct proc_spec){.drain_ms = 10});
    while (!run->exits)
        loop_run_once(&run->loop, true);
    loop_run(&run->loop);
    assert_int_equal(run->finishes, 0);
}

static void table_closes_over_a_running_child(void **state)
{
    struct run *run = *state;
    pid_t pid;

    start_shell(run, "sleep 100", (struct proc_spec){0});
    pid = proc_pid(run->proc);
    proc_table_close(&run->loop);
    loop_run(&run->loop);
    assert_int_equal(run->exits + run->finishes, 0);
    assert_int_equal(kill(-pid, SIGKILL), 0);
}

static void on_orphan(void *owner, pid_t pid)
{
    struct run *run = owner;

    run->orphan = pid;
}

static void adopted_orphan_is_reaped(void **state)
{
    struct run *run = *state;
    struct timer alive;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    proc_on_orphan(&run->loop, on_orphan, run);
    run_shell(run, "(sh -c 'while kill -0 '$$' 2>/dev/null; do :; done' &)",
              (struct proc_spec){.drain_ms = 9});
    timer_init(&alive, &run->loop, stop_loop, NULL);
    timer_start(&alive, 60000, 0);
    while (!run->orphan)
        loop_run_once(&run->loop, true);
    timer_stop(&alive);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    assert_int_equal(kill(run->orphan, 0), -1);
}

static void many_at_once(void **state)
{
    enum { N = 20 };
    struct run *run = *state;
    struct run *runs = xcalloc(N, sizeof *runs);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, NULL, NULL};
    int i;

    for (i = 0; i < N; i++) {
        char script[32];

        (void)snprintf(script, sizeof script, "echo %d; exit %d", i, i);
        argv[2] = script;
        assert_int_equal(proc_start(&run->loop, &(struct proc_spec){.argv = argv, .env = plain_env},
                                    &ops, &runs[i], &runs[i].proc, NULL),
                         ERR_OK);
    }
    loop_run(&run->loop);
    for (i = 0; i < N; i++) {
        assert_int_equal(runs[i].finishes, 1);
        assert_int_equal(runs[i].exit.code, i);
        assert_int_equal(strtol(runs[i].got[PROC_OUT], NULL, 10), i);
    }
    free(runs);
}

#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(exit_code_and_output),
        RUN_TEST(separate_standard_error),
        RUN_TEST(killed_by_a_signal),
        RUN_TEST(signal_reaches_the_group),
        RUN_TEST(resources_are_counted),
        RUN_TEST(starts_clean),
        RUN_TEST(works_without_standard_descriptors),
        RUN_TEST(missing_program),
        RUN_TEST(file_that_is_no_program),
        RUN_TEST(missing_folder),
        RUN_TEST(relative_path_counts_from_the_folder),
        RUN_TEST(cgroup_is_entered_first),
        RUN_TEST(all_output_arrives),
        RUN_TEST(paused_output_blocks_the_child),
        RUN_TEST(nothing_is_lost_when_the_child_ends_while_paused),
        RUN_TEST(grandchild_gets_its_time_and_no_more),
        RUN_TEST(late_words_of_a_grandchild_are_read),
        RUN_TEST(endless_grandchild_does_not_hold_us),
        RUN_TEST(no_signal_after_the_end),
        RUN_TEST(detached_child_is_silent_and_reaped),
        RUN_TEST(detach_in_on_exit),
        RUN_TEST(table_closes_over_a_running_child),
        RUN_TEST(adopted_orphan_is_reaped),
        RUN_TEST(many_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/io/sig.h"
#include "common/io/timer.h"
#include "common/io/work.h"
#include "tests/support/fake_clock.h"

static void count(struct timer *timer, void *owner)
{
    (void)timer;
    ++*(int *)owner;
}

static void run_ends_when_nothing_is_open(void **state)
{
    struct loop loop;

    (void)state;
    assert_int_equal(loop_init(&loop, clock_system(), NULL), ERR_OK);
    loop_run(&loop);
    loop_release(&loop);
}

static void running_timer_keeps_it_alive(void **state)
{
    struct loop loop;
    struct timer timers[2];
    int fired = 0;

    (void)state;
    assert_int_equal(loop_init(&loop, clock_system(), NULL), ERR_OK);
    timer_init(&timers[0], &loop, count, &fired);
    timer_init(&timers[1], &loop, count, &fired);
    timer_start(&timers[0], 1, 0);
    timer_start(&timers[1], 3, 0);
    loop_run(&loop);
    assert_int_equal(fired, 2);
    loop_release(&loop);
}

static void stop(struct timer *timer, void *owner)
{
    count(timer, owner);
    loop_stop(timer->loop);
}

static void stop_ends_the_run_and_only_it(void **state)
{
    struct loop loop;
    struct timer timers[2];
    int fired = 0;

    (void)state;
    assert_int_equal(loop_init(&loop, clock_system(), NULL), ERR_OK);
    timer_init(&timers[0], &loop, stop, &fired);
    timer_init(&timers[1], &loop, count, &fired);
    timer_start(&timers[0], 0, 0);
    timer_start(&timers[1], 0, 0);
    loop_run(&loop);
    assert_int_equal(fired, 1);
    loop_run(&loop);
    assert_int_equal(fired, 2);
    loop_release(&loop);
}

static void clock_is_the_one_given(void **state)
{
    struct fake_clock clock;
    struct loop loop;

    (void)state;
    fake_clock_init(&clock, 7, -9);
    assert_int_equal(loop_init(&loop, &clock.clock, NULL), ERR_OK);
    fake_clock_advance(&clock, 3);
    assert_int_equal(loop_now_ms(&loop), 10);
    assert_int_equal(loop_wall_ms(&loop), -6);
    fake_clock_set_wall(&clock, 50);
    assert_int_equal(loop_now_ms(&loop), 10);
    assert_int_equal(loop_wall_ms(&loop), 50);
    loop_release(&loop);
}

static void release_stops_timers(void **state)
{
    struct loop loop;
    struct timer timer;
    int fired = 0;

    (void)state;
    assert_int_equal(loop_init(&loop, clock_system(), NULL), ERR_OK);
    timer_init(&timer, &loop, count, &fired);
    timer_start(&timer, 100000, 0);
    loop_release(&loop);
    assert_false(timer_is_running(&timer));
    timer_stop(&timer);
    assert_int_equal(fired, 0);
}

static void drop_line(void *arg, enum log_level level, struct view line)
{
    (void)arg;
    (void)level;
    (void)line;
}

static void release_refuses_an_open_handle(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        struct loop loop;
        uv_timer_t left;

        (void)signal(SIGABRT, SIG_DFL);
        log_set_sink(drop_line, NULL);
        if (loop_init(&loop, clock_system(), NULL) == ERR_OK) {
            (void)uv_timer_init(&loop.uv, &left);
            loop_release(&loop);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

struct seen {
    struct loop *loop;
    int signal, times;
};

static void on_signal(void *owner, int number)
{
    struct seen *seen = owner;

    seen->signal = number;
    if (++seen->times == 2)
        loop_stop(seen->loop);
    else
        (void)raise(number);
}

static void signal_comes_from_the_loop(void **state)
{
    struct seen seen = {0};
    struct timer forever;
    struct loop loop;
    struct sig sig;
    int fired = 0;

    (void)state;
    assert_int_equal(loop_init(&loop, clock_system(), NULL), ERR_OK);
    seen.loop = &loop;
    assert_int_equal(sig_open(&sig, &loop, SIGUSR1, on_signal, &seen, NULL), ERR_OK);
    timer_init(&forever, &loop, count, &fired);
    timer_start(&forever, 60000, 0);
    (void)raise(SIGUSR1);
    assert_int_equal(seen.times, 0);
    loop_run(&loop);
    assert_int_equal(seen.times, 2);
    assert_int_equal(seen.signal, SIGUSR1);
    sig_close(&sig);
    loop_release(&loop);
}

static void signal_watch_does_not_keep_it_alive(void **state)
{
    struct seen seen = {0};
    struct loop loop;
    struct sig sig;

    (void)state;
    assert_int_equal(loop_init(&loop, clock_system(), NULL), ERR_OK);
    assert_int_equal(sig_open(&sig, &loop, SIGHUP, on_signal, &seen, NULL), ERR_OK);
    loop_run(&loop);
    sig_close(&sig);
    loop_release(&loop);
}

static void signal_that_nobody_can_watch(void **state)
{
    struct err err = ERR_INIT;
    struct loop loop;
    struct sig sig;

    (void)state;
    assert_int_equal(loop_init(&loop, clock_system(), NULL), ERR_OK);
    assert_int_equal(sig_open(&sig, &loop, SIGKILL, on_signal, NULL, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "Killed"));
    loop_release(&loop);
}

struct job {
    pthread_t loop_thread, run_thread;
    int ran, done;
};

static void job_run(void *arg)
{
    struct job *job = arg;

    job->run_thread = pthread_self();
    job->ran++;
}

static void job_done(void *arg)
{
    struct job *job = arg;

    assert_int_equal(job->ran, 1);
    assert_true(pthread_equal(pthread_self(), job->loop_thread));
    job->done++;
}

static void work_runs_beside_and_ends_on_the_loop(void **state)
{
    struct job job = {.loop_thread = pthread_self()};
    struct loop loop;

    (void)state;
    assert_int_equal(loop_init(&loop, clock_system(), NULL), ERR_OK);
    work_start(&loop, job_run, job_done, &job);
    assert_int_equal(job.done, 0);
    loop_run(&loop);
    assert_int_equal(job.done, 1);
    assert_false(pthread_equal(job.run_thread, job.loop_thread));
    loop_release(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_ends_when_nothing_is_open),
        cmocka_unit_test(running_timer_keeps_it_alive),
        cmocka_unit_test(stop_ends_the_run_and_only_it),
        cmocka_unit_test(clock_is_the_one_given),
        cmocka_unit_test(release_stops_timers),
        cmocka_unit_test(release_refuses_an_open_handle),
        cmocka_unit_test(signal_comes_from_the_loop),
        cmocka_unit_test(signal_watch_does_not_keep_it_alive),
        cmocka_unit_test(signal_that_nobody_can_watch),
        cmocka_unit_test(work_runs_beside_and_ends_on_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * loop: one libuv loop and what belongs to its thread: the clock, the timers, one read buffer that
 * all streams share, and a count of open handles. Everything in common/io is used from the loop's
 * own thread, unless its header says otherwise; callbacks come from loop_run() only, never from
 * inside the call that asked.
 */
#ifndef TAILRACE_COMMON_IO_LOOP_H
#define TAILRACE_COMMON_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "common/base/clock.h"
#include "common/base/err.h"

enum { LOOP_READ_BYTES = 64 * 1024 };

struct timer;
struct proc_table;

struct loop {
    uv_loop_t uv;
    const struct clock *clock;
    struct timer **timers; /* binary heap by due time; see timer.h */
    size_t n_timers, cap_timers;
    uint64_t timer_starts;    /* counts timer_start(), so that equal due times keep their order */
    uv_timer_t next_timer;    /* only wakes the loop for the head of the heap */
    char *read_buffer;        /* LOOP_READ_BYTES, lent to one read callback at a time */
    struct proc_table *procs; /* children, made by the first proc_start() */
    bool stopping;
};

/* clock is borrowed for the loop's life. SIGPIPE is ignored from here on, process-wide. */
enum err_code loop_init(struct loop *loop, const struct clock *clock,
                        struct err *err) TAILRACE_MUST_CHECK;
/* Runs until loop_stop() or until nothing is open. A running timer counts as open. */
void loop_run(struct loop *loop);
/* One pass: what uv has ready, then the timers that are due by the clock; waits for either when
 * `wait`. For tests. */
void loop_run_once(struct loop *loop, bool wait);
/* Makes loop_run() return after the current callback. */
void loop_stop(struct loop *loop);
/* Runs the closing callbacks that are due, waits for work in the thread pool, then frees. Timers
 * still running are stopped; a handle that its owner did not close aborts the program. */
void loop_release(struct loop *loop);

/* Monotonic now, read from the clock at each call. */
uint64_t loop_now_ms(const struct loop *loop);
int64_t loop_wall_ms(const struct loop *loop);

#endif

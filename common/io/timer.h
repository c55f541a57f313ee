/*
 * timer: a deadline on a loop. A plain struct inside its owner: stop is immediate and there is
 * nothing to close, because the loop keeps all timers in one heap behind a single libuv timer. Ten
 * thousand cost ten thousand small structs. Due times come from the loop's clock; timers due at the
 * same time fire in the order they were started.
 */
#ifndef TAILRACE_COMMON_IO_TIMER_H
#define TAILRACE_COMMON_IO_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/io/loop.h"

typedef void (*timer_fn)(struct timer *timer, void *owner);

struct timer {
    struct loop *loop;
    timer_fn fn;
    void *owner;
    uint64_t due_ms;
    uint64_t repeat_ms; /* 0: once */
    uint64_t order;     /* which start this was; breaks ties */
    size_t index;       /* place in the heap + 1; 0: not running */
};

void timer_init(struct timer *timer, struct loop *loop, timer_fn fn, void *owner);
/* Fires fn after delay_ms, then every repeat_ms unless that is 0. Restarts a running timer. fn may
 * stop, restart or free its own timer. One started from a timer's fn fires in the next pass of the
 * loop at the earliest. A repeat that was missed is not made up for. */
void timer_start(struct timer *timer, uint64_t delay_ms, uint64_t repeat_ms);
void timer_stop(struct timer *timer); /* any number of times; also fine on a zeroed timer */
bool timer_is_running(const struct timer *timer);

/* For the loop: fires what is due. */
void timers_run_due(struct loop *loop);

#endif

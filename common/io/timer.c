#include "common/io/timer.h"

#include <assert.h>
#include <string.h>

#include "common/base/mem.h"

static bool timer_is_before(const struct timer *a, const struct timer *b)
{
    if (a->due_ms != b->due_ms)
        return a->due_ms < b->due_ms;
    return a->order < b->order;
}

static void heap_put(struct loop *loop, size_t at, struct timer *timer)
{
    loop->timers[at] = timer;
    timer->index = at + 1;
}

static void heap_rise(struct loop *loop, size_t at, struct timer *timer)
{
    while (at > 0) {
        size_t parent = (at - 1) / 2;

        if (!timer_is_before(timer, loop->timers[parent]))
            break;
        heap_put(loop, at, loop->timers[parent]);
        at = parent;
    }
    heap_put(loop, at, timer);
}

static void heap_sink(struct loop *loop, size_t at, struct timer *timer)
{
    for (;;) {
        size_t child = at * 2 + 1;

        if (child >= loop->n_timers)
            break;
        if (child + 1 < loop->n_timers &&
            timer_is_before(loop->timers[child + 1], loop->timers[child]))
            child++;
        if (!timer_is_before(loop->timers[child], timer))
            break;
        heap_put(loop, at, loop->timers[child]);
        at = child;
    }
    heap_put(loop, at, timer);
}

static void heap_add(struct loop *loop, struct timer *timer)
{
    if (loop->n_timers == loop->cap_timers) {
        loop->cap_timers = loop->cap_timers ? loop->cap_timers * 2 : 16;
        loop->timers = xrealloc(loop->timers, loop->cap_timers * sizeof(struct timer *));
    }
    timer->order = loop->timer_starts++;
    heap_rise(loop, loop->n_timers++, timer);
}

static void heap_remove(struct loop *loop, struct timer *timer)
{
    size_t at = timer->index - 1;
    struct timer *last = loop->timers[--loop->n_timers];

    assert(loop->timers[at] == timer);
    timer->index = 0;
    if (last == timer)
        return;
    if (at > 0 && timer_is_before(last, loop->timers[(at - 1) / 2]))
        heap_rise(loop, at, last);
    else
        heap_sink(loop, at, last);
}

void timer_init(struct timer *timer, struct loop *loop, timer_fn fn, void *owner)
{
    *timer = (struct timer){.loop = loop, .fn = fn, .owner = owner};
}

/* So far ahead that it never comes, instead of wrapping around. */
static uint64_t later(uint64_t now_ms, uint64_t delay_ms)
{
    return delay_ms > UINT64_MAX - now_ms ? UINT64_MAX : now_ms + delay_ms;
}

void timer_start(struct timer *timer, uint64_t delay_ms, uint64_t repeat_ms)
{
    timer_stop(timer);
    timer->due_ms = later(loop_now_ms(timer->loop), delay_ms);
    timer->repeat_ms = repeat_ms;
    heap_add(timer->loop, timer);
}

void timer_stop(struct timer *timer)
{
    if (timer->index)
        heap_remove(timer->loop, timer);
}

bool timer_is_running(const struct timer *timer)
{
    return timer->index != 0;
}

static void timer_fire(struct timer *timer, uint64_t now_ms)
{
    heap_remove(timer->loop, timer);
    if (timer->repeat_ms) {
        timer->due_ms = later(timer->due_ms, timer->repeat_ms);
        if (timer->due_ms <= now_ms)
            timer->due_ms = later(now_ms, timer->repeat_ms);
        heap_add(timer->loop, timer);
    }
    timer->fn(timer, timer->owner);
}

void timers_run_due(struct loop *loop)
{
    /* Older timers come before those that they start: an order at or over the bound means that all
     * are done. */
    uint64_t bound = loop->timer_starts;
    uint64_t now_ms = loop_now_ms(loop);

    while (loop->n_timers > 0 && !loop->stopping) {
        struct timer *head = loop->timers[0];

        if (head->due_ms > now_ms || head->order >= bound)
            return;
        timer_fire(head, now_ms);
    }
}

#include "slave/steps/limits.h"

#include <inttypes.h>
#include <stdio.h>

const char *limits_show(uint64_t ms, char out[32])
{
    static const struct {
        uint64_t ms;
        const char *name;
    } units[] = {{3600000, "h"}, {60000, "min"}, {1000, "s"}, {1, "ms"}};
    unsigned i = 0;

    while (ms == 0 || ms % units[i].ms != 0) {
        if (i == 3)
            break;
        i++;
    }
    (void)snprintf(out, 32, "%" PRIu64 " %s", ms / units[i].ms, units[i].name);
    return out;
}

static void ask(struct limits *l, struct timer *timer, const char *fmt_name, const char *what,
                uint64_t value_ms)
{
    char text[LIMITS_TEXT_MAX];
    char value[32];

    (void)snprintf(text, sizeof text, "%s limit: %s %s", fmt_name, what,
                   limits_show(value_ms, value));
    if (!l->on_limit(l->owner, text))
        timer_start(timer, LIMITS_POSTPONE_MS, 0);
}

static void on_total(struct timer *timer, void *owner)
{
    struct limits *l = owner;

    ask(l, timer, l->name, "not done after", l->total_ms);
}

/* Output does not restart the timer, it would be the most frequent thing here: the time left is
 * looked at when it fires. */
static void on_idle(struct timer *timer, void *owner)
{
    struct limits *l = owner;
    uint64_t silent_ms = loop_now_ms(l->loop) - l->last_sign_ms;

    if (silent_ms < l->idle_ms)
        timer_start(timer, l->idle_ms - silent_ms, 0);
    else
        ask(l, timer, "idle", "no output for", l->idle_ms);
}

static void run_timers(struct limits *l, uint64_t now)
{
    if (l->total_ms > 0)
        timer_start(&l->total, l->total_due_ms > now ? l->total_due_ms - now : 0, 0);
    if (l->idle_ms > 0)
        timer_start(&l->idle, l->idle_ms, 0);
}

void limits_start(struct limits *l, struct loop *loop, const char *name, uint64_t total_ms,
                  uint64_t idle_ms)
{
    uint64_t now = loop_now_ms(loop);

    l->loop = loop;
    l->name = name;
    l->total_ms = total_ms;
    l->idle_ms = idle_ms;
    l->total_due_ms = now + total_ms;
    l->last_sign_ms = now;
    timer_init(&l->total, loop, on_total, l);
    timer_init(&l->idle, loop, on_idle, l);
    run_timers(l, now);
}

void limits_stop(struct limits *l)
{
    timer_stop(&l->total);
    timer_stop(&l->idle);
}

void limits_sign(struct limits *l)
{
    l->last_sign_ms = loop_now_ms(l->loop);
}

void limits_hold(struct limits *l, bool hold)
{
    uint64_t now = loop_now_ms(l->loop);

    if (l->held == hold)
        return;
    l->held = hold;
    if (hold) {
        l->held_since_ms = now;
        limits_stop(l);
    } else {
        l->total_due_ms += now - l->held_since_ms;
        l->last_sign_ms = now;
        run_timers(l, now);
    }
}

/*
 * fake_clock: a clock that stands still until the test moves it. Give &fake.clock to loop_init(),
 * advance it, and let loop_run_once() fire the timers that became due.
 */
#ifndef TAILRACE_TESTS_SUPPORT_FAKE_CLOCK_H
#define TAILRACE_TESTS_SUPPORT_FAKE_CLOCK_H

#include <stdint.h>

#include "common/base/clock.h"

struct fake_clock {
    struct clock clock; /* first: the functions find the rest behind it */
    uint64_t mono_ms;
    int64_t wall_ms;
};

void fake_clock_init(struct fake_clock *fake, uint64_t mono_ms, int64_t wall_ms);
/* Moves both. */
void fake_clock_advance(struct fake_clock *fake, uint64_t ms);
/* As when somebody sets the system's time: monotonic time does not see it. */
void fake_clock_set_wall(struct fake_clock *fake, int64_t wall_ms);

#endif

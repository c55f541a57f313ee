/*
 * The clock. All durations and deadlines are monotonic milliseconds; wall time is only shown,
 * stored, and used for cron. Nothing else in the program asks the system for the time. Tests pass a
 * clock of their own (tests/support/fake_clock.h).
 */
#ifndef TAILRACE_COMMON_BASE_CLOCK_H
#define TAILRACE_COMMON_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct clock {
    uint64_t (*mono_ms)(const struct clock *clock);
    int64_t (*wall_ms)(const struct clock *clock); /* since 1970-01-01 UTC */
};

/* The system's clock; never freed. */
const struct clock *clock_system(void);

/* The system's monotonic clock in nanoseconds, for measuring what others take; deadlines are ms of
 * a clock. */
uint64_t clock_measure_ns(void);

static inline uint64_t clock_mono_ms(const struct clock *clock)
{
    return clock->mono_ms(clock);
}

static inline int64_t clock_wall_ms(const struct clock *clock)
{
    return clock->wall_ms(clock);
}

enum { CLOCK_TEXT_MAX = 32 };

/* Writes RFC 3339 UTC with milliseconds ("2026-01-30T11:34:00.000Z") and returns out. Times outside
 * the years 0000 to 9999 are shown as the nearest that has one. */
const char *clock_rfc3339(int64_t wall_ms, char out[CLOCK_TEXT_MAX]);

#endif

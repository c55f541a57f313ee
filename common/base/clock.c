#include "common/base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t system_mono_ms(const struct clock *clock)
{
    struct timespec ts;

    (void)clock;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int64_t system_wall_ms(const struct clock *clock)
{
    struct timespec ts;

    (void)clock;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

uint64_t clock_measure_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

const struct clock *clock_system(void)
{
    static const struct clock system_clock = {system_mono_ms, system_wall_ms};

    return &system_clock;
}

const char *clock_rfc3339(int64_t wall_ms, char out[CLOCK_TEXT_MAX])
{
    int64_t ms = wall_ms % 1000;
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    size_t n;

    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    if (!gmtime_r(&seconds, &tm)) {
        out[0] = '\0';
        return out;
    }
    n = strftime(out, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out + n, CLOCK_TEXT_MAX - n, ".%03dZ", (int)ms);
    return out;
}

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

/* RFC 3339 knows the years 0000 to 9999; a peer's clock may say anything. */
static const int64_t rfc3339_first_ms = -62167219200000;
static const int64_t rfc3339_last_ms = 253402300799999;

static int64_t clamp_ms(int64_t wall_ms)
{
    if (wall_ms < rfc3339_first_ms)
        return rfc3339_first_ms;
    return wall_ms > rfc3339_last_ms ? rfc3339_last_ms : wall_ms;
}

const char *clock_rfc3339(int64_t wall_ms, char out[CLOCK_TEXT_MAX])
{
    int64_t shown_ms = clamp_ms(wall_ms);
    int64_t ms = shown_ms % 1000;
    time_t seconds = (time_t)(shown_ms / 1000);
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
    n = (size_t)snprintf(out, CLOCK_TEXT_MAX, "%04d", tm.tm_year + 1900); /* %Y does not pad */
    n += strftime(out + n, CLOCK_TEXT_MAX - n, "-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out + n, CLOCK_TEXT_MAX - n, ".%03dZ", (int)ms);
    return out;
}

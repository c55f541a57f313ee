/*
 * instant: the monotonic clock in milliseconds with its fraction, the same as Python's
 * time.monotonic() * 1000, so that stamps of several programs on one machine can be subtracted.
 */
#ifndef TAILRACE_TESTS_BENCH_INSTANT_H
#define TAILRACE_TESTS_BENCH_INSTANT_H

#include <time.h>

static inline double instant_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

#endif

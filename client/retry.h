/*
 * retry: how long to wait before the next try: doubling from 250 ms to 8 s, with jitter, so that
 * many waiting command lines do not all come at once when the master is back.
 */
#ifndef TAILRACE_CLIENT_RETRY_H
#define TAILRACE_CLIENT_RETRY_H

#include <stdint.h>

struct retry {
    unsigned tries; /* since the last success */
};

#define RETRY_INIT                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }

/* The pause before a try without jitter: 250, 500, 1000 ... 8000. Pure. */
uint64_t retry_base_ms(unsigned tries);
/* Counts a try and returns its pause: between half of the base and the base. */
uint64_t retry_next_ms(struct retry *retry);
/* Sleeps. */
void retry_sleep(uint64_t ms);

#endif

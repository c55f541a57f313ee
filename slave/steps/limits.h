/*
 * limits: the two clocks of a step, its time as a whole and the time without output. Both stand
 * still while the output is held back by us.
 */
#ifndef TAILRACE_SLAVE_STEPS_LIMITS_H
#define TAILRACE_SLAVE_STEPS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io/timer.h"

enum { LIMITS_TEXT_MAX = 128, LIMITS_POSTPONE_MS = 1000 };

struct limits {
    struct loop *loop;
    const char *name;           /* of the limit for the whole; constant */
    uint64_t total_ms, idle_ms; /* 0: none */
    uint64_t total_due_ms;
    uint64_t last_sign_ms;
    uint64_t held_since_ms;
    bool held;
    struct timer total, idle;
    /* From the loop; text says which limit it was and what its value is. False: not now, ask again
     * in LIMITS_POSTPONE_MS. */
    bool (*on_limit)(void *owner, const char *text);
    void *owner;
};

/* Starts both clocks. on_limit and owner are set by the caller before. */
void limits_start(struct limits *limits, struct loop *loop, const char *name, uint64_t total_ms,
                  uint64_t idle_ms);
void limits_stop(struct limits *limits); /* any number of times */
/* There was output. Cheap. */
void limits_sign(struct limits *limits);
void limits_hold(struct limits *limits, bool hold);

/* "20 min", "1 h", "90 s", "250 ms": the largest unit that is exact. */
const char *limits_show(uint64_t ms, char out[32]);

#endif

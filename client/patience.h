/*
 * patience: what to do when the master does not answer. Before the first contact that is an error;
 * after it the master is being restarted, which is said once, and the call is made again with
 * growing pauses.
 */
#ifndef TAILRACE_CLIENT_PATIENCE_H
#define TAILRACE_CLIENT_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/retry.h"
#include "common/base/clock.h"
#include "common/base/err.h"

enum { PATIENCE_LONG_MS = 3600000, PATIENCE_SHORT_MS = 15000 };

struct patience {
    const struct clock *clock;
    uint64_t most_ms;  /* without an answer for so long is an error */
    bool contact;      /* the master has answered before */
    bool away;         /* the user has been told that it does not */
    uint64_t heard_ms; /* mono, its last answer */
    struct retry retry;
};

#define PATIENCE_INIT(the_clock, ms)                                                               \
    {                                                                                              \
        (the_clock), (ms), false, false, 0, RETRY_INIT                                             \
    }

/* The master has answered. Returns true when it had been away, which is worth a word. */
bool patience_heard(struct patience *p);

enum patience_says {
    PATIENCE_OVER,  /* the error is the caller's */
    PATIENCE_AGAIN, /* try again after patience_pause */
    PATIENCE_TELL,  /* the same, and tell the user first that the master is away */
};

/* Judges a failed call. A time-out is no news: something silent was ended. */
enum patience_says patience_judge(struct patience *p, enum err_code rc);
/* Sleeps before the next try. */
void patience_pause(struct patience *p);

#endif

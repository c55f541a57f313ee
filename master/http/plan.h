/*
 * plan: what waits, in which order it would start, when, and why not now. The times are a
 * simulation: each build takes as long as its builder's builds usually do, and the first slot that
 * fits. What hangs on a duration that nobody knows has no time. Pure over the mirror, the durations
 * and now.
 */
#ifndef TAILRACE_MASTER_HTTP_PLAN_H
#define TAILRACE_MASTER_HTTP_PLAN_H

#include "common/base/str.h"
#include "common/base/vec.h"
#include "master/http/mirror.h"

enum { PLAN_SIMULATED = 1000 }; /* of each pool; those behind have no time */

struct plan_entry {
    struct mirror_build *build; /* queued or waiting */
    unsigned position;          /* in its pool, from 1: queued ones first, then those that wait */
    int64_t starts_ms;          /* 0: not known */
    size_t pool;                /* plan's */
};

struct plan_pool;

struct plan {
    VEC(struct plan_entry) entries; /* by pool, then position */
    VEC(struct plan_pool *) pools;
};

struct plan_input {
    struct mirror *mirror;
    int64_t now_ms;
    /* In seconds, negative when nobody knows. */
    double (*expected)(void *arg, const char *builder);
    /* Fills in build->waits, which is then known. */
    void (*read_waits)(void *arg, struct mirror_build *build);
    void *arg;
};

/* Good until the mirror changes. Released with plan_release(). */
void plan_make(const struct plan_input *input, struct plan *out);
void plan_release(struct plan *plan);

/* A sentence that a person can act on, appended. */
void plan_reason(const struct mirror *mirror, const struct plan *plan,
                 const struct plan_entry *entry, struct str *out);

#endif

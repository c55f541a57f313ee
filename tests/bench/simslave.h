/*
 * simslave: one simulated slave: dials, proves itself, runs builds that do nothing, and comes back
 * after a break with what it still holds, as the real one does. Nothing is written to disk and no
 * process is started, so a thousand fit in one process and the master is what gets measured.
 */
#ifndef TAILRACE_TESTS_BENCH_SIMSLAVE_H
#define TAILRACE_TESTS_BENCH_SIMSLAVE_H

#include <stdint.h>

#include "common/io/loop.h"
#include "tests/bench/simbuild.h"

struct simslave;

/* One attempt that has ended here, for the trace. Times are of instant.h. */
struct simslave_ended {
    const char *slave;
    uint64_t build;
    uint32_t attempt;
    double start_ms; /* START was read */
    double end_ms;   /* its last record was handed to the connection, or it was given up */
    const char *result;
};

struct simslave_counts {
    uint64_t connected; /* now */
    uint64_t dials, dial_failures, refused, breaks;
    uint64_t started, ended, forgotten;
    uint64_t log_bytes; /* sent, before compression */
};

/* What all slaves of the process share; borrowed for their lives. */
struct simslave_group {
    struct loop *loop;
    const char *host;
    uint16_t port;
    struct view secret; /* empty: none */
    uint32_t slots;
    uint64_t hold_ms; /* how long each build takes; 0: it ends at once */
    const struct simlog *log;
    struct simslave_counts counts;
    /* All are called from the loop. */
    void (*on_connected)(void *owner); /* counts.connected has grown */
    void (*on_ended)(void *owner, const struct simslave_ended *ended);
    void (*on_forgotten)(void *owner); /* the master has all of an attempt */
    void (*on_stopped)(void *owner);   /* one slave, after simslave_stop() */
    void *owner;
};

/* Dials after delay_ms. name is copied. */
struct simslave *simslave_new(struct simslave_group *group, const char *name, uint64_t delay_ms);
/* Says goodbye; on_stopped comes within half a second. */
void simslave_stop(struct simslave *slave);
void simslave_free(struct simslave *slave); /* stopped */

#endif

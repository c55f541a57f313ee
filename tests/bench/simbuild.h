/*
 * simbuild: the journal of a build that does nothing, made up as it is sent: ATTEMPT_STARTED, then
 * for each step STEP_STARTED and STEP_FINISHED (the first step's log in between), ATTEMPT_FINISHED.
 * Pure. Any record can be made again from its number, so nothing is kept for a reconnect.
 */
#ifndef TAILRACE_TESTS_BENCH_SIMBUILD_H
#define TAILRACE_TESTS_BENCH_SIMBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg.h"
#include "tests/bench/simlog.h"

struct simbuild {
    uint64_t id;
    uint32_t attempt;
    uint32_t n_steps;
    const struct simlog *log;
    uint64_t total;           /* records that the journal will have */
    uint64_t ready;           /* so many have happened */
    uint64_t cancelled_after; /* the last record before the cancel; 0: not cancelled */
};

/* held: only what comes before the first step's end has happened, until simbuild_go_on(). */
void simbuild_init(struct simbuild *build, const struct msg_start *start, const struct simlog *log,
                   bool held);
void simbuild_go_on(struct simbuild *build);
/* Ends it behind the records that have happened; nothing changes when all of them have. */
void simbuild_cancel(struct simbuild *build);
/* number is 1 to ready; borrows from the log. */
void simbuild_record(const struct simbuild *build, uint64_t number, int64_t wall_ms,
                     struct msg *record);
enum build_result simbuild_result(const struct simbuild *build);

#endif

/*
 * build: one run of a builder on one revision, while it is not finished. Lives on the loop thread;
 * owned by builds (builds.h). Its state changes in build_enter() and nowhere else.
 */
#ifndef TAILRACE_MASTER_BUILD_H
#define TAILRACE_MASTER_BUILD_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "common/base/vec.h"
#include "common/io/timer.h"
#include "master/config.h"
#include "master/model.h"
#include "master/sched.h"
#include "master/store.h"

struct builds;
struct attempt;

/* All unfinished builds of one builder. */
struct builder_line {
    char *name;
    struct build *queued;  /* waiting or queued */
    struct build *running; /* running or detached */
    UT_hash_handle hh;
};

struct build {
    struct builds *builds;
    struct build_info info;
    struct config *config; /* the configuration it was last fitted to; NULL: its builder is gone */
    const struct config_builder *def; /* in config */
    struct builder_line *line;
    struct sched_request request;
    struct attempt *attempt;   /* the running one, or NULL */
    struct timer deadline;     /* how long it may wait for another build */
    VEC(uint64_t) waits_for;   /* builds it waits for */
    VEC(uint64_t) dependents;  /* builds that wait for it */
    bool ending;               /* its last row is on the way to the disk */
    struct build *prev, *next; /* in its line */
    UT_hash_handle hh;         /* by info.id */
};

/* A build in no state yet. Takes over *info's strings. */
struct build *build_new(struct builds *builds, struct build_info *info);
void build_free(struct build *build);

/* The only writer of the state: checks that the move is allowed (aborts if not), moves the build
 * between its line's lists and in and out of the scheduler, logs. */
void build_enter(struct build *build, enum build_state to, const char *why);

/* Ties the build to its builder in config (referenced), or to none when the configuration has no
 * such builder. Whether it has moved to another pool. While queued, use it inside
 * build_leave_queue() / build_join_queue(). */
bool build_fit(struct build *build, struct config *config);
void build_join_queue(struct build *build);
void build_leave_queue(struct build *build);

/* An operation of that kind that carries the build's row as it is now. */
struct store_op *build_op(struct build *build, enum store_kind kind, store_done done);
/* Posts the row as it is now; the web hears of it once it is durable. */
void build_save(struct build *build);

#endif

/*
 * attempt: one try of a build on one slave: it is handed over, its journal is applied record by
 * record, it ends by its own last record, by being lost, or by being cancelled. Loop thread; owned
 * by its build.
 */
#ifndef TAILRACE_MASTER_ATTEMPT_H
#define TAILRACE_MASTER_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io/timer.h"
#include "master/build.h"
#include "proto/journal.h"

struct agent;

enum attempt_limit {
    LIMIT_NONE,
    LIMIT_START,    /* handed over, and no word of it yet */
    LIMIT_DETACHED, /* its slave is out of touch */
    LIMIT_CANCEL,   /* told to end, and has not */
};

enum {
    /* A slave that vanishes so often between START and its first record, and for longer than the
     * limit for a start, cannot run it: its disk may be full. */
    ATTEMPT_STARTS_MAX = 3,
    /* A record that does not fit closes the connection, and is sent again by the next. So many are
     * no accident. */
    ATTEMPT_MISFITS_MAX = 3,
};

struct attempt {
    struct build *build;
    uint32_t number;
    char *slave;
    struct agent *agent;     /* NULL while detached */
    struct fold fold;        /* of all records received */
    struct step_info *steps; /* as far as durable */
    size_t n_steps;
    uint64_t durable;
    bool ack_due;
    bool ended;          /* its last record was received; the end is on its way to the disk */
    uint64_t last_agent; /* once ended: the connection that is told to forget it then */
    struct timer deadline;
    enum attempt_limit limit;
    unsigned starts, misfits; /* STARTs sent; records that did not fit */
    uint64_t first_start_ms;
    struct attempt *prev, *next; /* in its agent's list */
};

/* Hands the build's next attempt to the agent: stores it, and sends START. */
void attempt_begin(struct build *build, struct agent *agent);
/* As attempt_begin, for an attempt that the agent already runs (the master died between sending
 * START and storing it). */
void attempt_adopt(struct build *build, struct agent *agent);
/* After a restart of the master. The strings of info and steps are copied. */
void attempt_restore(struct build *build, const struct attempt_info *info,
                     const struct step_info *steps);
/* After a restart: the build's newest attempt was interrupted, and the master died before it drew
 * the conclusion. */
void attempt_restore_lost(struct build *build, const char *why);
void attempt_free(struct attempt *attempt); /* detaches it from build and agent */
/* Frees it because it is over: its slave may leave if it was the last that kept it. */
void attempt_drop(struct attempt *attempt);

/* One record came. ERR_PROTO when it cannot follow: the connection must be closed; but the
 * ATTEMPT_MISFITS_MAX'th time the attempt is lost instead, and the slave told to forget it. */
enum err_code attempt_record(struct attempt *attempt, uint64_t number, struct view body,
                             size_t wire_bytes, struct err *err) TAILRACE_MUST_CHECK;
/* Called when a RECORD operation of it is durable. */
void attempt_recorded(struct attempt *attempt, const struct store_op *op);

/* The connection is gone; or the slave is back and holds it. */
void attempt_detach(struct attempt *attempt, const char *why);
void attempt_attach(struct attempt *attempt, struct agent *agent);
/* Replaces the deadline that runs. */
void attempt_set_limit(struct attempt *attempt, enum attempt_limit limit);
/* Sends START, perhaps again: nothing of it has ever arrived. After ATTEMPT_STARTS_MAX and the
 * limit for a start the attempt is lost. */
void attempt_send_start(struct attempt *attempt);
void attempt_cancel(struct attempt *attempt);
/* The attempt will not go on: the build is queued again at its old place, or ends when this was its
 * last attempt. */
void attempt_lose(struct attempt *attempt, const char *why);

#endif

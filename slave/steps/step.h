/*
 * step: one step of an attempt. What all steps have in common is here: the log, the limits, the one
 * command that runs at a time, the way to an end; what a kind of step does is in a file of its own
 * behind struct step_kind_ops.
 *
 * A kind does one thing at a time: it runs a command, has a tree removed or waits, and is told when
 * that is over; it then asks for the next or calls step_finish(). When a limit or a cancel ends the
 * step, the kind is not asked again.
 *
 * Limits: `timeout_ms` for the whole (named total, or checkout), `idle_timeout_ms` without output
 * (idle). Time in which we hold the output back, because nobody takes it, does not count.
 */
#ifndef TAILRACE_SLAVE_STEPS_STEP_H
#define TAILRACE_SLAVE_STEPS_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/io/loop.h"
#include "common/io/proc.h"
#include "slave/envlist.h"
#include "slave/recorder.h"
#include "slave/workspace.h"

enum {
    STEP_GRACE_MS = 10 * 1000, /* between TERM and KILL, when the step does not say */
    STEP_REASON_MAX = 512,
    STEP_CAPTURE_MAX = 64 * 1024, /* of a command's output, the last part */
};

struct step;

/* What an attempt gives to its steps; borrowed for the step's life. */
struct step_context {
    struct loop *loop;
    const char *dir; /* the slave's folder */
    const char *mark, *cgroup;
    const struct msg_start *job;
    struct envlist *env; /* of the attempt's commands; a step may add to it for those after it */
    struct workspace *workspace;
    struct recorder *recorder;
};

struct step_outcome {
    enum build_result result;
    int64_t exit_code; /* -1: a signal ended it, or nothing ran */
    char reason[STEP_REASON_MAX];
    double user_s, system_s; /* of all its commands */
    uint64_t max_rss_bytes;
    uint32_t killed;
};

/* For the runner. number counts from 1. on_done is called once, when nothing of the step runs and
 * its log is complete; possibly before step_start() returns. The step stays until step_free(),
 * which on_done may not call. */
struct step *step_start(const struct step_context *context, uint32_t number,
                        void (*on_done)(void *owner), void *owner);
void step_free(struct step *step);
/* Ends it: result and reason are what it ends with, unless it is ending for another reason already.
 */
void step_end(struct step *step, enum build_result result, const char *reason);
/* The recorder has room again. */
void step_resume(struct step *step);
const struct step_outcome *step_outcome_of(const struct step *step);

/* For the kinds. */
struct step_command {
    char *const *argv;
    const char *dir;           /* absolute; NULL: the step's own */
    const struct envlist *env; /* more of it, or NULL */
    bool silent;               /* child.h */
    bool capture; /* keep the end of the output for step_captured(); the log gets it all the same */
};

struct step_command_end {
    bool started;
    struct err err; /* when not */
    struct proc_exit exit;
};

struct step_kind_ops {
    const char *limit; /* the name of its limit as a whole */
    void (*begin)(struct step *step);
    void (*on_command)(struct step *step, const struct step_command_end *end);
    void (*on_removed)(struct step *step, const struct err *err); /* err->code 0: it is gone */
    void (*on_waited)(struct step *step);
    void (*release)(struct step *step); /* NULL: nothing to release */
};

extern const struct step_kind_ops step_kind_checkout;
extern const struct step_kind_ops step_kind_command; /* build and test */
extern const struct step_kind_ops step_kind_benchmark;

const struct step_context *step_context_of(const struct step *step);
const struct msg_step *step_spec(const struct step *step);
/* The kind's own. */
void *step_state(const struct step *step);
void step_set_state(struct step *step, void *state);

/* The answer to each of these comes from the loop. */
void step_run(struct step *step, const struct step_command *command);
void step_remove_tree(struct step *step, const char *path);
void step_wait(struct step *step, uint64_t ms);
struct view step_captured(const struct step *step);

/* A line of ours in the log, without its begin "tailrace: ". */
void step_note(struct step *step, const char *fmt, ...) TAILRACE_PRINTF(2, 3);
/* The same without it. */
void step_line(struct step *step, const char *text);
/* What is in the log so far goes out now. */
void step_cut_log(struct step *step);
/* Journals the exact revision; later steps see it in their environment. */
void step_put_revision(struct step *step, struct view revision);
/* The texts must be constant or the job's. */
void step_put_points(struct step *step, const struct msg_point *points, size_t n);

/* The last word. Nothing may be under way. */
void step_finish(struct step *step, enum build_result result, int64_t exit_code, const char *fmt,
                 ...) TAILRACE_PRINTF(4, 5);
/* verdict.c: finishes with what the command's end means: success, or failure with prefix and a text
 * such as "exit code 2" as the reason, or exception when it is the machine's fault. */
void step_finish_command(struct step *step, const struct step_command_end *end, const char *prefix);
/* Whether that would be a success. */
bool step_command_succeeded(const struct step_command_end *end);

#endif

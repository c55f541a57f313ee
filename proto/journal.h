/*
 * journal: the format of the numbered records of one attempt where the slave keeps them, and the
 * fold that turns records into the attempt's state. Pure. The slave's files are slave/spool; the
 * master's storage is master/store.
 *
 * In a file each record is: u32 length of the body, u32 crc32 of number and body, u64 number
 * (little-endian), body. A record that is cut off at the end of a file was being written when the
 * slave died: it was never sent, and reading ends before it.
 */
#ifndef TAILRACE_PROTO_JOURNAL_H
#define TAILRACE_PROTO_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "proto/msg.h"

enum {
    JOURNAL_HEADER_BYTES = 16,
    JOURNAL_BODY_MAX = 131072,     /* as RECORD.body in messages.def */
    JOURNAL_STEPS_MAX = 256,       /* as START.steps */
    FOLD_BLOCK_MAX_BYTES = 131072, /* of log in one LOG_BLOCK, inflated */
};

/* A record as it lies in a file. */
struct journal_entry {
    uint64_t number;
    struct view body;
};

/* Fills header for a body that will follow it. */
void journal_header(uint64_t number, struct view body, uint8_t header[JOURNAL_HEADER_BYTES]);
/* Takes the next record out of *bytes. ERR_AGAIN when the bytes end before it does (or are empty),
 * ERR_PROTO when length or checksum are wrong. */
enum err_code journal_next(struct view *bytes, struct journal_entry *entry,
                           struct err *err) TAILRACE_MUST_CHECK;

/* What an attempt's records add up to (invariant I1: any prefix is a valid state). */
enum fold_step_state { FOLD_STEP_WAITING, FOLD_STEP_RUNNING, FOLD_STEP_FINISHED };

struct fold_step {
    enum fold_step_state state;
    enum build_result result;
    uint64_t log_bytes[2]; /* by stream */
    uint64_t log_lines[2];
};

struct fold {
    uint64_t last; /* number of the newest record applied */
    bool started, finished;
    enum build_result result;
    uint32_t n_steps;
    struct fold_step *steps;
};

/* n_steps as in START. */
void fold_init(struct fold *fold, uint32_t n_steps);
void fold_release(struct fold *fold);
/* Applies a record. ERR_EXISTS for one that is applied already (number <= last): nothing changes,
 * which makes replaying harmless. ERR_PROTO for a gap, and for a record that cannot follow the
 * state; the fold is unchanged then. What can follow:
 *   - ATTEMPT_STARTED comes first and once; nothing comes after ATTEMPT_FINISHED;
 *   - a step goes from waiting to running (STEP_STARTED, one at a time) to finished
 * (STEP_FINISHED), or from waiting to finished when it is skipped; the attempt finishes when none
 * is running;
 *   - LOG_BLOCK and POINTS belong to the running step; a block begins where its log ends, and has
 * at most as many lines as bytes;
 *   - results are of enum build_result and not RESULT_NONE. */
enum err_code fold_apply(struct fold *fold, uint64_t number, const struct msg *record,
                         struct err *err) TAILRACE_MUST_CHECK;

#endif

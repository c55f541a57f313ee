/*
 * simlog: the log that every simulated build sends, compressed once beforehand, so that sending it
 * costs no more than copying bytes.
 */
#ifndef TAILRACE_TESTS_BENCH_SIMLOG_H
#define TAILRACE_TESTS_BENCH_SIMLOG_H

#include <stdint.h>

#include "proto/msg.h"

enum { SIMLOG_BLOCK_BYTES = 64 * 1024, SIMLOG_KEPT = 32 };

struct simlog_block {
    char *data;
    size_t n;
    uint32_t size, lines, crc;
};

/* Whole blocks are given in turn, since each can be inflated alone; the last may be shorter. */
struct simlog {
    uint64_t bytes;
    uint64_t n_blocks;
    struct simlog_block whole[SIMLOG_KEPT];
    struct simlog_block last;
};

/* A log of so many bytes; 0: none. */
void simlog_init(struct simlog *log, uint64_t bytes);
void simlog_release(struct simlog *log);
/* LOG_BLOCK number index (from 0) of step 1; borrows from the log. */
void simlog_block(const struct simlog *log, uint64_t index, struct msg_log_block *out);

#endif

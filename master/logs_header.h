/*
 * logs_header: the 48 bytes before each block of a log file, packed and checked. Pure.
 */
#ifndef TAILRACE_MASTER_LOGS_HEADER_H
#define TAILRACE_MASTER_LOGS_HEADER_H

#include <stdint.h>

#include "common/base/err.h"
#include "master/logs.h"

struct log_header {
    uint32_t data_bytes;   /* of the deflate block that follows */
    uint64_t offset;       /* of its first byte in the log */
    uint32_t size;         /* inflated */
    uint32_t lines;        /* newlines in it */
    uint64_t lines_before; /* in all blocks before it */
    uint32_t crc;          /* of the inflated bytes */
    int64_t time_ms;
};

/* A log's name as a key for a table: no padding between its fields. */
struct log_key {
    uint64_t build, attempt_step, stream;
};
struct log_key log_key_of(struct log_name name);

/* Whether a block of these sizes may be stored. ERR_PROTO. */
enum err_code log_header_check(const struct log_header *header,
                               struct err *err) TAILRACE_MUST_CHECK;
void log_header_pack(const struct log_header *header, uint8_t out[LOGS_HEADER_BYTES]);
/* ERR_PROTO when the bytes are no header of ours, or hold impossible sizes. */
enum err_code log_header_unpack(const uint8_t in[LOGS_HEADER_BYTES], struct log_header *out,
                                struct err *err) TAILRACE_MUST_CHECK;

#endif
